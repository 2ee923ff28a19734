"""Who may change what: versions, undo of one's own last change, and what happens while the file cannot be written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from raglift.apps.review.labels_file import LabelsFile
from raglift.apps.review.session import NothingToUndo, Session, StaleChange
from raglift.datasets.jsonl import read_queries, write_queries
from raglift.records.labels import Query

QUERIES = tuple(Query(f"q{number}", f"question {number}") for number in range(3))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    file = LabelsFile(tmp_path / "labels.jsonl")
    file.open(QUERIES)
    return Session(QUERIES, file)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


def tagged(tag: str) -> Callable[[Query], Query]:
    return lambda query: replace(query, tags=(*query.tags, tag))


def test_a_change_is_on_disk_when_it_is_made(session: Session, path: Path) -> None:
    session.apply(1, 0, "tab", tagged("a"))
    assert read_queries(path)[1].tags == ("a",)
    assert session.version(1) == 1
    assert session.saving.at
    assert not session.saving.unsaved


def test_a_change_on_an_older_version_is_refused(session: Session, path: Path) -> None:
    session.apply(1, 0, "one", tagged("a"))
    with pytest.raises(StaleChange):
        session.apply(1, 0, "two", tagged("b"))
    assert read_queries(path)[1].tags == ("a",)


def test_changes_are_told_by_number(session: Session) -> None:
    session.apply(1, 0, "one", tagged("a"))
    seen = session.changes
    session.apply(2, 0, "one", tagged("b"))
    assert session.changed_since(0) == [1, 2]
    assert session.changed_since(seen) == [2]
    session.apply(2, 1, "one", lambda query: query)
    assert (session.version(2), session.changes) == (1, 2)


def test_a_tab_undoes_its_own_changes_one_after_the_other(session: Session, path: Path) -> None:
    for version, tag in enumerate("ab"):
        session.apply(0, version, "one", tagged(tag))
    session.apply(1, 0, "two", tagged("c"))
    assert session.undo("one") == 0
    assert read_queries(path)[0].tags == ("a",)
    assert session.undo("one") == 0
    assert read_queries(path) == (QUERIES[0], replace(QUERIES[1], tags=("c",)), QUERIES[2])
    with pytest.raises(NothingToUndo):
        session.undo("one")
    assert session.version(0) == 4


def test_what_others_changed_since_is_not_undone(session: Session, path: Path) -> None:
    session.apply(0, 0, "one", tagged("a"))
    session.apply(0, 1, "two", tagged("b"))
    with pytest.raises(StaleChange, match="changed elsewhere since"):
        session.undo("one")
    assert read_queries(path)[0].tags == ("a", "b")
    assert session.undo("two") == 0
    assert read_queries(path)[0].tags == ("a",)


def test_an_older_change_is_not_undone_across_somebody_elses(session: Session) -> None:
    session.apply(0, 0, "one", tagged("a"))
    session.apply(0, 1, "two", tagged("b"))
    session.apply(0, 2, "one", tagged("c"))
    session.undo("one")
    with pytest.raises(StaleChange):
        session.undo("one")
    assert session.query(0).tags == ("a", "b")


def test_nothing_is_lost_while_another_program_has_the_file_changed(session: Session, path: Path) -> None:
    session.apply(0, 0, "one", tagged("a"))
    write_queries([*read_queries(path)[:2], replace(QUERIES[2], tags=("theirs",))], path)
    session.apply(1, 0, "one", tagged("b"))
    assert (session.saving.unsaved, session.saving.changed_meanwhile) == (1, True)
    session.save()
    assert session.saving.unsaved == 1
    assert session.take_in() == "saved your changes, and took in those of the other program (1 of these queries)"
    assert [query.tags for query in read_queries(path)] == [("a",), ("b",), ("theirs",)]
    assert session.query(2).tags == ("theirs",)
    assert session.version(2) == 1
    assert not session.saving.unsaved
    session.apply(2, 1, "one", tagged("mine"))
    assert read_queries(path)[2].tags == ("theirs", "mine")


def test_a_conflict_keeps_both_sides(session: Session, path: Path) -> None:
    write_queries([replace(QUERIES[0], tags=("theirs",)), *QUERIES[1:]], path)
    session.apply(0, 0, "one", tagged("mine"))
    assert "labels.theirs-1.jsonl" in session.take_in()
    assert read_queries(path)[0].tags == ("mine",)
    assert read_queries(path.with_name("labels.theirs-1.jsonl"))[0].tags == ("theirs",)


def test_a_broken_file_is_not_taken_in(session: Session, path: Path) -> None:
    path.write_text("{", encoding="utf-8")
    session.apply(0, 0, "one", tagged("mine"))
    with pytest.raises(Exception, match="column"):
        session.take_in()
    assert path.read_text(encoding="utf-8") == "{"
    path.unlink()
    session.take_in()
    assert read_queries(path)[0].tags == ("mine",)


def test_a_save_that_fails_is_tried_again_with_the_next_change(
    session: Session, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        session.apply(0, 0, "one", tagged("a"))
    assert session.saving.problem == "a file that cannot be written (No space left on device)"
    assert read_queries(path) == QUERIES
    session.apply(1, 0, "one", tagged("b"))
    assert [query.tags for query in read_queries(path)] == [("a",), ("b",), ()]


def test_at_the_end_what_cannot_be_saved_is_put_beside(session: Session, path: Path) -> None:
    session.apply(0, 0, "one", tagged("a"))
    assert "1 change, saved" in session.rescue()
    path.write_text("somebody else's", encoding="utf-8")
    session.apply(1, 0, "one", tagged("b"))
    assert "labels.unsaved-1.jsonl" in session.rescue()
    assert read_queries(path.with_name("labels.unsaved-1.jsonl")) == (replace(QUERIES[1], tags=("b",)),)
    assert path.read_text(encoding="utf-8") == "somebody else's"


def test_what_cannot_be_put_beside_either_is_put_elsewhere_or_told(
    session: Session, path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    session.apply(1, 0, "one", tagged("b"))
    told = session.rescue()
    (place,) = elsewhere.iterdir()
    assert told.endswith(f"1 changed query: see {place}")
    assert read_queries(place) == (replace(QUERIES[1], tags=("b",)),)
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert json.loads(session.rescue().splitlines()[-1]) == json.loads(place.read_text(encoding="utf-8"))
