from __future__ import annotations

import pytest

from raglift.errors import DatasetError
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query


def test_the_form_that_tutorials_use() -> None:
    documents = [Document("d", "text")]
    dataset = Dataset.from_dict(
        {"Who?": ["a", ["b1", "b2"]], "Where?": "c", "When?": ("d",), "Why?": []},
        documents=documents,
        name="tutorial",
    )
    assert dataset == Dataset(
        (
            Query("q1", "Who?", (Fact((Passage("a"),)), Fact((Passage("b1"), Passage("b2"))))),
            Query("q2", "Where?", (Fact((Passage("c"),)),)),
            Query("q3", "When?", (Fact((Passage("d"),)),)),
            Query("q4", "Why?"),
        ),
        tuple(documents),
        "tutorial",
    )


def test_every_fault_is_listed() -> None:
    with pytest.raises(DatasetError) as caught:
        Dataset.from_dict({" ": ["a"], "Who?": ["a", ["b", ""], 3, b"c"], "Where?": None})  # type: ignore[dict-item, list-item]
    assert [(fault.where, fault.found) for fault in caught.value.faults] == [
        ('relevant: " "', 'an empty text " "'),
        ('relevant: "Who?"[1][1]', 'an empty text ""'),
        ('relevant: "Who?"[2]', "3"),
        ('relevant: "Who?"[3]', "b'c'"),
        ('relevant: "Where?"', "null"),
    ]


@pytest.mark.parametrize(
    ("given", "documents", "where", "found"),
    [
        ("Who?", (), "relevant", "an object of type str"),
        (["Who?"], (), "dataset[0]", '"Who?"'),
        ([{"question": "Who?", "passages": "a"}], (), "dataset[0]: passages", '"a"'),
        ([{"question": "Who?", "query": "Who?"}], (), "dataset[0]: question", "it beside the field 'query'"),
        ([], (), "relevant", "no questions"),
        ({}, (), "relevant", "no questions"),
        ({"Who?": "a"}, ["a text"], "documents: [0]", "an object of type str"),
    ],
)
def test_what_is_no_dataset_is_one_fault(given: object, documents: list, where: str, found: str) -> None:
    with pytest.raises(DatasetError) as caught:
        Dataset.from_dict(given, documents=documents)  # type: ignore[arg-type]
    assert [(fault.where, fault.found) for fault in caught.value.faults] == [(where, found)]


def test_documents_may_be_none_or_a_mapping_from_their_ids() -> None:
    assert Dataset.from_dict({"Who?": "a"}, documents=None).documents == ()  # type: ignore[arg-type]
    by_id = Dataset.from_dict({"Who?": "a"}, documents={"d": "text"})  # type: ignore[arg-type]
    assert by_id.documents == (Document("d", "text"),)
