"""Runs in folders: those that a command names, and what was measured is kept whatever becomes of its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from raglift.cli.saving import keep, load_runs, save_somewhere
from raglift.errors import ConfigurationError, RunError
from raglift.results.evaluation import load_evaluation
from raglift.sweep.specification.record import Sweep

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("wanted", "kept"), [("run", "run.unsaved"), ("again", "again.unsaved-2"), (".", "evaluation.unsaved")]
)
def test_what_cannot_be_saved_is_shown_and_saved_beside(
    ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, kept: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").write_text("a file")
    ranked([1]).save(tmp_path / "again")
    (tmp_path / "again.unsaved").symlink_to("nowhere")
    shown: list[str] = []
    with pytest.raises(RunError) as caught:
        keep(ranked([1]), (tmp_path / wanted).relative_to(tmp_path), overwrite=False, show=lambda: shown.append("it"))
    assert shown == ["it"]
    assert str(caught.value).endswith(f"; what was measured is in {kept}")
    assert load_evaluation(tmp_path / kept).scores.mean("retrieve", "recall@1") == 1.0


@pytest.mark.parametrize("name", ["taken/run", "é" * 127 + "/run", "n" * 300])
def test_where_there_is_no_place_beside_it_is_saved_in_a_temporary_folder(
    ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "taken").write_text("a file")
    (tmp_path / ("é" * 127)).write_text("a file")
    kept = save_somewhere(ranked([1]), tmp_path / name)
    assert kept is not None
    assert kept.parent == tmp_path
    assert load_evaluation(kept).scores.mean("retrieve", "recall@1") == 1.0


def test_where_nothing_can_be_written_there_is_no_place(
    ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "taken"))
    assert save_somewhere(ranked([1]), tmp_path / "taken" / "run") is None


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
