"""Searches of an agent as calls of a session, whatever its framework."""

from __future__ import annotations

from typing import Any

import pytest

from raglift.adapters.agents import Search, UnderWay, call_of
from raglift.types.documents import Chunk

LAMP, HORN = Chunk("The lamp is lit at dusk."), Chunk("The horn sounds in the fog.")


@pytest.mark.parametrize(
    ("arguments", "asked", "query", "others"),
    [
        ({"query": "lamp", "place": "isle"}, None, "lamp", {"place": "isle"}),
        ({"wanted": "lamp", "most": 3}, None, "lamp", {"most": 3}),
        ({"place": "isle", "wanted": "lamp"}, "lamp", "lamp", {"place": "isle"}),
        ({"place": "isle", "year": "1900"}, "lamp", "lamp", {"place": "isle", "year": "1900"}),
        ({"words": ["lamp"], "self": object()}, None, '{"words": ["lamp"]}', {"words": ["lamp"]}),
        ({}, None, "", {}),
    ],
)
def test_what_was_searched_for_is_told_from_the_other_arguments(
    arguments: dict[str, Any], asked: str | None, query: str, others: dict[str, Any]
) -> None:
    call = call_of(Search("search", arguments, asked))
    assert (call.tool, call.query, call.arguments) == ("search", query, others)


def test_what_a_tool_hands_on_in_another_order_is_a_stage_with_the_rest_of_the_time() -> None:
    found = ((LAMP, 0.5), (HORN, 0.25))
    search = Search("search", asked="lamp", stages=(found,), handed_on=found[::-1], seconds=(0.25,), whole=1.0)
    stages = call_of(search).stages
    assert [(stage.stage, stage.seconds) for stage in stages] == [("retrieve", 0.25), ("rerank", 0.75)]
    assert [stage.ranking.chunks for stage in stages] == [(LAMP, HORN), (HORN, LAMP)]


def test_calls_that_cannot_be_read_are_none() -> None:
    under_way = UnderWay()
    under_way.begin(lambda: (call_of(Search("search", {"query": "lamp"})),))
    assert [call.query for call in under_way.calls()] == ["lamp"]
    under_way.begin(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert under_way.calls() == ()
