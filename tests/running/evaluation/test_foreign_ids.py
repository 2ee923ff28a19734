"""Labels by chunk id that no hit has: the evaluation says so, and why that may be."""

from __future__ import annotations

import pytest

from raglift.running.evaluation import evaluate
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

DATA = Dataset((Query("q", "Who keeps the lamp?", (Fact((Passage(chunk_id="lamp#1"),)),)),))
BEGINNING = "labels name 1 chunk id, as 'lamp#1', and no hit has one of them: "
HOW = "return them as {'id': …, 'text': …} or rl.Chunk(text, id=…)"


@pytest.mark.parametrize(
    ("hits", "why"),
    [
        (["lamp#1", "lamp#2"], f"the text of a hit is 'lamp#1': if texts are ids, {HOW}"),
        (["The keeper trims the lamp."], f"hits have no ids of their own: {HOW}"),
        ([Chunk("The keeper trims the lamp.", id="7")], "the first hit with an id of its own has '7'"),
    ],
)
def test_ids_that_never_come_back_are_told_with_a_likely_reason(hits: list[str | Chunk], why: str) -> None:
    evaluation = evaluate(lambda query: hits, DATA)
    assert BEGINNING + why in evaluation.notes


@pytest.mark.parametrize("hits", [[], [Chunk("The museum opens.", id="m"), Chunk("A lamp.", id="lamp#1")]])
def test_nothing_is_said_where_one_came_back_or_nothing_did(hits: list[Chunk]) -> None:
    evaluation = evaluate(lambda query: hits, DATA)
    assert not [note for note in evaluation.notes if note.startswith("labels name")]


def test_labels_that_are_texts_have_nothing_to_do_with_ids() -> None:
    evaluation = evaluate(lambda query: ["The museum opens."], Dataset.from_dict({"Who?": ["the keeper"]}))
    assert not [note for note in evaluation.notes if note.startswith("labels name")]
