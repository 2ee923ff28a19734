"""A sweep's folder: what may be gone on with, and what is told of what may not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError, RunError
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.sweep.engine import load_sweep_result, run_sweep
from raglift.sweep.folder import SweepFolder
from raglift.sweep.specification.cells import Cell
from raglift.sweep.specification.record import Sweep
from raglift.utilities.replacing import _MARK, _prefix

CELL = Cell("recursive:1000/100", "minilm", RetrieverSpec("dense"), "late-interaction")
HEAD: dict[str, Any] = {
    "title": "island",
    "primary": "ndcg@3",
    "primary_named": True,
    "seed": 0,
    "hash": "one",
    "sweep": {"chunkers": ["recursive:200/0", "recursive:90/30"], "candidates": 6, "budget": 2000, "margin": 0.03},
    "cells": [CELL.to_dict()],
}


def begun(path: Path, **changes: Any) -> Path:
    with SweepFolder.begin(path, {**HEAD, **changes}, resume=False) as folder:
        assert folder.head()["format"] == 1
    return path


def left_behind(place: Path) -> Path:
    """Return a folder as a process leaves it that is killed while it writes a cell."""
    folder = place.with_name(f"{_prefix(place)}abc_1xyz")
    folder.mkdir(parents=True)
    (folder / _MARK).touch()
    return folder


def go_on(path: Path, **changes: Any) -> None:
    with SweepFolder.begin(path, {**HEAD, **changes}, resume=True):
        pass


def test_a_sweep_is_not_gone_on_with_unless_asked(tmp_path: Path) -> None:
    begun(tmp_path / "sweep")
    with pytest.raises(
        ConfigurationError, match=r"found a sweep there already \(0 configurations finished\).*--resume.*--output"
    ):
        begun(tmp_path / "sweep")
    go_on(tmp_path / "sweep")


def test_what_has_changed_is_named(tmp_path: Path) -> None:
    begun(tmp_path / "sweep")
    changed = {**HEAD["sweep"], "chunkers": ["recursive:200/0", "token:64/8"], "candidates": 8}
    with pytest.raises(ConfigurationError) as caught:
        go_on(tmp_path / "sweep", hash="two", sweep=changed)
    told = str(caught.value)
    assert 'is ["recursive:200/0", "token:64/8"]; candidates was 6 and is 8;' in told
    with pytest.raises(ConfigurationError, match="another sweep there: the dataset, a mapping file, the code of"):
        go_on(tmp_path / "sweep", hash="two")


def test_many_changes_are_counted(tmp_path: Path) -> None:
    begun(tmp_path / "sweep")
    with pytest.raises(ConfigurationError, match="c was null and is 3 and 2 more"):
        go_on(tmp_path / "sweep", hash="two", sweep={**HEAD["sweep"], "a": 1, "b": 2, "c": 3, "d": 4, "e": 5})


def test_something_that_is_no_sweep_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(RunError, match="found something there that is no sweep"):
            begun(path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(RunError, match="cannot be written"):
        begun(tmp_path / "notes.txt" / "below")


def test_what_a_process_killed_at_its_first_step_left_does_not_block(tmp_path: Path) -> None:
    for name in ("sweep.lock", ".sweep.json.part"):
        (tmp_path / name).touch()
    begun(tmp_path)
    assert (tmp_path / "sweep.json").stat().st_size > 0
    assert not (tmp_path / ".sweep.json.part").exists()


def test_half_written_leftovers_are_removed_and_what_is_whole_is_kept(tmp_path: Path) -> None:
    begun(tmp_path / "sweep")
    whole = tmp_path / "sweep/cells" / CELL.key
    whole.mkdir(parents=True)
    half = [left_behind(whole), left_behind(tmp_path / "sweep/retrieved" / CELL.key)]
    for folder in (whole, *half):
        (folder / "run.json").write_text("{", encoding="utf-8")
    go_on(tmp_path / "sweep")
    assert not any(folder.exists() for folder in half)
    assert (whole / "run.json").exists()
    assert SweepFolder(tmp_path / "sweep").finished() == {CELL.key}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cannot be read"),
        ("[]", "damaged"),
        ('{"format": 1}', "damaged: title: found nothing; expected a text"),
        (json.dumps({"format": 1, **HEAD, "cells": "all"}), 'damaged: cells: found "all"; expected a list'),
        (json.dumps({"format": 2, **HEAD}), "damaged: format: found 2; expected 1"),
    ],
)
def test_a_head_that_cannot_be_read_is_named(tmp_path: Path, content: str, told: str) -> None:
    begun(tmp_path / "sweep")
    (tmp_path / "sweep/sweep.json").write_text(content, encoding="utf-8")
    with pytest.raises(RunError, match=f"sweep.json: {told}"):
        go_on(tmp_path / "sweep")
    with pytest.raises(RunError, match=f"sweep.json: {told}"):
        load_sweep_result(tmp_path / "sweep")


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    begun(tmp_path / "sweep")
    (tmp_path / "sweep" / "failures.json").write_text("[]", encoding="utf-8")
    with pytest.raises(RunError, match=r"failures\.json: damaged"):
        load_sweep_result(tmp_path / "sweep")


def test_no_sweep_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"found no sweep\.json; expected the folder of a sweep"):
        load_sweep_result(tmp_path)
    with pytest.raises(RunError, match="absent: found nothing there; expected the folder of a sweep"):
        load_sweep_result(tmp_path / "absent")


def test_a_file_that_cannot_be_written_is_no_traceback(tmp_path: Path) -> None:
    folder = SweepFolder(begun(tmp_path / "sweep"))
    (tmp_path / "sweep/failures.json").mkdir()
    with pytest.raises(RunError, match=r"failures\.json: cannot be written"):
        folder.set_failures({"a": "b"})


@pytest.mark.slow
def test_a_damaged_cell_fails_by_itself_and_can_be_measured_again(island: Any, tmp_path: Path) -> None:
    sweep = Sweep(
        dataset=island, chunkers=["recursive:200/0", "recursive:90/30"], retrievers="bm25", ks=1, primary="ndcg@1"
    )
    whole = run_sweep(sweep, tmp_path / "sweep", progress=False)
    damaged = whole.results[0].cell
    place = tmp_path / "sweep" / "cells" / damaged.key
    (place / "run.json").write_text("{", encoding="utf-8")
    again = run_sweep(sweep, tmp_path / "sweep", resume=True, progress=False)
    assert [entry.cell for entry in again.failed] == [damaged]
    assert f"remove the folder {place}, and continue with --resume" in str(again.failed[0].error)
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    assert len(run_sweep(sweep, tmp_path / "sweep", resume=True, progress=False).finished) == 2


@pytest.mark.slow
def test_retrieval_that_is_damaged_fails_its_cells_and_no_others(island: Any, tmp_path: Path) -> None:
    sweep = Sweep(
        dataset=island,
        chunkers=["recursive:200/0", "recursive:90/30"],
        retrievers="bm25",
        rerankers=["cross-encoder"],
        candidates=3,
        ks=1,
        primary="ndcg@1",
    )
    run_sweep(sweep, tmp_path / "sweep", progress=False)
    for cell in (tmp_path / "sweep/cells").iterdir():
        for file in cell.iterdir():
            file.unlink()
        cell.rmdir()
    first = next((tmp_path / "sweep/retrieved").iterdir())
    (first / "run.json").write_text("{", encoding="utf-8")
    again = run_sweep(sweep, tmp_path / "sweep", resume=True, progress=False)
    assert (len(again.failed), len(again.finished)) == (1, 1)
    assert "remove the folder" in str(again.failed[0].error)


def test_what_was_about_to_be_replaced_is_put_back(tmp_path: Path) -> None:
    """Killed between the two renames that replace a cell: the whole of it is aside, and nothing in its place."""
    begun(tmp_path / "sweep")
    place = tmp_path / "sweep/cells" / CELL.key
    retired = left_behind(place) / "retired"
    retired.mkdir()
    (retired / "run.json").write_text("{}", encoding="utf-8")
    go_on(tmp_path / "sweep")
    assert (place / "run.json").is_file()
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sweep": {**HEAD["sweep"], "margin": -1}}, "damaged: margin: found -1; expected a number from 0"),
        ({"sweep": {"budget": 2000}}, "damaged: sweep: found no margin"),
        ({"primary": "ndgc@3"}, "damaged: metric: found 'ndgc' .*; expected one of"),
        ({"cells": [CELL.to_dict()] * 2}, "damaged: cells: found one twice; expected each once"),
        ({"cells": [{"retriever": "dens"}]}, "damaged: .*'dens'"),
    ],
)
def test_a_head_that_describes_no_sweep_is_named(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    begun(tmp_path / "sweep")
    head = json.dumps({"format": 1, **HEAD, **changes})
    (tmp_path / "sweep/sweep.json").write_text(head, encoding="utf-8")
    with pytest.raises(RunError, match=f"sweep.json: {told}"):
        load_sweep_result(tmp_path / "sweep")


@pytest.mark.slow
def test_cells_of_other_queries_or_without_the_metric_that_decides_count_as_failed(island: Any, tmp_path: Path) -> None:
    sweep = Sweep(dataset=island, chunkers="recursive:200/0", retrievers="bm25", ks=1, primary="ndcg@1")
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    key = result.results[0].cell.key
    with pytest.raises(RunError, match=r"damaged: found other questions than the sweep's; .*continue with --resume"):
        SweepFolder(result.folder).load(key, replace(island, queries=island.queries[:2]), is_cell=True)
    head = json.loads((result.folder / "sweep.json").read_text(encoding="utf-8"))
    (result.folder / "sweep.json").write_text(json.dumps(head | {"primary": "rr@7"}), encoding="utf-8")
    (failed,) = load_sweep_result(result.folder).failed
    assert "found no rr@7; expected it scored; " in str(failed.error)
