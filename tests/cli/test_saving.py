"""Runs in folders: those that a command names, and what was measured is kept whatever becomes of its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.cli.saving import keep, load_runs
from raglift.errors import ConfigurationError, RunError
from raglift.results.evaluation import load_evaluation
from raglift.sweep.specification.record import Sweep

if TYPE_CHECKING:
    from pathlib import Path


def test_what_cannot_be_saved_is_shown_and_saved_elsewhere(
    ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "run").write_text("a file")
    shown: list[str] = []
    with pytest.raises(RunError) as caught:
        keep(ranked([1]), tmp_path / "run", overwrite=False, show=lambda: shown.append("it"))
    assert shown == ["it"]
    _, _, place = str(caught.value).partition("; what was measured is in ")
    assert load_evaluation(place).scores.mean("retrieve", "recall@1") == 1.0
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "run"))
    with pytest.raises(RunError, match="is printed and nowhere else"):
        keep(ranked([1]), tmp_path / "run", overwrite=False)


@pytest.mark.slow
def test_runs_are_called_by_their_folders(ranked, tmp_path: Path) -> None:
    folders = [ranked([rank] * 3).save(tmp_path / f"at-{rank}") for rank in (1, 2)]
    assert list(load_runs(folders)) == ["at-1", "at-2"]
    assert list(load_runs(folders[:1])) == ["at-1"]


@pytest.mark.slow
def test_the_cells_of_a_sweep_are_called_by_their_names(ranked, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    chunkers = ("recursive:1000/100", "recursive:500/0")
    wanted = Sweep(dataset="lighthouse", retrievers=["bm25"], chunkers=chunkers, rerankers=["none"], ks=(1,))
    result = wanted.run(folder)
    assert list(load_runs([folder])) == [cell.cell.name for cell in result.finished]
    other = ranked([1] * 3).save(tmp_path / "other")
    with pytest.raises(ConfigurationError, match=r"expected it alone, or cells of it"):
        load_runs([folder, other])


def test_a_folder_that_holds_neither(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"run\.json"):
        load_runs([tmp_path])
