from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError
from raglift.running.evaluation import evaluate
from raglift.types.labels import Fact, Passage, Query


@pytest.fixture
def folder(fixtures: Path) -> Path:
    return fixtures / "autorag"


def qa(folder: Path, corpus: dict[str, Any] | None = None, **columns: Any) -> Path:
    pq.write_table(pa.table({"qid": ["q"], "query": ["?"], "retrieval_gt": [["a"]]} | columns), folder / "qa.parquet")
    if corpus is not None:
        pq.write_table(pa.table(corpus), folder / "corpus.parquet")
    return folder


CORPUS = {"doc_id": ["a", "b"], "contents": ["text a", "text b"], "metadata": [{"n": 1}, {"n": 2}]}


def test_groups_are_facts_and_their_ids_alternatives(folder: Path) -> None:
    dataset = load_dataset(folder)
    assert (dataset.name, [document.id for document in dataset.documents]) == (
        "autorag",
        ["c1f0", "c1f1", "c2f0", "c2f1"],
    )
    ids = [[passage.doc_id for passage in fact.passages] for fact in dataset.query("q-members").facts]
    assert ids == [["c1f0", "c1f1"], ["c2f0"]]
    text = "Aster came second in 2021."
    assert dataset.query("q-second").facts == (Fact((Passage(text, "c2f1", 0, len(text)),)),)
    assert dataset.query("q-none") == Query("q-none", "Who came third?")  # an empty retrieval_gt


def test_what_is_known_of_a_row_is_metadata(folder: Path) -> None:
    assert load_dataset(folder).documents[1].metadata == {
        "last_modified_datetime": "2024-09-13T12:00:00",
        "prev_id": "c1f0",
        "path": "bands/newhaven.txt",
        "start_end_idx": [33, 93],
    }


def test_other_labels(folder: Path) -> None:
    texts = load_dataset(folder, labels="texts").query("q-second").facts
    assert texts == (Fact((Passage("Aster came second in 2021."),)),)
    ids = load_dataset(folder, labels="ids")
    assert ids.query("q-members").facts[0].passages == (Passage(chunk_id="c1f0"), Passage(chunk_id="c1f1"))
    assert len(ids.documents) == 4
    with pytest.raises(ConfigurationError, match="expected one of 'spans', 'texts', 'ids'"):
        load_dataset(folder, labels="id")  # type: ignore[arg-type]


def test_the_sources_of_the_corpus_can_stand_in_for_its_rows(folder: Path) -> None:
    """The texts are those of the rows, so any chunking of the sources can be measured."""
    sources = {"race.md": "Results. Aster came second in 2021. Others followed."}
    dataset = load_dataset(folder, documents=sources)
    assert [document.id for document in dataset.documents] == ["race.md"]
    assert dataset.query("q-second").facts == (Fact((Passage("Aster came second in 2021."),)),)
    with pytest.raises(ConfigurationError, match="found 'spans' with documents=; expected 'texts'"):
        load_dataset(folder, documents=sources, labels="spans")


def test_without_a_corpus_the_labels_are_ids(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "qa.parquet", tmp_path / "qa_train.parquet")
    dataset = load_dataset(tmp_path / "qa_train.parquet")
    assert dataset.documents == ()
    assert dataset.query("q-second").facts == (Fact((Passage(chunk_id="c2f1"),)),)
    with pytest.raises(ConfigurationError, match="expected 'ids', or the corpus"):
        load_dataset(tmp_path / "qa_train.parquet", labels="texts")


@pytest.mark.parametrize("given", [["a"], [["a"]], [[["a"]]]], ids=["text", "list", "list of lists"])
def test_one_id_in_every_form(given: Any, tmp_path: Path) -> None:
    dataset = load_dataset(qa(tmp_path, CORPUS, retrieval_gt=given))
    assert dataset.queries[0].facts == (Fact((Passage("text a", "a", 0, 6),)),)


