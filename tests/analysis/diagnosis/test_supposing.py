"""Match tables under further facts: as if the labels had said that further hits are relevant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.analysis.unjudged import with_facts
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.metrics.profiles.registry import PROFILES
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

NAMES = "abcdefgh"
labels = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3), min_size=1, max_size=4)
ids = st.lists(st.sampled_from(NAMES + "xyz"), max_size=8, unique=True)
cases = st.lists(st.tuples(labels, ids, st.sets(st.sampled_from("xyzw"))), min_size=1, max_size=5)
METRICS = ("ndcg@5", "ndcg", "recall@3", "precision@5", "rr", "ap@5", "f1@5", "rbp@5", "hit_rate@2", "bpref")


def table(labelled, rankings):
    queries = [
        Query(str(number), "?", tuple(Fact((Passage(chunk_id=name, grade=grade),)) for name, grade in of.items()))
        for number, of in enumerate(labelled)
    ]
    found = [Ranking.of((Chunk("text", id=name), None) for name in of) for of in rankings]
    (match_table,) = match_rankings(queries, [found], MatchRule())
    return match_table


@pytest.mark.slow
@given(cases, st.sampled_from(METRICS), st.sampled_from(sorted(PROFILES)), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_every_metric_is_that_of_labels_with_the_further_facts(pairs, metric: str, profile: str, grade: int) -> None:
    added = [(number, name) for number, (_, _, more) in enumerate(pairs) for name in sorted(more)]
    query = np.array([number for number, _ in added], dtype=np.int64)
    rankings = [ranking for _, ranking, _ in pairs]
    rank = np.array([rankings[n].index(name) + 1 if name in rankings[n] else 0 for n, name in added], dtype=np.int64)
    known = [of for of, _, _ in pairs]
    found = compute(with_facts(table(known, rankings), query, rank, grade), parse(metric), profile)
    labelled = [of | dict.fromkeys(sorted(more), grade) for of, _, more in pairs]
    np.testing.assert_allclose(found, compute(table(labelled, rankings), parse(metric), profile), atol=1e-12)


def test_nothing_is_added_to_nothing() -> None:
    empty = np.zeros(0, dtype=np.int64)
    assert compute(with_facts(table([], []), empty, empty), parse("ndcg")).tolist() == []


@pytest.mark.parametrize("count", [0, 1])
def test_few_passages(count: int) -> None:
    one = np.ones(count, dtype=np.int64)
    found = compute(with_facts(table([{"a": 1}], [["x", "a"]]), one * 0, one), parse("recall@1"))
    assert found.tolist() == [count / 2]
