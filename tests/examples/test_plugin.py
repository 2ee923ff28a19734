"""The example of a plugin: installed as a package, its adapter and its metric are found; broken ones are left out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import raglift as rl

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BROKEN = {
    "raising": ("raglift.adapters", "raise RuntimeError('no licence')\n"),
    "ending": ("raglift.metrics", "import sys; sys.exit(3)\n"),
    "number": ("raglift.metrics", "ADAPTER = 3\n"),
    "misnamed": ("raglift.adapters", "ADAPTER = 'acme'\n"),
    "greedy": (
        "raglift.adapters",
        "from raglift.adapters import Adapter\nADAPTER = Adapter('x', lambda obj: obj.missing, lambda obj: [])\n",
    ),
}
"""The group of the entry point of each broken package, and the module."""


@pytest.fixture
def installed(tmp_path: Path) -> list[Path]:
    """Folders with the broken packages and the example, as pip installs it."""
    broken = tmp_path / "broken"
    for name, (group, code) in BROKEN.items():
        about = broken / f"{name}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}:ADAPTER\n", encoding="utf-8")
        (broken / f"{name}.py").write_text(code, encoding="utf-8")
    source = shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "source")  # what is built leaves traces there
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--no-compile", "--target", tmp_path / "site"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *options, source], check=True)
    return [broken, tmp_path / "site"]


def test_an_adapter_and_a_metric_are_used_and_broken_plugins_left_out_in_one_line(
    installed: list[Path], tmp_path: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT / "src", *installed]))}
    command = [sys.executable, "-m", "raglift", "evaluate", "lighthouse", "--system", "raglift_acme.index:lighthouse"]
    command += ["--metrics", "early@5,ndcg@10", "-o", "run"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *warned, saved = done.stderr.splitlines()
    assert saved == "saved to run"
    assert sorted(line.split("'")[1] for line in warned) == sorted(BROKEN)
    assert all(line.startswith("raglift: warning: the plugin raglift.") for line in warned)
    assert "RuntimeError: no licence" in done.stderr

    spec = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["spec"]
    assert spec["environment"]["raglift-acme"] == "0.1.0"
    evaluation = rl.load_evaluation(tmp_path / "run")
    assert evaluation.run.stages[0].system == "Acme Index"
    assert all(0 < evaluation.scores.mean("retrieve", metric) < 1 for metric in ("early@5", "ndcg@10"))
