"""`raglift fix` searches the documents that the user names, or a dataset of the run's name in this folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize("named", ["../private", "/private", "hf:somebody/dataset", "~/private"])
def test_a_run_names_neither_files_elsewhere_nor_addresses(run, ranked, named: str, tmp_path: Path) -> None:
    saved = ranked([2] * 4).save(tmp_path / "run")
    head = json.loads((saved / "run.json").read_text("utf-8"))
    (saved / "run.json").write_text(json.dumps({**head, "dataset": named}), encoding="utf-8")
    code, out, err = run("fix", saved, "--causes")
    assert (code, out) == (2, "")
    assert f'run: found the dataset "{named}"' in err
