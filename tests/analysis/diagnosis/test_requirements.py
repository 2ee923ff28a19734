"""What the best choice of chunks reaches is what judging it says, by every rule."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.analysis import upper_bound as attainable
from raglift.analysis.upper_bound import Alternative, Best, best_facts, requirements_of
from raglift.matching.match import match_rankings
from raglift.matching.matches import Direction
from raglift.matching.overlap import PassageMatch, match_passage
from raglift.matching.rule import MatchRule, Text
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Hit, Ranking

TEXT = "The keeper climbed the  tower at dusk,\n \n trimmed the wick, and wrote the day into his book. "
RULES = (MatchRule(), MatchRule("coverage"), MatchRule("coverage", threshold=0.9))


def chunk(start: int, end: int) -> Chunk:
    return Chunk(TEXT[start:end], doc_id="tower", start=start, end=end)


def span(start: int, end: int) -> Passage:
    return Passage(TEXT[start:end], "tower", start, end)


def best(query: Query, chunks: list[Chunk], rule: MatchRule, k: int) -> Best:
    text = Text(rule)
    overlaps = {
        (place, number): [
            (index, match) for index, each in enumerate(chunks) if (match := match_passage(each, passage, rule, text))
        ]
        for place, fact in enumerate(query.facts)
        for number, passage in enumerate(fact.passages)
    }
    return best_facts(requirements_of(query, overlaps, rule), k)


def judged_best(query: Query, chunks: list[Chunk], rule: MatchRule, k: int) -> int:
    """Return the most facts that any ranking of the chunks satisfies up to rank k."""
    orders = permutations(chunks, min(k, len(chunks)))
    rankings = [Ranking(tuple(Hit(each, rank) for rank, each in enumerate(order, start=1))) for order in orders]
    judged = match_rankings([query] * len(rankings), [rankings], rule)[0]
    recall = float(compute(judged, parse(f"recall@{k}"), "default").max())
    return round(recall * len(query.facts))


spans = st.tuples(st.integers(0, len(TEXT) - 2), st.integers(1, 40)).filter(lambda s: TEXT[s[0] : s[0] + s[1]].strip())
facts = st.lists(spans.map(lambda s: span(s[0], min(s[0] + s[1], len(TEXT)))), min_size=1, max_size=2)


@settings(deadline=None, max_examples=60)
@given(st.lists(facts, min_size=1, max_size=3), st.lists(spans, max_size=4), st.sampled_from(RULES), st.integers(1, 3))
def test_no_ranking_does_better_and_one_does_as_well(
    labels: list[list[Passage]], cuts: list[tuple[int, int]], rule: MatchRule, k: int
) -> None:
    query = Query("q", "?", tuple(Fact(tuple(passages)) for passages in labels))
    chunks = [chunk(start, min(start + length, len(TEXT))) for start, length in dict.fromkeys(cuts)]
    true = judged_best(query, chunks, rule, k)
    assert best(query, chunks, rule, k) == Best(true, exact=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attainable, "MOST_CHOICES", 0)
        bound = best(query, chunks, rule, k)
    assert bound.facts >= true
    assert bound.facts == true or not bound.exact


def test_a_straddled_passage_needs_both_chunks_by_coverage_and_is_lost_by_containment() -> None:
    query = Query("q", "?", (Fact((span(10, 50),)),))
    halves = [chunk(0, 30), chunk(30, 60)]
    whole = MatchRule("coverage", threshold=1.0)
    assert [best(query, halves, whole, k) for k in (1, 2)] == [Best(0, exact=True), Best(1, exact=True)]
    assert best(query, halves, MatchRule(), 2) == Best(0, exact=True)


def test_white_space_that_no_chunk_holds_does_not_matter() -> None:
    query = Query("q", "?", (Fact((span(4, 18),)),))
    words = [chunk(4, 10), chunk(11, 18)]  # "keeper" and "climbed"
    assert best(query, words, MatchRule("coverage", threshold=1.0), 2).facts == 1


def test_chunk_ids_need_their_chunk_by_any_rule() -> None:
    query = Query("q", "?", (Fact((Passage(chunk_id="a"),)), Fact((Passage(chunk_id="b"),))))
    chunks = [Chunk("x", id="a"), Chunk("y", id="b")]
    for rule in RULES:
        assert [best(query, chunks, rule, k).facts for k in (1, 2)] == [1, 2]


PAIR = Query("q", "?", (Fact((span(0, 20), Passage(chunk_id="c"))),))


def part(start: int, end: int, *, relevant: bool = True) -> PassageMatch:
    return PassageMatch(Direction.OVERLAP, start, end, start, end, relevant)


def test_by_containment_each_relevant_chunk_is_enough() -> None:
    overlaps = {(0, 0): [(7, part(0, 20)), (8, part(0, 4, relevant=False)), (7, part(0, 20))]}
    assert requirements_of(PAIR, overlaps, MatchRule()) == [[Alternative.any_of([7]), Alternative.any_of([])]]


@pytest.mark.parametrize(("threshold", "needed"), [(0.5, 10), (0.51, 11), (1.0, 20), (0.01, 1)])
def test_by_coverage_the_threshold_says_how_many_characters(threshold: float, needed: int) -> None:
    overlaps = {
        (0, 0): [(1, part(0, 4, relevant=False))],
        (0, 1): [(2, PassageMatch(Direction.SAME_ID, 0, 0, 0, 0, True))],
    }
    ((by_text, by_id),) = requirements_of(PAIR, overlaps, MatchRule("coverage", threshold=threshold))
    assert (by_text.needed, by_text.covers) == (needed, ((1, 0, 4),))
    assert by_id == Alternative.any_of([2])
