"""Versions, undo, and what happens while the file cannot be written or another program writes it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from raglift.apps.review.labels_file import LabelsFile
from raglift.apps.review.session import Session, StaleChange
from raglift.datasets.jsonl import read_queries
from raglift.errors import ConfigurationError
from raglift.types.labels import Query

QUERIES = tuple(Query(f"q{number}", f"question {number}") for number in range(3))


@pytest.fixture
def session(path: Path) -> Session:
    file = LabelsFile(path)
    file.open(QUERIES)
    return Session(QUERIES, file)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


def tag(session: Session, index: int, name: str) -> None:
    def tagged(query: Query) -> Query:
        return replace(query, tags=(*query.tags, name))

    session.apply(index, session.version(index), tagged)


def tags(path: Path) -> list[tuple[str, ...]]:
    return [query.tags for query in read_queries(path)]


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_change_is_on_disk_when_it_is_made_and_an_older_version_is_refused(session: Session, path: Path) -> None:
    old = session.version(1)
    tag(session, 1, "a")
    assert tags(path) == [(), ("a",), ()]
    assert session.saving.at
    assert not session.saving.unsaved
    with pytest.raises(StaleChange):
        session.apply(1, old, lambda query: query)


def test_changes_are_undone_one_after_the_other(session: Session, path: Path) -> None:
    first = session.version(0)
    for index, name in ((0, "a"), (1, "b"), (0, "c")):
        tag(session, index, name)
    assert [session.undo() for _ in range(2)] == [0, 1]
    assert tags(path) == [("a",), (), ()]
    assert session.undo() == 0
    assert session.version(0) == first
    with pytest.raises(ConfigurationError, match="nothing to undo"):
        session.undo()


def test_a_file_that_became_malformed_stays_as_it_is_and_one_that_is_gone_is_written_anew(
    session: Session, path: Path
) -> None:
    path.write_text("{", encoding="utf-8")
    tag(session, 0, "mine")
    assert session.saving.unsaved == 1
    assert path.read_text(encoding="utf-8") == "{"
    path.unlink()
    session.save()
    assert tags(path) == [("mine",), (), ()]


def test_a_save_that_fails_is_tried_again_with_the_next_change(
    session: Session, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        tag(session, 0, "a")
    assert session.saving.problem == "a file that cannot be written (No space left on device)"
    assert read_queries(path) == QUERIES
    tag(session, 1, "b")
    assert tags(path) == [("a",), ("b",), ()]


def test_at_the_end_what_cannot_be_saved_is_put_beside(session: Session, path: Path) -> None:
    tag(session, 0, "a")
    assert "1 change, saved" in session.rescue()
    path.write_text("somebody else's", encoding="utf-8")
    tag(session, 1, "b")
    assert "labels.unsaved-1.jsonl" in session.rescue()
    assert read_queries(path.with_name("labels.unsaved-1.jsonl")) == (replace(QUERIES[1], tags=("b",)),)
    assert path.read_text(encoding="utf-8") == "somebody else's"


def test_at_the_end_what_can_be_saved_nowhere_is_said(
    session: Session, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        tag(session, 0, "größer")
        first, line = session.rescue().splitlines()
    assert first.endswith("(No space left on device); 1 changed query: see the lines that follow")
    assert line.isascii()
    assert json.loads(line)["tags"] == ["größer"]
    assert read_queries(path) == QUERIES
