"""A full disk: a clear error, what was there unchanged, nothing half-written, and what was measured not lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from raglift.apps.review.labels_file import LabelsFile
from raglift.apps.review.session import Session
from raglift.errors import CacheError, RagliftError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.types.labels import Query
from raglift.utilities.cache import Cache

from .conftest import Disk, content, make_evaluation
from .writers import WRITERS

pytestmark = pytest.mark.slow

CAPABILITIES = "No space left|File too large|full"
Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_half_written_and_what_was_there_stays(name: str, evaluation: Evaluation, disk: Disk) -> None:
    place = disk.path / name
    place.mkdir()
    WRITERS[name](evaluation, place)
    before = content(place)
    assert before
    with disk.full(), pytest.raises(RagliftError, match=CAPABILITIES) as told:
        WRITERS[name](make_evaluation(0.75), place)
    assert "written/" not in str(told.value)  # the place that the user named, and not one that is gone
    assert {path: data for path, data in content(place).items() if not path.endswith(".part")} == before
    WRITERS[name](make_evaluation(0.75), place)  # once there is room again


def test_an_evaluation_that_cannot_be_saved_is_printed_and_kept_elsewhere(
    run: Run, disk: Disk, tmp_path: Path, evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = evaluation.save(tmp_path / "run")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if not disk.is_own:  # a limit on the size of files knows no place with more room
        monkeypatch.setattr("raglift.cli.saving._rescued", lambda *_: "what was measured is printed")
    with disk.full():
        code, out, err = run("rescore", saved, "--output", disk.path / "rescored")
    assert code == 2
    assert "NDCG@5" in out
    assert "cannot be written" in err
    assert not (disk.path / "rescored").exists()
    if disk.is_own:
        kept = Path(err.rpartition("what was measured is in ")[2].strip())
        assert load_evaluation(kept).scores.query_ids == evaluation.scores.query_ids


def test_a_report_in_markdown_replaces_all_or_nothing(
    run: Run, disk: Disk, tmp_path: Path, evaluation: Evaluation
) -> None:
    saved, report = evaluation.save(tmp_path / "run"), disk.path / "report.md"
    report.write_text("the report of yesterday")
    with disk.full():
        code, _, err = run("report", saved, "--format", "markdown", "-o", report, "--overwrite")
    assert code == 2
    assert "Traceback" not in err
    assert report.read_text() == "the report of yesterday"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["metrics"], ["metrics", "--json"]], ids=["table", "json"])
def test_output_that_cannot_be_printed_is_an_error_without_a_traceback(arguments: list[str]) -> None:
    command = [sys.executable, "-c", "from raglift.cli import main; main()", *arguments]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.startswith("raglift: error: what is printed: cannot be written")
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


def test_a_cache_says_so_and_keeps_what_it_has(disk: Disk) -> None:
    cache = Cache(disk.path / "cache" / "cache.sqlite")
    cache.put_many({b"one": b"1" * 100})
    with disk.full(), pytest.raises(CacheError, match=r"free some space") as told:
        cache.put_many({bytes([number]): b"x" * 100_000 for number in range(60)})
    assert "RAGLIFT_CACHE" in str(told.value)
    assert cache.get_many([b"one", bytes([1])]) == {b"one": b"1" * 100}
    cache.put_many({b"two": b"2"})
    cache.close()
    again = Cache(disk.path / "cache" / "cache.sqlite")
    assert again.get_many([b"one", b"two"]) == {b"one": b"1" * 100, b"two": b"2"}
    again.close()


def test_a_review_keeps_every_decision_until_there_is_room(disk: Disk) -> None:
    file = LabelsFile(disk.path / "labels.jsonl")
    known, _ = file.open([Query("q1", "when is the lamp lit? " * 20), Query("q2", "what drives the horn?")])
    session = Session(list(known.values()), file)
    before = file.path.read_bytes()
    with disk.full():
        session.apply(0, session.version(0), lambda query: Query(query.id, query.text, tags=("decided " * 100,)))
        assert session.saving.unsaved == 1
        assert session.saving.problem
        assert file.path.read_bytes() == before
    session.save()
    assert session.saving.unsaved == 0
    assert b"decided" in file.path.read_bytes()


def test_a_gate_that_cannot_write_its_files_has_not_passed(
    run: Run, disk: Disk, tmp_path: Path, evaluation: Evaluation
) -> None:
    saved = evaluation.save(tmp_path / "run")
    with disk.full():
        code, out, err = run("gate", saved, "--min", "ndcg@5=0.01", "--junit", disk.path / "checks.xml")
    assert code == 2
    assert "ndcg@5" in out
    assert "checks.xml: cannot be written" in err
