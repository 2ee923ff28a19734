"""Means and differences on the queries of each tag."""

import pytest

from raglift.metrics.rank_measures import RR
from raglift.results.comparison import compare
from raglift.stats.paired_tests import paired_difference

TAGS = [["hard", "typo"], ["hard"], ["hard"], ["easy"], ["easy"], []]
BASE = [2, 3, None, 1, 2, 1]
OTHER = [1, 1, None, 2, 2, 1]


def test_each_tag_is_a_slice_of_each_system_most_queries_first(ranked):
    systems = {"base": ranked(BASE, tags=TAGS), "other": ranked(OTHER, tags=TAGS)}
    slices = compare(systems, primary="rr@3").by_tag()
    assert (slices.metric, slices.baseline) == (RR @ 3, "base")
    assert slices.tags == ("hard", "easy", "typo", None)
    assert [(one.tag, one.system, one.n) for one in slices.slices] == [
        ("hard", "base", 3),
        ("hard", "other", 3),
        ("easy", "base", 2),
        ("easy", "other", 2),
        ("typo", "base", 1),
        ("typo", "other", 1),
        (None, "base", 1),
        (None, "other", 1),
    ]
    base, other = slices.slices[:2]
    assert base.mean == pytest.approx((1 / 2 + 1 / 3) / 3)
    assert (base.baseline_mean, base.difference) == (None, None)
    assert other.mean == pytest.approx(2 / 3)
    assert other.baseline_mean == pytest.approx(base.mean)
    described = paired_difference([1 / 2, 2 / 3, 0], seed=0)
    assert other.difference.mean == pytest.approx(described.mean)
    assert (other.difference.p, other.difference.n, other.difference.ties) == (described.p, 3, 1)
    assert (slices.slices[3].difference.losses, slices.slices[3].difference.mean) == (1, -0.25)


def test_slices_of_one_evaluation_show_its_lift(ranked):
    slices = ranked(BASE, reranked=OTHER, tags=TAGS).by_tag("rr@3")
    hard = slices.slices[0]
    assert (slices.baseline, hard.system, hard.n) == ("retrieve", "rerank", 3)
    assert hard.baseline_mean == pytest.approx((1 / 2 + 1 / 3) / 3)
    assert hard.difference.mean == pytest.approx((1 / 2 + 2 / 3) / 3)


def test_slices_of_a_system_of_one_stage_are_means_alone(ranked):
    slices = ranked(BASE, tags=TAGS).by_tag("mrr@3")
    assert slices.baseline is None
    assert [(one.baseline_mean, one.difference) for one in slices.slices] == [(None, None)] * 4


def test_there_is_no_difference_without_a_fair_pair(ranked):
    systems = {"base": ranked(BASE, tags=TAGS), "cut": ranked(OTHER, tags=TAGS, top_n=2)}
    slices = compare(systems, primary="rr@3").by_tag()
    assert all(one.difference is None for one in slices.slices)
    assert all(one.difference is None for one in ranked(OTHER, tags=TAGS, top_n=2).by_tag("rr@3").slices)
