"""Decisions about labels: applied to what they are about, and refused where they do not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.updating.by_hand import LAMP, NEW, NEW_OIL, OIL, OLD, decision, moved, span, undecided, updated

from raglift.errors import DatasetError
from raglift.types import Annotator, Passage
from raglift.updating import LabelUpdate


def test_a_chosen_candidate_becomes_the_passage_with_its_grade(lights: LabelUpdate) -> None:
    assert (lights.waiting, len(lights.updated)) == (("oil", "gulls"), 1)
    decided = lights.decide([decision(lights.passages[1])])
    oil = decided.passages[1]
    assert (oil.kind, oil.decided, oil.new) == ("edited", True, span(NEW, NEW_OIL, grade=2))
    assert [each.query_id for each in decided.undecided] == ["gulls"]
    assert [query.id for query in decided.updated] == ["lamp", "oil"]
    assert lights.passages[1].new is None  # the old update is as it was


def test_who_judged_a_passage_and_the_form_of_a_text_stay() -> None:
    judge = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
    literal, named = Passage(OIL, annotator=judge), Passage(OIL, "lamp.md")
    update = updated(
        {"q1": [literal], "q2": [named]},
        [undecided("q1", literal, span(NEW, NEW_OIL)), undecided("q2", named, span(NEW, NEW_OIL))],
    )
    decided = update.decide([decision(each) for each in update.passages])
    assert decided.passages[0].new == Passage(NEW_OIL, annotator=judge)
    assert decided.passages[1].new == Passage(NEW_OIL, "tower.md")


def test_dropped_labels_remove_their_fact_and_the_question_that_has_no_other() -> None:
    lamp, oil = span(OLD, LAMP), span(OLD, OIL)
    update = updated(
        {"both": [lamp, oil], "oil": [oil], "either": [[lamp, oil]]},
        [
            moved("both", lamp, span(NEW, LAMP)),
            undecided("both", oil, where="relevant[1]"),
            undecided("oil", oil),
            undecided("either", lamp, where="relevant[0][0]"),
            undecided("either", oil, span(NEW, NEW_OIL), where="relevant[0][1]"),
        ],
    )
    assert update.waiting == ("both", "oil", "either")
    dropped = update.decide([decision(each, None) for each in update.passages[1:4]])
    assert dropped.waiting == ("either",)  # one of its two labels is not decided
    assert [(query.id, len(query.facts)) for query in dropped.updated] == [("both", 1)]
    assert dropped.to_frame()["decided"].tolist() == [False, True, True, True, False]
    chosen = dropped.decide([decision(update.passages[4])])
    assert [query.id for query in chosen.updated] == ["both", "either"]
    assert chosen.waiting == ()


def test_a_file_is_read_line_by_line(lights: LabelUpdate, tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    lines = [decision(lights.passages[1]), decision(lights.passages[2], None)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    decided = lights.decide(path)
    assert [each.decided for each in decided.passages] == [False, True, True]
    assert [query.id for query in decided.updated] == ["lamp", "oil"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"query": "oyl"}, "[0].query"),
        ({"where": "relevant[1]"}, "[0].where"),
        ({"old": "000000000000"}, "[0].old"),
        ({"choose": "this one"}, "[0].choose"),
        ({"choose": {"doc": "tower.md", "start": 0, "end": 7}}, "[0].choose"),
        ({"choose": {"doc": "lamp.md", "start": 0, "end": 6, "text": "# Lamp"}}, "[0].choose.doc"),
        ({"choose": {"doc": "tower.md", "start": 0, "end": 7, "text": "# Lamps"}}, "[0].choose.text"),
        ({"choose": {"doc": "tower.md", "start": 7, "end": 9, "text": "\n\n"}}, "[0].choose.text"),
        ({"choose": {"doc": "tower.md", "start": 7, "end": 10_000, "text": "x"}}, "[0].choose"),
        ({"choose": {"doc": "tower.md", "start": "0", "end": 7, "text": "# Tower"}}, "[0].choose.start"),
        ({"old": 7}, "[0].old"),
        ({"note": "sure"}, "[0].note"),
    ],
)
def test_what_does_not_fit_is_a_fault_with_its_place(lights: LabelUpdate, change: dict[str, Any], where: str) -> None:
    with pytest.raises(DatasetError) as refused:
        lights.decide([{**decision(lights.passages[1]), **change}, decision(lights.passages[2], None)])
    assert [fault.where for fault in refused.value.faults] == [f"decisions: {where}"]


def test_every_fault_is_listed(lights: LabelUpdate, tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    one = decision(lights.passages[2], None)
    lines = [one, one, {**one, "query": "other"}, {"query": "oil"}, []]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with pytest.raises(DatasetError) as refused:
        lights.decide(path)
    assert [fault.where.partition(":")[2][:1] for fault in refused.value.faults] == [*"23", *"444", "5"]
    for nothing in ("", "\n"):
        path.write_text(nothing, encoding="utf-8")
        with pytest.raises(DatasetError, match="no decisions"):
            lights.decide(path)
    with pytest.raises(DatasetError, match="found 7; expected a mapping"):
        lights.decide([7])  # type: ignore[list-item]
    with pytest.raises(DatasetError, match="readable"):
        lights.decide(tmp_path / "none.jsonl")


def test_a_chunk_id_can_be_replaced_by_a_text() -> None:
    chunk = Passage(chunk_id="c7")
    update = updated({"q1": [chunk]}, [replace(undecided("q1", chunk, span(NEW, LAMP)), kind="gone")])
    assert update.decide([decision(update.passages[0])]).passages[0].new == span(NEW, LAMP)
