"""Judged@k: against a slow reference, and against ir_measures where that is installed."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute, score_rankings
from raglift.metrics.graded_measures import Judged
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric
from raglift.types.rankings import Ranking

NAMES = "abcdefgh"
grades = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3), max_size=6)
ids = st.lists(st.sampled_from(NAMES + "xyz"), max_size=12)
cases = st.lists(st.tuples(grades, ids), min_size=1, max_size=5)
depths = st.integers(1, 14) | st.none()


def judged(*pairs: tuple[dict[str, int], list[str]]) -> MatchTable:
    queries = [
        Query(
            str(number),
            "?",
            tuple(Fact((Passage(chunk_id=name, grade=grade),)) for name, grade in labels.items() if grade),
            judged_irrelevant=tuple(Passage(chunk_id=name, grade=0) for name, grade in labels.items() if not grade),
        )
        for number, (labels, _) in enumerate(pairs)
    ]
    rankings = [Ranking.of((Chunk("text", id=name), None) for name in found) for _, found in pairs]
    (match_table,) = match_rankings(queries, [rankings], MatchRule())
    return match_table


@pytest.mark.slow
@given(cases, depths)
@settings(max_examples=200, deadline=None)
def test_the_share_of_the_first_hits_that_are_labelled_at_all(pairs, k: int | None) -> None:
    found = compute(judged(*pairs), Metric("judged", k))
    for value, (labels, ranking) in zip(found.tolist(), pairs, strict=True):
        first = ranking[:k]
        known = any(labels.values())  # a query without a fact is left out of every mean
        expected = sum(name in labels for name in first) / len(first) if known and first else 0.0
        assert value == pytest.approx(expected, abs=1e-12)


def test_worked_values_of_judged() -> None:
    pair = ({"a": 2, "b": 0, "c": 1}, ["b", "x", "a", "y"])
    values = [float(compute(judged(pair), Judged @ k)[0]) for k in (1, 2, 3, 4, 10)]
    assert values == [1, 1 / 2, 2 / 3, 1 / 2, 1 / 2]  # of 4 hits, not of 10


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3, 10, None])
@given(pairs=cases)
@settings(max_examples=60, deadline=None)
def test_ir_measures_says_the_same(k: int | None, pairs) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    qrels = {str(number): labels for number, (labels, _) in enumerate(pairs) if any(labels.values())}
    rankings = {str(number): list(dict.fromkeys(found)) for number, (_, found) in enumerate(pairs)}
    run = {
        query: {name: float(-place) for place, name in enumerate(found)} for query, found in rankings.items() if found
    }
    measure = ir_measures.Judged if k is None else ir_measures.Judged @ k
    theirs = {found.query_id: found.value for found in ir_measures.iter_calc([measure], qrels, run)} if qrels else {}
    scores = score_rankings(rankings, {str(n): labels for n, (labels, _) in enumerate(pairs)}, [Metric("judged", k)])
    ours = dict(zip(scores.query_ids, scores.values[0].tolist(), strict=True))
    assert {query: value for query, value in ours.items() if not math.isnan(value)} == pytest.approx(theirs, abs=1e-12)
