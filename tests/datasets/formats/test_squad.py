from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raglift.datasets.loading import load_dataset
from raglift.types.labels import Fact, Passage


@pytest.fixture
def source(fixtures: Path) -> Path:
    return fixtures / "squad" / "dev-v2.0.json"


def test_a_file_is_recognized_and_read(source: Path) -> None:
    dataset = load_dataset(source)
    assert dataset.name == "dev-v2.0"
    assert [document.id for document in dataset.documents] == ["Marrow_Light/0", "Marrow_Light/1", "Outer_Skerry/0"]
    assert dataset.documents[0].metadata == {"title": "Marrow_Light"}
    first = dataset.query("56ddde6b9a695914005b9628")
    assert first.facts == (
        # the alternatives of one question are one fact, each once
        Fact((Passage("14 October 1861", "Marrow_Light/0", 36, 51), Passage("1861", "Marrow_Light/0", 47, 51))),
    )
    assert dataset.query("56ddde6b9a695914005b9629").facts[0].passages[0].text == "12 miles"


def test_impossible_questions_are_unanswerable_and_those_without_answers_unlabelled(source: Path) -> None:
    dataset = load_dataset(source)
    assert not dataset.query("5ad39d53604f3c001a3fe8d1").answerable
    unlabelled = dataset.query("56ddde6b9a695914005b9631")
    assert unlabelled.answerable
    assert not unlabelled.is_labelled


def squad(folder: Path, *paragraphs: Any, **article: Any) -> Path:
    path = folder / "squad.json"
    path.write_text(json.dumps({"data": [{"paragraphs": list(paragraphs), **article}]}, indent=1), encoding="utf-8")
    return path


def paragraph(context: Any = "Rome is old. Rome is big.", **question: Any) -> dict[str, Any]:
    return {"context": context, "qas": [{"id": "q", "question": "Which city?", "answers": [], **question}]}


def answer(text: Any, start: Any) -> list[dict[str, Any]]:
    return [{"text": text, "answer_start": start}]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (paragraph(answers=answer("Rome", 12)), "another text than stands from 12 to 16 of document/0"),
        (paragraph(answers=answer("Rome", "x")), 'answer_start: found "x"; expected an integer, 0 or more'),
        (paragraph(answers=["Rome"]), 'answers[0]: found "Rome"; expected an integer'),
        (paragraph(answers={"text": ["Rome", "is"], "answer_start": [0]}), "found 2 of passage, 1 of start"),
        (paragraph(answers=answer("Rome", 0), is_impossible=True), "found a passage, and a question that nothing"),
        (paragraph(is_impossible="perhaps"), 'is_impossible: found "perhaps"; expected true or false'),
        (paragraph(context=3), "data[0].paragraphs[0].context: found 3"),
        ({"context": "x"}, "data[0].paragraphs[0].qas: found no such field"),
    ],
)
def test_every_fault_has_its_path(given: Any, expected: str, tmp_path: Path, faults: Callable[..., str]) -> None:
    message = faults(squad(tmp_path, given))
    assert "squad.json (read as SQuAD): 1 fault" in message
    assert expected in message


def test_ids_must_be_unique(tmp_path: Path, faults: Callable[..., str]) -> None:
    message = faults(squad(tmp_path, paragraph() | {"document_id": 7}, paragraph("Rome.") | {"document_id": 7}))
    assert 'paragraphs[1].context: found another text for the document "7"' in message
    assert 'paragraphs[1].qas[0]: found the id "q" of squad.json: data[0].paragraphs[0].qas[0]' in message
