"""Sentences say what the records hold, in each case that there is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import raglift as rl
from raglift.analysis.outcomes import OutcomeFacts
from raglift.base.display import counted
from raglift.metrics.parsing import parse
from raglift.report.sentences import (
    best_of,
    comparison_sentence,
    failure_analysis_depth,
    failure_analysis_sentence,
    failure_sentence,
    held_out_sentence,
    lift_sentence,
    one_stage_sentence,
    verdict_sentence,
)
from raglift.results.analyses import FailureAnalysis
from raglift.results.comparison import compare

UP, DOWN = [3] * 30 + [1] * 6, [1] * 30 + [2] * 6


def breakdown(*losses: tuple[str, int], k: int = 10) -> FailureAnalysis:
    found = tuple(
        OutcomeFacts(outcome, "rerank" if outcome == "dropped" else None, facts, ("q",) * facts)
        for outcome, facts in losses
    )
    return FailureAnalysis(k, sum(facts for _, facts in losses), found, (), chunks_known=True)


def test_a_reranker_that_helps_and_one_that_hurts(ranked):
    assert lift_sentence(ranked(UP, reranked=DOWN).reranker_lift("rr@3")) == (
        "The reranker helped: MRR@3 rose from 0.444 to 0.917."
    )
    assert lift_sentence(ranked(DOWN, reranked=UP).reranker_lift("rr@3")) == (
        "The reranker hurt: MRR@3 fell from 0.917 to 0.444."
    )


def test_how_often_the_right_passage_comes_first_is_said_where_it_was_scored(ranked):
    metrics = ("rr", "hit_rate")
    assert lift_sentence(ranked(UP, reranked=DOWN, metrics=metrics).reranker_lift("rr@3")) == (
        "The reranker helped: the right passage comes first for 30 of 36 questions, up from 6."
    )
    many = ranked([1, 2] * 100, reranked=[2, 3] * 100, metrics=metrics).reranker_lift("rr@3")
    assert lift_sentence(many) == (
        "The reranker hurt: the right passage comes first for 0 of 100 questions, down from 50."
    )


def test_the_metric_that_decides_is_named_where_the_first_passages_did_not_move_as_it_did(ranked):
    before, after = [3] * 30 + [1], [2] * 30 + [1]
    lift = ranked(before, reranked=after, metrics=("rr", "hit_rate")).reranker_lift("rr@3")
    assert lift_sentence(lift) == "The reranker helped: MRR@3 rose from 0.355 to 0.516."


def test_what_may_be_chance_is_no_finding(ranked):
    assert lift_sentence(ranked([2, 1, 2, 1], reranked=[1, 2, 1, 1]).reranker_lift("rr@3")) == (
        "The reranker made no clear difference: MRR@3 went from 0.750 to 0.875, which may be chance on 4 queries."
    )
    assert lift_sentence(ranked([2, 1], reranked=[1, 2]).reranker_lift("rr@3")) == (
        "The reranker made no clear difference: MRR@3 stays at 0.750 on average, which may be chance on 2 queries."
    )


def test_a_reranker_that_changes_nothing(ranked):
    assert lift_sentence(ranked([1, 2], reranked=[1, 2]).reranker_lift("rr@3")) == (
        "The reranker changed MRR@3 of no query: it stays at 0.750 on 2 queries."
    )


def test_no_fair_pair_and_no_labelled_query_say_nothing_of_the_lift(ranked):
    cut = ranked([1, 2, 3], reranked=[1, 1, 1], top_n=2).reranker_lift("rr@3")
    assert lift_sentence(cut) == (
        "MRR@3 before and after reranking is no fair pair, because rerank returned no more than 2 hits, whatever was "
        "asked: nothing is said about the lift."
    )
    nothing = ranked([1], reranked=[1], unlabelled=[0])
    assert verdict_sentence(nothing, nothing.reranker_lift("rr@3"), parse("rr@3")) == (
        "No query has labels that count, so nothing is said about MRR@3."
    )


def test_one_stage_has_a_mean_and_no_verdict(ranked):
    evaluation = ranked([1, 2, None, 1])
    text = one_stage_sentence(evaluation, parse("rr@3"))
    assert re.fullmatch(r"MRR@3 is 0\.625 \(95 % interval 0\.\d{3} to 0\.\d{3}\) on 4 queries\.", text)
    assert "No query has labels" in one_stage_sentence(ranked([1], unlabelled=[0]), parse("rr@3"))
    rates = ranked([1, 2, None, 1], metrics=("rr", "hit_rate"))
    assert verdict_sentence(rates, None, parse("rr@3")) == (
        "The right passage comes first for 2 of 4 questions and is among the first 3 for 3."
    )


def test_failures_are_counted(ranked):
    assert failure_sentence(ranked([1, 2, 3, None, RuntimeError("down")])) == "1 of 5 queries failed and counts 0."
    assert failure_sentence(ranked([1, 2])) == ""
    assert failure_analysis_depth(ranked([1, 2]), parse("rr")) is None


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([("found", 0)], ""),
        ([("found", 43)], "All 43 facts are found by rank 10."),
        ([("found", 1)], "The only fact is found by rank 10."),
        ([("found", 0), ("not_attainable", 1)],
         "The only fact is not found by rank 10: it is lost in chunking."),
        ([("found", 42), ("dropped", 1)],
         "Of 43 facts 42 are found by rank 10; the other one is dropped by rerank."),
        ([("found", 325), ("below_k", 44), ("not_retrieved", 20)],
         "Of 389 facts 325 are found by rank 10; most of the rest (44) are ranked too low (below 10)."),
        ([("failed", 2), ("found", 1), ("below_k", 1), ("not_retrieved", 2)],
         ("Of 6 facts 1 is found by rank 10; of the rest, 2 are of queries that failed; 2 not retrieved; 1 ranked too "
                "low (below 10).")),
        ([("found", 0), ("missed", 7)],
         ("Of 7 facts none is found by rank 10; they are not retrieved, or lost in "
                "chunking (not known which).")),
        ([("found", 0), ("below_k", 1), ("not_retrieved", 4)],
         "Of 5 facts none is found by rank 10; most of them (4) are not retrieved."),
        ([("found", 1200), ("failed", 300)],
         "Of 1,500 facts 1,200 are found by rank 10; the other 300 are of queries that failed."),
    ],
)  # fmt: skip
def test_where_recall_is_lost(losses, expected):
    assert failure_analysis_sentence(breakdown(*losses)) == expected


def test_the_system_is_named_where_there_are_several():
    assert (
        failure_analysis_sentence(breakdown(("found", 2)), "dense") == "With dense, all 2 facts are found by rank 10."
    )


def test_two_systems_are_a_pair(ranked):
    better = comparison_sentence(rl.compare({"old": ranked(UP), "new": ranked(DOWN)}, primary="rr@3"))
    assert better.startswith("new has a higher MRR@3 than old: 0.917 against 0.444 (+0.472, 95 % interval +0.")
    assert better.endswith("), more than noise on 36 queries.")
    worse = comparison_sentence(rl.compare({"old": ranked(DOWN), "new": ranked(UP)}, primary="rr@3"))
    assert worse.startswith("new has a lower MRR@3 than old: 0.444 against 0.917 (-0.472")
    even = comparison_sentence(rl.compare({"old": ranked([1, 2, 1]), "new": ranked([1, 1, 1])}, primary="rr@3"))
    assert even.startswith("new does not differ significantly from old in MRR@3: 1.000 against 0.833 (+0.167")
    assert even.endswith("which may be noise on 3 queries.")


def test_several_systems_are_counted_and_the_best_is_named(ranked):
    systems = {"old": ranked(UP), "new": ranked(DOWN), "same": ranked(UP), "cut": ranked(UP, top_n=2)}
    comparison = rl.compare(systems, primary="rr@3", baseline="old", hold_out=True)
    text = comparison_sentence(comparison)
    assert text.startswith(
        "Of 3 systems beside old, 1 is better, 1 is not significant and 1 has no fair pair in MRR@3. "
        "The highest mean is that of new: 0.917 against 0.444 (+0.472, "
    )
    assert " after Holm's correction), more than noise on 36 queries." in text
    assert best_of(comparison) == "new"
    held = held_out_sentence(comparison)
    assert held.startswith("The best of the others on one half of the queries, new, was measured on the other 18: 0.")
    assert held.endswith("), better, by more than noise.")


def test_the_baseline_may_be_best_and_nothing_may_be_comparable(ranked):
    best = rl.compare({"old": ranked(DOWN), "new": ranked(UP), "other": ranked(UP)}, primary="rr@3")
    assert comparison_sentence(best).endswith(" old itself has the highest mean, 0.917.")
    assert held_out_sentence(best) == ""
    unfair = rl.compare({"old": ranked([1, 2], top_n=2), "new": ranked([1, 2])}, primary="rr@3")
    assert (
        comparison_sentence(unfair) == "No system has a fair pair with old on MRR@3: nothing is said of a difference."
    )
    blank = ranked([1], unlabelled=[0])
    assert "No query has labels" in comparison_sentence(rl.compare({"a": blank, "b": blank}, primary="rr@3"))


def test_small_p_values_are_written_as_such(ranked):
    comparison = compare({"old": ranked(UP), "new": ranked(DOWN)}, primary="rr@3")
    rows = [replace(row, p_holm=1e-6) if row.p_holm is not None else row for row in comparison.rows]
    assert "; p < 0.0001)" in comparison_sentence(replace(comparison, rows=tuple(rows)))


def test_nouns_have_their_plural():
    assert [counted(1, "query"), counted(2, "query"), counted(1200, "fact")] == ["1 query", "2 queries", "1,200 facts"]


def test_two_systems_that_agree_on_every_query_are_not_called_noise(ranked):
    told = comparison_sentence(compare({"old": ranked([1, 2]), "new": ranked([1, 2])}, primary="rr@3"))
    assert told == (
        "new does not differ significantly from old in MRR@3: both have 0.750 on average, "
        "and each of 2 queries has the same value."
    )


def test_of_equal_means_the_baseline_is_the_best(ranked):
    systems = {"new": ranked([2, 1, 2]), "old": ranked([1, 2, 2]), "worse": ranked([3, 3, 3])}
    assert best_of(compare(systems, baseline="old", primary="rr@3")) == "old"
