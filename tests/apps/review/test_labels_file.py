"""The file of labels: whole at every moment, never written over somebody else's work, and one review's at a time."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from raglift.apps.review.labels_file import LabelsFile, hold
from raglift.datasets.jsonl import read_queries, write_queries
from raglift.errors import ConfigurationError, DatasetError, MissingDependency
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query

QUERIES = tuple(Query(f"q{number}", f"question {number}") for number in range(3))
LABELLED = replace(QUERIES[1], facts=(Fact((Passage("the answer to one", grade=2),)),))


def opened(path: Path, wanted: tuple[Query, ...] = QUERIES, documents: tuple[Document, ...] = ()) -> LabelsFile:
    file = LabelsFile(path, documents)
    file.open(wanted)
    return file


def test_a_missing_file_is_made_with_the_labels_of_the_runs(tmp_path: Path) -> None:
    path = tmp_path / "new" / "labels.jsonl"
    known, added = LabelsFile(path).open((LABELLED,))
    assert (known, added) == ({"q1": LABELLED}, 1)
    assert read_queries(path) == (LABELLED,)


def test_an_existing_file_keeps_its_labels_and_gets_the_queries_that_it_lacks(tmp_path: Path) -> None:
    path = write_queries([LABELLED, Query("other", "of no run")], tmp_path / "labels.jsonl")
    known, added = LabelsFile(path).open(QUERIES)
    assert added == 2
    assert known["q1"] == LABELLED
    assert [query.id for query in read_queries(path)] == ["q1", "other", "q0", "q2"]


def test_a_file_about_other_queries_is_refused_with_every_fault(tmp_path: Path) -> None:
    path = write_queries([Query("q0", "another text"), Query("q1", "and another")], tmp_path / "labels.jsonl")
    with pytest.raises(DatasetError) as caught:
        LabelsFile(path).open(QUERIES)
    assert [fault.found.partition(":")[0] for fault in caught.value.faults] == [
        'another text of the query "q0"',
        'another text of the query "q1"',
    ]
    apart = write_queries([Query("a", "question")], tmp_path / "apart.jsonl")
    with pytest.raises(DatasetError, match="none of them of the runs"):
        LabelsFile(apart).open(QUERIES)


def test_what_was_not_changed_keeps_its_line(tmp_path: Path) -> None:
    document = Document("horn.md", "It gives two blasts every forty-five seconds, and then it is quiet.")
    line = '{"id":"q0",  "query": "question 0", "relevant": [{"doc": "horn.md", "from": "It gives", "to": "blasts"}]}'
    path = tmp_path / "labels.jsonl"
    path.write_text(line + '\n\n{"id": "q1", "query": "question 1"}', encoding="utf-8")
    file = opened(path, QUERIES, (document,))
    file.write({"q1": file.line_of(LABELLED)})
    assert path.read_text(encoding="utf-8").splitlines()[0] == line
    assert read_queries(path, [document])[1] == LABELLED


def test_what_another_program_wrote_is_not_written_over(tmp_path: Path) -> None:
    file = opened(tmp_path / "labels.jsonl")
    tagged = tuple(replace(query, tags=("hard",)) for query in QUERIES)
    write_queries(tagged, file.path)
    with pytest.raises(DatasetError, match="another program changed"):
        file.write({"q1": file.line_of(LABELLED)})
    assert read_queries(file.path) == tagged
    file.path.unlink()
    file.write({"q1": file.line_of(LABELLED)})
    assert read_queries(file.path)[1] == LABELLED


def test_a_query_that_no_file_can_hold_is_refused_before_it_counts(tmp_path: Path) -> None:
    file = opened(tmp_path / "labels.jsonl")
    with pytest.raises(DatasetError, match="half a character"):
        file.line_of(replace(QUERIES[0], facts=(Fact((Passage("half \ud83d of it"),)),)))


def test_two_reviews_cannot_hold_one_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with hold(path), pytest.raises(ConfigurationError, match="another review at work"), hold(path):
        pass
    with hold(path):
        pass


def test_a_folder_in_place_of_the_file_or_of_a_folder_above_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no readable file \(Is a directory\)"):
        LabelsFile(tmp_path).open(QUERIES)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="found no place to write beside it"), hold(tmp_path / "file" / "l"):
        pass


def test_a_review_without_its_lock_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(MissingDependency, match=r"raglift\[review\]"), hold(tmp_path / "labels.jsonl"):
        pass


WRITER = """
import sys
from pathlib import Path
from raglift.datasets.jsonl import read_queries
from raglift.types.labels import Fact, Passage
from raglift.apps.review.labels_file import LabelsFile, hold
from dataclasses import replace
path = Path(sys.argv[1])
with hold(path):
    queries = read_queries(path)
    file = LabelsFile(path)
    file.open(queries)
    print("ready", flush=True)
    for n in range(10**9):
        query = replace(queries[n % len(queries)], facts=(Fact((Passage(f"answer {n} " + "x" * 5000),)),))
        file.write({query.id: file.line_of(query)})
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = write_queries([Query(f"q{number}", f"question {number}") for number in range(200)], tmp_path / "l.jsonl")
    moments = random.Random(7)  # noqa: S311 — moments need not be secret
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(moments.uniform(0.02, 0.2))
        writer.kill()
        writer.communicate()
        assert len(read_queries(path)) == 200
    assert any(query.facts for query in read_queries(path))
