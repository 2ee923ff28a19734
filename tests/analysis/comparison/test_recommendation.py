"""The recommendation of one of several systems: the cheapest that cannot be told from the best, and why."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from raglift.analysis.costs import cheaper_in, cheapest_first
from raglift.errors import ConfigurationError
from raglift.records.rankings import Cost, IndexCost, StageLatency
from raglift.report.recommendation import recommendation_section, recommendation_sentence
from raglift.results.comparison import compare

GOOD = [1, 2] * 40
ALIKE = [1, 2] * 38 + [2, 1] * 2
LOW = [3] * 80


def costing(evaluation, seconds=None, size=1000):
    index = IndexCost(chunks=5, distinct_texts=5, embedded_now=0, seconds=None, bytes=size)
    whole = None if seconds is None else StageLatency("whole", 5, seconds, seconds)
    return replace(evaluation, run=replace(evaluation.run, cost=Cost(whole=whole, index=index)))


@pytest.fixture
def systems(ranked):
    """A dear and a cheap one that are alike, and one that is worse and cheapest."""
    return {
        "dear": costing(ranked(GOOD), 0.200),
        "cheap": costing(ranked([2, 1, *GOOD[2:-2], 2, 2]), 0.010),
        "low": costing(ranked(LOW), 0.001),
    }


def test_the_cheapest_of_those_that_cannot_be_told_from_the_best(systems):
    found = compare(systems, primary="rr@3").recommend()
    assert (found.recommended, found.best, found.decided_by) == ("cheap", "dear", "latency_p50")
    assert [one.system for one in found.equals] == ["cheap", "dear"]
    assert [one.system for one in found.beaten] == ["low"]
    assert recommendation_sentence(found) == (
        "Use cheap: MRR@3 0.744, the cheapest of 2 systems not significantly worse than the best (0.750) on 80 queries."
    )
    assert "The recommended one costs less (p50 latency: 10.0 ms against 200 ms)." in " ".join(str(found).split())
    assert "2 of 3 are not significantly worse than the best" in str(found)


def test_what_was_named_as_a_cost_decides_first(systems):
    known = {"dollars": {"dear": 1.0, "cheap": 2.0, "low": 1.0}}
    found = compare(systems, primary="rr@3").recommend(known=known)
    assert (found.recommended, found.decided_by) == ("dear", None)
    assert recommendation_sentence(found) == "Use dear: MRR@3 0.750, the highest of 3; none as good is cheaper."
    with pytest.raises(ConfigurationError, match="known\\['dollars'\\]: found 'nobody'"):
        compare(systems, primary="rr@3").recommend(known={"dollars": {"nobody": 1.0}})


def test_a_reranker_costs_more_where_nothing_was_timed(ranked):
    plain, reranked = ranked(GOOD), ranked([3] * 80, reranked=ALIKE)
    found = compare({"reranked": reranked, "plain": plain}, primary="rr@3").recommend()
    assert found.recommended == "plain"
    assert found.equals[0].costs["rerankers"] == 0.0
    assert found.equals[1].costs["rerankers"] == 1.0


def test_a_mean_that_is_lower_by_more_than_the_margin_is_not_recommended(ranked):
    few = [1] * 30
    cheaper = [1] * 26 + [2, 3, 3, 3]  # 0.083 lower, and not significant
    systems = {"dear": costing(ranked(few), 0.2), "cheap": costing(ranked(cheaper), 0.01)}
    found = compare(systems, primary="rr@3").recommend()
    assert (found.recommended, [one.system for one in found.too_low]) == ("dear", ["cheap"])
    assert "the best of 2; no cheaper one is within 0.03." in recommendation_sentence(found)
    assert "the other one is not recommended, since more queries may show that it is worse" in " ".join(
        str(found).split()
    )
    assert compare(systems, primary="rr@3").recommend(margin=0.1).recommended == "cheap"
    for margin in (-0.1, float("nan"), True):
        with pytest.raises(ConfigurationError, match="margin: found"):
            compare(systems, primary="rr@3").recommend(margin=margin)


def test_the_only_one_that_may_be_the_best(ranked):
    found = compare({"good": ranked([1] * 60), "low": ranked(LOW[:60])}, primary="rr@3").recommend()
    assert recommendation_sentence(found) == "Use good: MRR@3 1.000, significantly the best of 2."
    assert found.of("low").p <= 0.05


def test_few_queries_recommend_nothing(ranked):
    found = compare({"a": ranked([2] * 8), "b": costing(ranked([1] * 8), 1.0)}, primary="rr@3").recommend()
    assert (found.recommended, found.is_decided, found.confirmation) == ("b", False, None)
    assert recommendation_sentence(found) == (
        "b has the highest MRR@3 (1.000), but 8 queries are too few to recommend it."
    )


def test_systems_that_return_too_few_hits_and_queries_without_labels_take_no_part(ranked):
    systems = {"a": ranked(GOOD), "cut": ranked([1] * 80, top_n=2), "b": ranked(LOW)}
    found = compare(systems, primary="rr@3").recommend()
    assert (found.recommended, found.left_out, found.systems) == ("a", ("cut",), 2)
    unlabelled = {name: ranked([1] * 5, unlabelled=range(5)) for name in ("a", "b")}
    nothing = compare(unlabelled, primary="rr@3").recommend()
    assert nothing.recommended is None
    assert "\nNo recommendation: no query counts in MRR@3" in str(nothing)


def test_the_recommendation_of_one_half_is_measured_on_the_other(systems):
    held = compare(systems, primary="rr@3").recommend().confirmation
    assert (held.other, held.is_cheapest, held.verdict) == ("low", True, "better")
    assert (len(held.selection), len(held.held_out)) == (40, 40)
    assert not {*held.selection} & {*held.held_out}
    assert held.difference.mean == pytest.approx(held.mean - held.other_mean)


@pytest.mark.parametrize(
    ("ranks", "reranked", "advice"),
    [
        ([1] * 20 + [3] * 20, None, "try a reranker: all"),
        ([None] * 20 + [1] * 20, None, "try another retriever, or larger chunks"),
        ([1] * 40, None, "all 40 facts are found by rank 1"),
        ([1] * 40, [1] * 20 + [3] * 20, "try another reranker, or more hits in the prompt"),
    ],
)
def test_what_to_try_next_is_what_most_facts_are_lost_by(ranked, ranks, reranked, advice):
    low = ranked([5] * 40)
    found = compare({"low": low, "good": ranked(ranks, reranked=reranked)}, primary="rr@1").recommend()
    assert found.recommended == "good"
    told = next(line for line in recommendation_section(found).paragraphs if line.startswith("Next: "))
    assert advice.replace(": all", "") in told


@pytest.mark.parametrize("words", [1, 7, 40])
def test_the_sentence_has_at_most_30_words_whatever_systems_are_called(systems, words):
    renamed = {" ".join([name, *["·"] * (words - 1)]): one for name, one in systems.items()}
    for comparison in (compare(renamed, primary="rr@3"), compare(dict(list(renamed.items())[1:]), primary="rr@3")):
        assert len(re.split(r"\s+", recommendation_sentence(comparison.recommend()).strip())) <= 30


def test_costs_within_a_tenth_are_the_same_and_the_next_one_decides():
    costs = {
        "a": {"latency_p50": 1.00, "index_bytes": 500.0},
        "b": {"latency_p50": 1.05, "index_bytes": 100.0},
        "c": {"latency_p50": 2.00, "index_bytes": 1.0},
    }
    assert cheapest_first(costs, dict.fromkeys(costs, 0.5)) == ["b", "a", "c"]
    assert cheaper_in(costs["b"], costs["a"]) == "index_bytes"
    assert cheaper_in(costs["c"], costs["a"]) is None
    same = {"a": {"rerankers": 0.0}, "b": {"rerankers": 0.0}}
    assert cheapest_first(same, {"a": 0.4, "b": 0.6}) == ["b", "a"]


def test_a_cost_that_is_not_known_of_all_is_not_looked_at():
    costs = {"a": {"rerankers": 1.0}, "b": {"embedding": 0.0, "rerankers": 0.0}}
    assert cheapest_first(costs, {"a": 0.9, "b": 0.1}) == ["b", "a"]


def test_a_frame_has_all_systems(systems):
    frame = compare(systems, primary="rr@3").recommend().to_frame()
    assert frame.system.tolist() == ["cheap", "dear", "low"]
    assert frame.may_be_best.tolist() == [True, True, False]
    assert frame.recommended.tolist() == [True, False, False]
    assert frame.latency_p50.tolist() == [0.010, 0.200, 0.001]
