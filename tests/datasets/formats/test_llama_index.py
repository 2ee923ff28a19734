from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.datasets.loading import load_dataset
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Fact, Passage, Query


def test_each_reference_context_is_a_fact(fixtures: Path) -> None:
    dataset = load_dataset(fixtures / "llama-index" / "rag_dataset.json")
    assert dataset.name == "rag_dataset"
    assert dataset.documents == ()
    assert dataset.queries == (
        Query(
            "q1",
            "What does the harbour master do when a gale is forecast?",
            (
                Fact(
                    (Passage("When a gale of force 8 or more is forecast, the harbour master hoists the black cone."),)
                ),
                Fact((Passage("Boats of under nine metres are then moved to the inner basin."),)),
            ),
            annotator=Annotator("gpt-4", "LlamaIndex", "unknown"),
        ),
        Query("q2", "Who was harbour master before 1990?"),
    )


def test_the_source_texts_can_be_given_where_the_format_has_none(fixtures: Path) -> None:
    text = "When a gale of force 8 or more is forecast, the harbour master hoists the black cone."
    dataset = load_dataset(fixtures / "llama-index" / "rag_dataset.json", documents={"harbour": text})
    assert dataset.documents == (Document("harbour", text),)


def test_pairs_of_queries_and_nodes(fixtures: Path) -> None:
    dataset = load_dataset(fixtures / "llama-index" / "qa_dataset.json")
    assert [document.id for document in dataset.documents] == ["node_0", "node_1"]
    second = dataset.queries[1]
    assert second.id == "7f0de1f4-4c43-4d8f-9a53-4e4b6d1f7c12"
    assert [fact.passages[0].doc_id for fact in second.facts] == ["node_1", "node_0"]
    assert second.facts[0].passages[0].text == dataset.documents[1].text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"examples": [', "rag.json:1: "),
        ({"queries": {}, "texts": {}}, "expected a list of examples, or the objects queries, corpus, relevant_docs"),
        ({"queries": {"a": "?"}, "corpus": {"n": 3}, "relevant_docs": {}}, 'corpus."n": found 3'),
        ({"examples": [3]}, "examples[0]: found 3; expected an object"),
        ({"examples": [{"query": ""}]}, "examples[0].query: found an empty text"),
        ({"examples": [{"query": "x", "reference_contexts": "y"}]}, 'examples[0].reference_contexts: found "y"'),
        ({"examples": [{"query": "x", "reference_contexts": ["y", ""]}]}, "reference_contexts[1]: found an empty text"),
        ({"queries": {"a": 1}, "corpus": {}, "relevant_docs": {}}, 'queries."a": found 1; expected a text'),
        (
            {"queries": {"a": "?"}, "corpus": {}, "relevant_docs": {"b": []}},
            'relevant_docs."b": found an unknown query',
        ),
        (
            {"queries": {"a": "?"}, "corpus": {"n": "x"}, "relevant_docs": {"a": ["n", "m"]}},
            'relevant_docs."a": found "m"; expected an id of the corpus',
        ),
    ],
)
def test_every_fault_has_its_path(value: Any, expected: str, tmp_path: Path, faults: Callable[..., str]) -> None:
    path = tmp_path / "rag.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    message = faults(path, format="llama-index")
    assert "rag.json (read as LlamaIndex): 1 fault;" in message
    assert expected in message
