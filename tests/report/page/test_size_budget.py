"""A page stays small: what matches nothing goes first, what matches is always there, and what is not there is said."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.report.page.query_browser import (
    MAX_BYTES,
    DrillDown,
    QueryDetail,
    ShownChunk,
    ShownHit,
    ShownMatch,
    View,
    ViewDetail,
    packed,
    within,
)

DEPTH = 30


def whole(queries: int = 4, characters: int = 1000, k: int = 5) -> DrillDown:
    """Each query has chunks of its own, in two orders, of which one matches: last before, first after."""
    generator = random.Random(0)  # noqa: S311
    words = ["".join(generator.choices("abcdefghijklmnop", k=generator.randint(2, 9))) for _ in range(5000)]
    chunks = [
        ShownChunk("log", start, start + characters, " ".join(generator.choices(words, k=characters))[:characters], 0)
        for start in range(0, queries * DEPTH * characters, characters)
    ]
    match = ShownMatch(0, 0, 0, True, True, 1.0, characters - 100, characters - 80)
    details = []
    for number in range(queries):
        own = list(range(number * DEPTH, (number + 1) * DEPTH))
        views = tuple(
            ViewDetail(
                tuple(
                    ShownHit(rank, chunk, 1 / rank, (match,) if chunk == own[-1] else ())
                    for rank, chunk in enumerate(order, start=1)
                ),
                DEPTH,
                (1.0,),
                (order.index(own[-1]) + 1,),
            )
            for order in (own, own[::-1])
        )
        details.append(QueryDetail(f"q{number}", "?", (), True, ((),), views, (("found",),)))
    columns = View("", "retrieve", "before"), View("", "rerank", "after")
    return DrillDown(columns, ("",), 0, 1, ("NDCG@5",), 0, k, "coverage", tuple(chunks), tuple(details))


WHOLE = whole()
WORDS = {chunk.start: chunk.text for chunk in WHOLE.chunks}


def size(drill: DrillDown) -> int:
    return -(-len(packed(drill)) // 3) * 4


def hits(drill: DrillDown) -> Iterator[ShownHit]:
    return (hit for query in drill.queries for view in query.views for hit in view.hits)


def test_what_fits_the_budget_is_all_there() -> None:
    assert within(WHOLE, MAX_BYTES) == WHOLE


def test_hits_that_match_nothing_go_first_then_the_ends_of_their_texts() -> None:
    left = within(WHOLE, size(WHOLE) * 2 // 5)
    ranks = [[hit.rank for hit in view.hits] for view in left.queries[0].views]
    # The first five of either ranking, also their locations in the other
    assert ranks == [[*range(1, 6), *range(26, 31)]] * 2
    assert left.queries[0].views[0].returned == DEPTH
    assert left.notes == (
        (
            "to keep the page small, 160 of 240 hits are left out: those of chunks that match nothing of the question, "
            "ranked below 5 in each of its rankings"
        ),
    )
    assert len(left.chunks) == 40
    (_, note) = within(WHOLE, size(WHOLE) // 6).notes
    assert note == (
        "to keep the page small, the texts of 36 of 40 chunks, which match nothing, are cut to 300 characters"
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 90_000))
def test_whatever_the_budget_what_matches_is_there_and_what_is_shown_is_true(room: int) -> None:
    left = within(WHOLE, room)
    assert sum(len(hit.matches) for hit in hits(left)) == 8
    assert size(left) <= room or size(left) < 20_000
    assert {hit.chunk for hit in hits(left)} == set(range(len(left.chunks)))
    for hit in hits(left):
        chunk = left.chunks[hit.chunk]
        known = WORDS[chunk.start]
        assert chunk.text == known[: len(known) - chunk.left_out]
        for match in hit.matches:
            assert chunk.text[match.start : match.end] == known[900:920]
    left_out = sum(1 for _ in hits(WHOLE)) - sum(1 for _ in hits(left))
    assert (left_out > 0) == any(f" {left_out} of 240 hits" in note for note in left.notes)
    assert any(chunk.left_out for chunk in left.chunks) == any("texts" in note for note in left.notes)