def test_a_flat_list_means_all_of_it(tmp_path: Path) -> None:
    assert len(load_dataset(qa(tmp_path, CORPUS, retrieval_gt=[["a", "b"]])).queries[0].facts) == 2


@pytest.mark.parametrize("empty", [[], [[]], [[""]], [[" "]], [["a"], [""]], [["a"], []], [["a", None]], None], ids=str)
def test_what_autorag_takes_as_no_ground_truth_is_unlabelled_and_counted(empty: Any, tmp_path: Path) -> None:
    columns = {"qid": ["q", "none"], "query": ["?", "!"], "retrieval_gt": [[["a"]], empty]}
    dataset = load_dataset(qa(tmp_path, CORPUS, **columns))
    assert [len(query.facts) for query in dataset.queries] == [1, 0]
    assert "1 query excluded from all averages: no labels" in evaluate(lambda _: ["text a"], dataset, ks=(1,)).notes


@pytest.mark.parametrize(
    ("columns", "corpus", "expected"),
    [
        (
            {"retrieval_gt": [["z"]]},
            {},
            'qa.parquet: row 1.retrieval_gt[0]: found the unknown id "z"; expected a doc_id',
        ),
        (
            {"retrieval_gt": [3]},
            {},
            'qa.parquet: retrieval_gt: found a column of type "int64"; expected texts, or lists',
        ),
        ({"query": [None]}, {}, "qa.parquet: row 1.query: found null; expected a text"),
        ({"qid": [1]}, {}, 'qa.parquet: qid: found a column of type "int64"; expected texts'),
        ({"qid": [""]}, {}, "row 1.qid: found an empty text"),
        (
            {"qid": ["q", "q"], "query": ["?", "!"], "retrieval_gt": ["a", "b"]},
            {},
            'qa.parquet: row 2.qid: found the id "q" again; expected a unique id',
        ),
        ({}, {"contents": [3, 4]}, 'corpus.parquet: contents: found a column of type "int64"'),
        ({}, {"doc_id": ["a", "a"]}, 'corpus.parquet: row 2.doc_id: found the id "a" again'),
        ({}, {"contents": ["x", None]}, "corpus.parquet: row 2.contents: found null"),
        ({}, {"metadata": ["x", "y"]}, 'corpus.parquet: row 1.metadata: found "x"; expected a struct'),
    ],
)
def test_every_fault_has_its_row(
    columns: Any, corpus: Any, expected: str, tmp_path: Path, faults: Callable[..., str]
) -> None:
    message = faults(qa(tmp_path, CORPUS | corpus, **columns))
    assert "(read as AutoRAG)" in message
    assert expected in message


def test_missing_columns_and_files_that_are_no_parquet(tmp_path: Path, faults: Callable[..., str]) -> None:
    pq.write_table(pa.table({"qid": ["q"], "question": ["?"]}), tmp_path / "qa.parquet")
    message = faults(tmp_path)
    assert 'qa.parquet: found the columns "qid", "question"; expected a column query' in message
    assert "expected a column retrieval_gt" in message
    (tmp_path / "qa.parquet").write_bytes(b"PAR1 not at all")
    assert "qa.parquet: found no readable Parquet file" in faults(tmp_path)
    (tmp_path / "qa.parquet").unlink()
    assert "qa.parquet: found no readable Parquet file" in faults(tmp_path, format="autorag")


@pytest.mark.parametrize(("name", "column"), [("qa", "qid"), ("corpus", "doc_id"), ("corpus", "metadata")])
def test_a_column_that_is_there_twice_is_said(
    name: str, column: str, tmp_path: Path, faults: Callable[..., str]
) -> None:
    path = qa(tmp_path, CORPUS) / f"{name}.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column(column, table.column(column)), path)
    assert f"{name}.parquet: {column}: found 2 columns of this name; expected one column of each name" in faults(
        tmp_path
    )
