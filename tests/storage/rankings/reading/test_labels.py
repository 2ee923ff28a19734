"""Labels from datasets: whole documents and chunk ids are ids; texts are not, and that is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raglift.errors import DatasetError
from raglift.storage.rankings.read import ids_of, read_qrels
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query


def test_a_beir_file_of_qrels(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq 1\td 1\t2\nq2\td2\t0\n")
    assert read_qrels(tmp_path / "test.tsv") == {"q 1": {"d 1": 2}, "q2": {"d2": 0}}
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1 d1 2\nq1\td1\tx\n\td1\t1\n")
    with pytest.raises(DatasetError) as error:
        read_qrels(tmp_path / "test.tsv")
    assert [fault.where for fault in error.value.faults] == ["test.tsv:2", "test.tsv:3: score", "test.tsv:4: query-id"]


def test_a_beir_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "title": "", "text": "Some words here."}) + "\n")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "What?"}) + "\n")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    assert read_qrels(tmp_path) == {"q1": {"d1": 2}}


def test_a_file_of_queries_whose_labels_are_chunk_ids(tmp_path: Path) -> None:
    query = {"id": "q1", "query": "What?", "relevant": [{"chunk": "c1", "grade": 2}, {"chunk": "c2"}]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(query) + "\n")
    assert read_qrels(tmp_path / "queries.jsonl") == {"q1": {"c1": 2, "c2": 1}}


def test_labels_that_are_no_ids_are_named_query_by_query() -> None:
    document = Document("d1", "All of the text.")
    whole = Passage("All of the text.", "d1", 0, 16, grade=3)
    queries = (
        Query(
            "ids",
            "?",
            (Fact((whole,)), Fact((Passage(chunk_id="c"),))),
            judged_irrelevant=(Passage(chunk_id="x", grade=0),),
        ),
        Query("text", "?", (Fact((Passage("the text"),)),)),
        Query("either", "?", (Fact((Passage(chunk_id="a"), Passage(chunk_id="b"))),)),
        Query("none", "?"),
        Query("unanswerable", "?", answerable=False),
    )
    with pytest.raises(DatasetError) as error:
        ids_of(Dataset(queries, (document,), "mine"))
    assert [(fault.where, fault.found) for fault in error.value.faults] == [
        ("mine: text", "a text or a part of a document"),
        ("mine: either", "a fact with 2 alternatives"),
    ]
    found = ids_of(Dataset((queries[0], *queries[3:]), (document,), "mine"))
    assert found == {"ids": {"d1": 3, "c": 1, "x": 0}}
