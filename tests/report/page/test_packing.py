"""What a page carries of its queries can be read back by a browser, whatever the corpus holds."""

from __future__ import annotations

import gzip
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.report.page.query_browser import (
    DrillDown,
    QueryDetail,
    ShownChunk,
    ShownHit,
    ShownMatch,
    View,
    ViewDetail,
    packed,
)
from raglift.types.checking import trusted
from raglift.types.labels import Passage


def one_query(text: str = "the lamp", *, value: float = 0.5, score: float | None = 0.25) -> DrillDown:
    match = ShownMatch(0, 0, 0, True, True, 2 / 3, 4, 8)
    placed = {"text": text, "doc_id": "log", "start": 3, "end": 11, "grade": 2}
    query = QueryDetail(
        id="q",
        text=text,
        tags=(text,),
        answerable=True,
        facts=((trusted(Passage, placed), trusted(Passage, {"chunk_id": text})),),  # as an older run may have them
        views=(ViewDetail((ShownHit(1, 0, score, (match,)), ShownHit(2, 1, None, ())), 2, (value,), (1,)),) * 2,
        all_outcomes=(("found",),),
    )
    return DrillDown(
        views=(View("", "retrieve", "before (retrieve)"), View("", "rerank", text)),
        systems=(text,),
        left=0,
        right=1,
        metrics=("NDCG@10",),
        primary=0,
        k=10,
        match="containment",
        chunks=(ShownChunk("log", 0, 8, text, 0), ShownChunk("", None, None, "nothing", 5)),
        queries=(query,),
        notes=(text,),
    )


def read(drill: DrillDown) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress(packed(drill)).decode("utf-8"))
    return content


def test_it_has_the_agreed_form() -> None:
    hits = [[1, 0, 0.25, [[0, 0, 0, 1, 1, 0.6667, 4, 8]]], [2, 1, None, []]]
    view = {"hits": hits, "returned": 2, "values": [0.5], "facts": [1]}
    passage = {"doc_id": "log", "start": 3, "end": 11, "text": "the lamp", "grade": 2}
    named = {"chunk_id": "the lamp"}
    assert read(one_query()) == {
        "views": [
            {"system": "", "stage": "retrieve", "title": "before (retrieve)"},
            {"system": "", "stage": "rerank", "title": "the lamp"},
        ],
        "systems": ["the lamp"],
        "left": 0,
        "right": 1,
        "metrics": ["NDCG@10"],
        "primary": 0,
        "k": 10,
        "match": "containment",
        "notes": ["the lamp"],
        "neutral": [],
        "chunks": [["log", 0, 8, "the lamp", 0], ["", None, None, "nothing", 5]],
        "queries": [
            {
                "id": "q",
                "text": "the lamp",
                "tags": ["the lamp"],
                "answerable": True,
                "facts": [[passage, named]],
                "all_outcomes": [["found"]],
                "views": [view, view],
            }
        ],
    }


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_packed(text: str) -> None:
    assert read(one_query(text))["queries"][0]["text"] == "".join(
        "\ufffd" if 0xD800 <= ord(letter) < 0xE000 else letter for letter in text
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_json_is_null(value: float) -> None:
    query = read(one_query(value=value, score=value))["queries"][0]
    assert query["views"][0]["values"] == [None]
    assert query["views"][0]["hits"][0][2] is None


@pytest.mark.parametrize(
    ("score", "shown"), [(23.456789, 23.46), (1 / 61, 0.01639), (-0.0, 0), (1e300, 1e300), (7.0, 7)]
)
def test_a_score_has_the_digits_that_anyone_reads(score: float, shown: float) -> None:
    assert read(one_query(score=score))["queries"][0]["views"][0]["hits"][0][2] == shown
