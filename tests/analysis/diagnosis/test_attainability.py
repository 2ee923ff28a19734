"""Whether all chunks together satisfy a fact, and when that cannot be told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.analysis.upper_bound import attainable_facts
from raglift.matching.match import inventory_of, match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.measure import first_satisfactions
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book. "
TOWER = Document("tower", TEXT)
RULES = (MatchRule(), MatchRule("coverage"), MatchRule("coverage", threshold=1.0), MatchRule(minimum_length=0))


def chunk(start: int, end: int, *, placed: bool = True) -> Chunk:
    return Chunk(TEXT[start:end], doc_id="tower", start=start, end=end) if placed else Chunk(TEXT[start:end])


def passage(start: int, end: int, *, placed: bool = True) -> Passage:
    return Passage(TEXT[start:end], "tower", start, end) if placed else Passage(TEXT[start:end])


def attainable(queries: list[Query], chunks: list[Chunk], rule: MatchRule) -> list[bool] | None:
    found = attainable_facts(queries, inventory_of(queries, chunks, (TOWER,), rule), rule)
    return None if found is None else found.tolist()


spans = st.tuples(st.integers(0, 80), st.integers(1, 60)).map(lambda s: (s[0], min(s[0] + s[1], 88)))
placed = st.booleans()
chunks = st.lists(st.builds(lambda s, p: chunk(*s, placed=p), spans, placed), max_size=6)
with_words = spans.filter(lambda s: bool(TEXT[slice(*s)].strip()))
facts = st.lists(st.builds(lambda s, p: passage(*s, placed=p), with_words, placed), min_size=1, max_size=2)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.lists(facts, min_size=1, max_size=3), chunks, st.sampled_from(RULES))
def test_a_fact_is_attainable_when_a_ranking_of_all_chunks_satisfies_it(
    labels: list[list[Passage]], index: list[Chunk], rule: MatchRule
) -> None:
    query = Query("q", "?", tuple(Fact(tuple(alternatives)) for alternatives in labels))
    (judged,) = match_rankings([query], [[Ranking.of((each, None) for each in index)]], rule)
    satisfied = set(first_satisfactions(judged).fact.tolist())
    assert attainable([query], index, rule) == [number in satisfied for number in range(len(labels))]


def test_alternatives_are_not_mixed() -> None:
    query = Query("q", "?", (Fact((passage(0, 40), passage(48, 88))),))
    rule = MatchRule("coverage", threshold=0.9)
    assert attainable([query], [chunk(0, 20), chunk(60, 88)], rule) == [False]
    assert attainable([query], [chunk(0, 20), chunk(20, 40)], rule) == [True]


def test_unlabelled_queries_have_no_facts() -> None:
    queries = [Query("a", "?"), Query("b", "?", (Fact((passage(0, 40),)),)), Query("c", "?", answerable=False)]
    assert attainable(queries, [chunk(0, 60)], MatchRule()) == [True]


@pytest.mark.parametrize(
    ("looked_for", "asked", "is_known"),
    [
        (MatchRule(), MatchRule("coverage"), True),
        (MatchRule(), MatchRule(minimum_length=30), True),
        (MatchRule(), MatchRule(minimum_length=19), False),
        (MatchRule(), MatchRule(unicode_folding=True), False),
        (MatchRule(unicode_folding=True), MatchRule(), False),
        (MatchRule("fuzzy"), MatchRule("fuzzy"), False),
        (MatchRule("fuzzy"), MatchRule(), True),
    ],
    ids=str,
)
def test_it_is_told_only_for_what_was_looked_for(looked_for: MatchRule, asked: MatchRule, *, is_known: bool) -> None:
    query = Query("q", "?", (Fact((passage(0, 40),)),))
    inventory = inventory_of([query], [chunk(0, 60)], (TOWER,), looked_for)
    assert (attainable_facts([query], inventory, asked) is not None) == is_known
    assert attainable_facts([query], None, asked) is None
