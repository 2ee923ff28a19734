"""On what a run was made."""

import json
import os
import platform

import numpy as np

from raglift.running import spec as module
from raglift.running.spec import environment


def test_the_machine_and_the_versions_are_named():
    found = environment()
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert {"bm25s", "PyStemmer"} <= set(found)  # BM25 ranks otherwise with other stems
    assert 1 <= int(found["cores"]) <= (os.cpu_count() or 1)
    assert json.loads(json.dumps(found)) == found
    assert all(isinstance(value, str) for value in found.values())


def test_where_the_processor_is_told_elsewhere_python_is_asked(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "Path", lambda _path: tmp_path / "absent")
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert environment()["processor"] == "arm"
    (tmp_path / "absent").write_text("processor : 0\nmodel name\t: A Fast One @ 3 GHz\n", encoding="utf-8")
    assert environment()["processor"] == "A Fast One @ 3 GHz"


def test_a_package_that_is_not_installed_has_no_version():
    found = environment(["numpy", "no-such-package-at-all"])
    assert found["numpy"] == np.__version__
    assert "no-such-package-at-all" not in found
