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
    evaluation_sentence,
    failure_analysis_depth,
    failure_analysis_sentence,
    failure_sentence,
    held_out_sentence,
    lift_sentence,
    one_stage_sentence,
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


def test_a_reranker_that_helps_raised_the_metric_by_more_than_noise(ranked):
    lift = ranked(UP, reranked=DOWN).reranker_lift("rr@3")
    found = lift.row().difference
    assert lift_sentence(lift) == (
        f"Reranking raised MRR@3 from 0.444 to 0.917 (+0.472, 95 % interval +{found.low:.3f} to +{found.high:.3f}; "
        f"p = {found.p:.4f}): more than noise on 36 queries."
    )


def test_a_reranker_that_hurts_lowered_it(ranked):
    text = lift_sentence(ranked(DOWN, reranked=UP).reranker_lift("rr@3", confidence=0.9))
    assert re.match(
        r"Reranking lowered MRR@3 from 0\.917 to 0\.444 \(-0\.472, 90 % interval -0\.\d+ to -0\.\d+; ", text
    )
    assert text.endswith(": more than noise on 36 queries.")


def test_what_may_be_noise_is_said_with_what_so_many_queries_could_show(ranked):
    lift = ranked([2, 1, 2, 1], reranked=[1, 2, 1, 1]).reranker_lift("rr@3")
    text = lift_sentence(lift)
    assert text.startswith("Reranking moved MRR@3 from 0.750 to 0.875 (+0.125")
    assert text.endswith(": not significant on 4 queries.")  # so few can show nothing
    many = ranked([2, 1, 2, 1] * 5, reranked=[1, 2, 1, 1] * 5).reranker_lift("rr@3")
    assert lift_sentence(many).endswith(
        f": not significant on 20 queries (minimum detectable effect {many.row().minimum_detectable_effect:.3f})."
    )
    even = lift_sentence(ranked([2, 1], reranked=[1, 2]).reranker_lift("rr@3"))
    assert even.startswith("Reranking left MRR@3 at 0.750 on average (0.000, ")


def test_a_reranker_that_changes_nothing_and_one_query(ranked):
    assert lift_sentence(ranked([1, 2], reranked=[1, 2]).reranker_lift("rr@3")) == (
        "Reranking changed MRR@3 of no query: it stays at 0.750 on 2 queries."
    )
    one = lift_sentence(ranked([2], reranked=[1]).reranker_lift("rr@3"))
    assert one == "Reranking moved MRR@3 from 0.500 to 1.000 (+0.500; p = 1.0000): not significant on 1 query."


def test_no_fair_pair_and_no_labelled_query_say_nothing_of_the_lift(ranked):
    cut = ranked([1, 2, 3], reranked=[1, 1, 1], top_n=2).reranker_lift("rr@3")
    assert lift_sentence(cut) == (
        "MRR@3 before and after reranking is no fair pair, because rerank returned no more than 2 hits, whatever was "
        "asked: nothing is said about the lift."
    )
    nothing = ranked([1], reranked=[1], unlabelled=[0])
    assert evaluation_sentence(nothing, nothing.reranker_lift("rr@3"), parse("rr@3")) == (
        "No query has labels that count, so nothing is said about MRR@3."
    )


def test_one_stage_has_a_mean_and_no_verdict(ranked):
    evaluation = ranked([1, 2, None, 1])
    text = one_stage_sentence(evaluation, parse("rr@3"))
    assert re.fullmatch(
        r"MRR@3 is 0\.625 \(95 % interval 0\.\d{3} to 0\.\d{3}\) on 4 queries; there is no reranker to judge\.", text
    )
    assert "No query has labels" in one_stage_sentence(ranked([1], unlabelled=[0]), parse("rr@3"))


def test_the_whole_sentence_names_the_depth_of_the_metric_and_the_failures(ranked):
    evaluation = ranked([1, 2, 3, None, RuntimeError("down")])
    text = evaluation_sentence(evaluation, None, parse("rr@1"))
    assert "Of 5 facts 1 is found by rank 1; " in text
    assert text.endswith(" 1 of 5 queries failed and counts 0.")
    assert "found by rank 3" in evaluation_sentence(evaluation, None, parse("rr@3"))
    assert failure_sentence(ranked([1, 2])) == ""
    assert failure_analysis_depth(evaluation, parse("rr")) is None


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([("found", 0)], ""),
        ([("found", 43)], "All 43 facts are found by rank 10."),
        ([("found", 1)], "The only fact is found by rank 10."),
        ([("found", 0), ("not_attainable", 1)],
         "The only fact is not found by rank 10: it is not attainable with these chunks."),
        ([("found", 42), ("dropped", 1)],
         "Of 43 facts 42 are found by rank 10; the other one is among the candidates, dropped by rerank."),
        ([("found", 325), ("below_k", 44), ("not_retrieved", 20)],
         "Of 389 facts 325 are found by rank 10; most of the rest (44) are in the last ranking, below rank 10."),
        ([("failed", 2), ("found", 1), ("below_k", 1), ("not_retrieved", 2)],
         ("Of 6 facts 1 is found by rank 10; of the rest, 2 are of queries that failed; 2 in the chunks, not among the "
          "candidates; 1 in the last ranking, below rank 10.")),
        ([("found", 0), ("missed", 7)],
         ("Of 7 facts none is found by rank 10; they are not among the candidates (whether the chunks allow it is not "
          "known).")),
        ([("found", 0), ("below_k", 1), ("not_retrieved", 4)],
         "Of 5 facts none is found by rank 10; most of them (4) are in the chunks, not among the candidates."),
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
    lift = ranked(UP, reranked=DOWN).reranker_lift("rr@3")
    row = lift.rows[0]
    tiny = replace(lift, rows=(replace(row, difference=replace(row.difference, p=1e-6)), *lift.rows[1:]))
    assert "; p < 0.0001)" in lift_sentence(tiny)


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
