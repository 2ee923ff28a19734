from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raglift.datasets.loading import load_dataset
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


def test_the_sources_of_the_corpus_can_stand_in_for_its_rows(folder: Path) -> None:
    """The texts are those of the rows, so any chunking of the sources can be measured."""
    dataset = load_dataset(folder, documents={"race.md": "Results. Aster came second in 2021. Others followed."})
    assert [document.id for document in dataset.documents] == ["race.md"]
    assert dataset.query("q-second").facts == (Fact((Passage("Aster came second in 2021."),)),)


def test_without_a_corpus_the_labels_are_ids(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "qa.parquet", tmp_path / "qa_train.parquet")
    dataset = load_dataset(tmp_path / "qa_train.parquet")
    assert dataset.documents == ()
    assert dataset.query("q-second").facts == (Fact((Passage(chunk_id="c2f1"),)),)


@pytest.mark.parametrize("given", [["a"], [["a"]], [[["a"]]]], ids=["text", "list", "list of lists"])
def test_one_id_in_every_form(given: Any, tmp_path: Path) -> None:
    dataset = load_dataset(qa(tmp_path, CORPUS, retrieval_gt=given))
    assert dataset.queries[0].facts == (Fact((Passage("text a", "a", 0, 6),)),)


@pytest.mark.parametrize("empty", [[], [[""]], [["a"], []], [["a", None]], None], ids=str)
def test_what_autorag_takes_as_no_ground_truth_is_unlabelled(empty: Any, tmp_path: Path) -> None:
    columns = {"qid": ["q", "none"], "query": ["?", "!"], "retrieval_gt": [[["a"]], empty]}
    dataset = load_dataset(qa(tmp_path, CORPUS, **columns))
    assert [len(query.facts) for query in dataset.queries] == [1, 0]


def test_every_fault_has_its_row(tmp_path: Path, faults: Callable[..., str]) -> None:
    corpus = {"doc_id": ["a", "a"], "contents": ["x", None], "metadata": ["x", "y"]}
    columns = {"qid": ["q", "q"], "query": [None, "!"], "retrieval_gt": [["z"], ["y"]]}
    message = faults(qa(tmp_path, CORPUS | corpus, **columns))
    for expected in (
        "(read as AutoRAG)",
        "qa.parquet: row 1.query: found null; expected a text",
        'corpus.parquet: row 1.metadata: found "x"; expected a struct',
        "corpus.parquet: row 2.contents: found null",
    ):
        assert expected in message
    message = faults(qa(tmp_path, CORPUS, **columns | {"query": ["?", "!"]}))
    assert 'qa.parquet: row 1.retrieval_gt[0]: found the unknown id "z"; expected a doc_id' in message
    assert 'qa.parquet: row 2.qid: found the id "q" again; expected a unique id' in message
    twice = {"doc_id": ["a", "a"], "contents": ["x", "y"], "metadata": [{"n": 1}, {"n": 2}]}
    assert 'corpus.parquet: row 2.doc_id: found the id "a" again' in faults(qa(tmp_path, twice))
