"""Folders of runs, as several commands take them."""

from __future__ import annotations

from pathlib import Path

import pytest

from raglift.cli.saved_runs import load_runs
from raglift.errors import ConfigurationError, RunError
from raglift.sweep.specification.record import Sweep

SWEEP = {
    "dataset": "lighthouse",
    "retrievers": ["bm25"],
    "chunkers": ["recursive:1000/100", "recursive:500/0"],
    "rerankers": ["none"],
    "ks": [1, 10],
    "candidates": 10,
}


def test_runs_are_called_by_their_folders(ranked, tmp_path: Path) -> None:
    folders = [ranked([rank] * 3).save(tmp_path / f"at-{rank}") for rank in (1, 2)]
    assert list(load_runs(folders)) == ["at-1", "at-2"]
    assert list(load_runs(folders[:1])) == ["at-1"]


@pytest.mark.slow
def test_the_cells_of_a_sweep_are_called_by_their_names(ranked, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    result = Sweep(**SWEEP).run(folder)
    assert list(load_runs([folder])) == [cell.cell.name for cell in result.finished]
    other = ranked([1] * 3).save(tmp_path / "other")
    with pytest.raises(ConfigurationError, match=r"expected it alone, or cells of it"):
        load_runs([folder, other])


def test_a_folder_that_holds_neither(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"run\.json"):
        load_runs([tmp_path])
