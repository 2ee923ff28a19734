from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.matching.match import inventory_of, match_rankings, span_upper_bound_of
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

SIZE = 300
TEXTS = {
    name: "".join(np.random.default_rng(seed).choice(list("abcdefghijklmnopqrstuvwxyz"), SIZE))
    for seed, name in enumerate(("d", "e"))
}
Interval = tuple[str, int, int]
"""Document, start, end."""


def chunk(place: Interval) -> Chunk:
    name, start, end = place
    return Chunk(TEXTS[name][start:end], doc_id=name, start=start, end=end)


def passage(place: Interval) -> Passage:
    name, start, end = place
    return Passage(TEXTS[name][start:end], name, start, end)


def value(
    metric: str,
    facts: list[list[Interval]],
    hits: list[Interval],
    chunks: list[Interval] | None = None,
    mode: str = "coverage",
) -> float:
    query = Query("q", "?", tuple(Fact(tuple(map(passage, fact))) for fact in facts))
    rule = MatchRule.for_profile("default", mode)
    documents = [Document(name, text) for name, text in TEXTS.items()]
    reach = None
    if chunks is not None:
        reach = span_upper_bound_of([query], inventory_of([query], list(map(chunk, chunks)), documents, rule), rule)
    rankings = [[Ranking.of((chunk(place), None) for place in hits)]]
    (match_table,) = match_rankings([query], rankings, rule, reach=reach)
    return float(compute(match_table, parse(metric))[0])


FACT = [[("d", 100, 200)]]


@pytest.mark.parametrize("mode", ["coverage", "containment"])
def test_recall_precision_and_iou_count_characters(mode: str) -> None:
    hits = [("d", 50, 120), ("d", 150, 250), ("e", 0, 80)]
    for k, covered, returned in [(1, 20, 70), (2, 70, 170), (3, 70, 250), (9, 70, 250)]:
        assert value(f"span_recall@{k}", FACT, hits, mode=mode) == covered / 100
        assert value(f"span_precision@{k}", FACT, hits, mode=mode) == covered / returned
        assert value(f"span_iou@{k}", FACT, hits, mode=mode) == covered / (returned + 100 - covered)


def test_what_hits_share_counts_once_above_and_twice_below() -> None:
    hits = [("d", 100, 160), ("d", 140, 200)]
    assert value("span_recall", FACT, hits) == 1
    assert value("span_precision", FACT, hits) == 100 / 120


def test_of_alternatives_the_best_covered_counts() -> None:
    fact = [[("d", 0, 100), ("d", 200, 240), ("e", 0, 10)]]
    hits = [("d", 50, 110), ("d", 210, 240)]
    assert value("span_recall@1", fact, hits) == 50 / 100
    assert value("span_recall@2", fact, hits) == 30 / 40
    assert value("span_precision@2", fact, hits) == 30 / 90
    assert value("span_recall@2", fact, [("e", 100, 200)]) == 0


def test_what_facts_share_counts_once() -> None:
    facts = [[("d", 100, 200)], [("d", 150, 250)]]
    assert value("span_precision", facts, [("d", 100, 250)]) == 1
    assert value("span_recall", facts, [("d", 100, 200)]) == 100 / 150
    assert value("span_precision", [*FACT, *FACT], [("d", 100, 200)]) == 1


def test_omega_is_the_best_that_the_chunking_allows() -> None:
    chunks = [("d", 0, 110), ("d", 90, 150), ("d", 150, 190), ("d", 210, 300), ("e", 0, 300)]
    # The first three touch the passage: 190 characters of the source, 90 of the passage; 10 lie in no chunk
    assert value("span_precision_omega", FACT, [], chunks) == 90 / (190 + 10)
    assert value("span_precision_omega", FACT, [("e", 0, 300)], chunks) == 90 / 200


def test_omega_needs_the_chunks() -> None:
    with pytest.raises(ConfigurationError, match="span_precision_omega: found a system whose chunks are not known"):
        value("span_precision_omega", FACT, [])


def test_a_query_with_chunk_ids_alone_is_left_out() -> None:
    query = Query("q", "?", (Fact((Passage(chunk_id="c"),)),))
    (match_table,) = match_rankings([query], [[Ranking.of([(Chunk("c", id="c"), None)])]], MatchRule())
    assert math.isnan(compute(match_table, parse("span_recall@1"))[0])


def meet(first: Interval, second: Interval) -> bool:
    """Whether two intervals share a character, or one begins where the other ends."""
    return first[0] == second[0] and first[1] <= second[2] and second[1] <= first[2]


places = st.tuples(st.sampled_from(["d", "e"]), st.integers(0, SIZE - 1), st.integers(1, 120)).map(
    lambda place: (place[0], place[1], min(place[1] + place[2], SIZE))
)


@pytest.mark.slow
@given(st.lists(places, min_size=1, max_size=3), st.lists(places, max_size=6), st.integers(1, 7))
def test_sets_of_characters_give_the_same(spans: list[Interval], hits: list[Interval], k: int) -> None:
    def characters(intervals: list[Interval]) -> set[tuple[str, int]]:
        return {(name, place) for name, start, end in intervals for place in range(start, end)}

    facts = [[span] for span in spans]
    wanted, found = characters(spans), characters(hits[:k])
    covered, returned = len(wanted & found), sum(end - start for _, start, end in hits[:k])
    assert value(f"span_recall@{k}", facts, hits) == pytest.approx(covered / len(wanted))
    assert value(f"span_precision@{k}", facts, hits) == pytest.approx(covered / returned if returned else 0)
    assert value(f"span_iou@{k}", facts, hits) == pytest.approx(covered / (returned + len(wanted) - covered))
    touching = characters([hit for hit in hits if any(meet(hit, span) for span in spans)])
    union = len(touching | wanted)
    assert value("span_precision_omega", facts, [], hits) == pytest.approx(len(touching & wanted) / union)
