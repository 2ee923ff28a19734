"""The recommendation of one of several systems: the cheapest that is shown to be as good, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from raglift.analysis.comparison import halves
from raglift.analysis.costs import cheaper_in, cheapest_first
from raglift.analysis.paired_statistics import Method
from raglift.analysis.recommendation import held_out_check
from raglift.errors import ConfigurationError
from raglift.metrics.parsing import parse
from raglift.rendering.presenting import view_of
from raglift.report.recommendation import recommendation_section, recommendation_sentence
from raglift.results.comparison import compare
from raglift.types.rankings import Cost, IndexCost, StageLatency

pytestmark = pytest.mark.slow

GOOD = [1, 2] * 120
ALIKE = [1, 2] * 118 + [2, 1] * 2
LOW = [3] * 240


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


def test_the_cheapest_that_is_shown_to_be_as_good_is_recommended(systems):
    found = compare(systems, primary="rr@3").recommend()
    assert (found.recommended, found.best, found.decided_by) == ("cheap", "dear", "latency_p50")
    assert found.is_shown
    assert [one.system for one in found.equals] == ["cheap", "dear"]
    assert [one.system for one in found.beaten] == ["low"]
    assert recommendation_sentence(found) == (
        "Use cheap: MRR@3 0.748, the cheapest shown within 0.03 of the best (MRR@3 0.750); confirmed on held-out "
        "questions."
    )
    said = " ".join(str(found).split())
    assert "The recommended one costs less (p50 latency: 10.0 ms against 200 ms)." in said
    assert "2 of 3 are not ruled out as the best" in said
    assert found.of("cheap").lower > -0.03
    assert found.of("low").lower is None


def test_a_system_that_is_worse_on_average_by_less_than_the_margin_may_still_not_be_shown(ranked):
    ranks = [*GOOD[:40], *[3] * 70, *[1] * 122, *[2] * 8]
    systems = {"dear": costing(ranked(GOOD), 0.2), "cheap": costing(ranked(ranks), 0.01)}
    found = compare(systems, primary="rr@3").recommend()
    assert 0.0 < found.of("dear").mean - found.of("cheap").mean < 0.03
    assert (found.recommended, found.is_shown) == ("dear", False)
    assert found.of("cheap").lower < -0.03
    told = "dear leads: MRR@3 0.750, the highest of 2, but not shown within 0.03 of every other (about 1,"
    assert recommendation_sentence(found).startswith(told)


def test_the_highest_mean_is_recommended_where_it_alone_is_shown_to_be_as_good(ranked):
    systems = {"dear": costing(ranked(GOOD), 0.2), "cheap": costing(ranked(LOW), 0.01)}
    found = compare(systems, primary="rr@3").recommend()
    assert (found.recommended, found.is_shown, found.queries_needed) == ("dear", True, None)
    assert recommendation_sentence(found) == (
        "Use dear: MRR@3 0.750, the best of 2, and no cheaper one is shown to match it; confirmed on held-out "
        "questions."
    )


def test_what_was_named_as_a_cost_decides_first(systems):
    known = {"dollars": {"dear": 1.0, "cheap": 2.0, "low": 1.0}}
    found = compare(systems, primary="rr@3").recommend(known=known)
    assert (found.recommended, found.decided_by) == ("dear", None)
    with pytest.raises(ConfigurationError, match="known\\['dollars'\\]: found 'nobody'"):
        compare(systems, primary="rr@3").recommend(known={"dollars": {"nobody": 1.0}})


def test_a_reranker_costs_more_where_nothing_was_timed(ranked):
    plain, reranked = ranked(GOOD), ranked([3] * 240, reranked=ALIKE)
    found = compare({"reranked": reranked, "plain": plain}, primary="rr@3").recommend()
    assert found.recommended == "plain"
    assert found.equals[0].costs["rerankers"] == 0.0
    assert found.equals[1].costs["rerankers"] == 1.0


def test_the_margin_is_how_far_below_counts_as_equally_good(ranked):
    systems = {"dear": costing(ranked([1] * 30), 0.2), "cheap": costing(ranked([1] * 26 + [2, 3, 3, 3]), 0.01)}
    found = compare(systems, primary="rr@3").recommend()  # 0.083 lower, and not significant
    assert (found.recommended, found.of("cheap").may_be_best) == ("dear", True)
    assert compare(systems, primary="rr@3").recommend(margin=0.3).recommended == "cheap"
    for margin in (-0.1, float("nan"), True):
        with pytest.raises(ConfigurationError, match="margin: found"):
            compare(systems, primary="rr@3").recommend(margin=margin)


def test_few_queries_show_nothing_and_how_many_would_is_said(ranked):
    found = compare({"a": ranked([2] * 8), "b": costing(ranked([1, 2] * 4), 1.0)}, primary="rr@3").recommend()
    assert (found.recommended, found.is_shown, found.check) == ("b", False, None)
    assert found.queries_needed > 98
    assert recommendation_sentence(found) == (
        "b leads: MRR@3 0.750, the highest of 2, but not shown within 0.03 of every other (about "
        f"{found.queries_needed:,} questions would show)."
    )


def test_systems_that_return_too_few_hits_and_queries_without_labels_take_no_part(ranked):
    systems = {"a": ranked(GOOD), "cut": ranked([1] * 240, top_n=2), "b": ranked(LOW)}
    found = compare(systems, primary="rr@3").recommend()
    assert (found.recommended, found.left_out, found.systems) == ("a", ("cut",), 2)
    unlabelled = {name: ranked([1] * 5, unlabelled=range(5)) for name in ("a", "b")}
    nothing = compare(unlabelled, primary="rr@3").recommend()
    assert nothing.recommended is None
    assert "\nNo recommendation: no question counts in MRR@3" in str(nothing)


def test_what_one_half_chooses_is_measured_on_the_other(systems):
    check = compare(systems, primary="rr@3").recommend().check
    assert (check.system, check.other, check.verdict) == ("cheap", "dear", "confirmed")
    assert (len(check.selection), len(check.held_out)) == (120, 120)
    assert not {*check.selection} & {*check.held_out}
    assert check.difference.mean == pytest.approx(check.mean - check.other_mean)


def halved(ranked, first, second, queries=80):
    """A system with these ranks on the half of the queries that chooses, and on the other."""
    plain = ranked([1] * queries)
    selection, _ = halves(plain.dataset.queries, 0)
    return ranked([(first if place in selection else second)[place % 2] for place in range(queries)])


def test_nothing_is_recommended_that_held_out_queries_contradict(ranked):
    systems = {"lucky": halved(ranked, [1, 1], [3, 2]), "steady": halved(ranked, [1, 2], [1, 1])}
    found = compare(systems, primary="rr@3").recommend()
    assert (found.check.system, found.check.other, found.check.verdict) == ("lucky", "steady", "contradicted")
    assert (found.recommended, found.is_shown, found.is_contradicted) == (None, False, True)
    assert recommendation_sentence(found).startswith(
        "No recommendation yet: lucky is contradicted by held-out questions"
    )
    assert not found.to_frame().recommended.any()


def test_a_choice_that_is_below_the_runner_up_by_less_than_the_margin_is_not_contradicted():
    method, metric = Method("", 0.95, 0), parse("rr@3")
    values = np.stack([np.full(200, 0.5), np.full(200, 0.5)], axis=1)
    values[:, 1] += np.tile([0.05, 0.15], 100)
    ids = (["a"], ["b"])
    near = held_out_check(("x", "y"), values, ids, metric, method, margin=0.2, recommended="x")
    far = held_out_check(("x", "y"), values, ids, metric, method, margin=0.03, recommended="x")
    other = held_out_check(("x", "y"), values, ids, metric, method, margin=0.2, recommended="y")
    assert near.difference.p < 0.001
    assert [near.verdict, far.verdict, other.verdict] == ["confirmed", "contradicted", "not confirmed"]


def truncating(evaluation, chunks, of=404):
    cost = evaluation.run.cost
    index = replace(cost.index, read_in_part=chunks, distinct_texts=of)
    return replace(evaluation, run=replace(evaluation.run, cost=replace(cost, index=index)))


def test_what_the_recommended_system_truncates_is_said_with_the_best_that_truncates_nothing(systems):
    systems["cheap"] = truncating(systems["cheap"], 86)
    found = compare(systems, primary="rr@3").recommend()
    assert (found.recommended, found.best_without_truncation) == ("cheap", "dear")
    assert found.to_untruncated.mean == pytest.approx(found.of("cheap").mean - found.of("dear").mean)
    assert (found.truncation.chunks, found.truncation.of_chunks) == (86, 404)
    assert "There the embedding model truncates 86 of 404 chunks (21%); dear, the best that" in view_of(found).lead
    assert "86 of 404 chunks (21%)" in " ".join(str(found).split())
    assert "86 of 404 chunks (21%)" in found.to_markdown()


def test_where_every_model_truncates_no_other_system_is_named(systems):
    found = compare({name: truncating(each, 86) for name, each in systems.items()}, primary="rr@3").recommend()
    assert found.best_without_truncation is None
    assert "truncates 86 of 404 chunks (21%); no system reads everything." in view_of(found).lead


@pytest.mark.parametrize(
    ("ranks", "reranked", "advice"),
    [
        ([1] * 20 + [3] * 20, None, "try a reranker: all"),
        ([None] * 20 + [1] * 20, None, "try another retriever, or larger chunks"),
        ([1] * 40, None, "all 40 facts are in the top 1"),
        ([1] * 40, [1] * 20 + [3] * 20, "try another reranker, or more hits in the prompt"),
    ],
)
def test_what_to_try_next_is_what_most_facts_are_lost_by(ranked, ranks, reranked, advice):
    low = ranked([5] * 40)
    found = compare({"low": low, "good": ranked(ranks, reranked=reranked)}, primary="rr@1").recommend()
    assert found.recommended == "good"
    told = next(line for line in recommendation_section(found).paragraphs if line.startswith("Next: "))
    assert advice.replace(": all", "") in told


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


def test_a_frame_has_all_systems(systems):
    frame = compare(systems, primary="rr@3").recommend().to_frame()
    assert frame.system.tolist() == ["cheap", "dear", "low"]
    assert frame.may_be_best.tolist() == [True, True, False]
    assert frame.recommended.tolist() == [True, False, False]
    assert frame.is_shown.tolist() == [True, True, False]
    assert frame.held_out_check.fillna("").tolist() == ["confirmed", "", ""]
    assert frame.latency_p50.tolist() == [0.010, 0.200, 0.001]


def test_a_system_is_found_by_its_name(systems):
    found = compare(systems, primary="rr@3").recommend()
    assert found.of(found.best).system == found.best
    with pytest.raises(ConfigurationError, match="system: found 'nobody'; expected one of '"):
        found.of("nobody")
