"""Sentences say what the records hold, in each case that there is."""

from __future__ import annotations

import re

import pytest

import raglift as rl
from raglift.analysis import FailureAnalysis
from raglift.analysis.outcomes import OutcomeFacts
from raglift.errors import QueryFailed
from raglift.metrics.parsing import parse
from raglift.report.sentences import (
    best_of,
    comparison_sentence,
    failure_analysis_depth,
    failure_analysis_sentence,
    failure_sentence,
    lift_sentence,
    next_step,
    one_stage_sentence,
    short_name,
)
from raglift.results.comparison import compare


def breakdown(*losses: tuple[str, int], k: int = 10) -> FailureAnalysis:
    found = tuple(
        OutcomeFacts(outcome, "rerank" if outcome == "dropped" else None, facts, ("q",) * facts)
        for outcome, facts in losses
    )
    return FailureAnalysis(k, sum(facts for _, facts in losses), found, (), chunks_known=True)


UP, DOWN = [3] * 30 + [1] * 6, [1] * 30 + [2] * 6
FIRST = ("rr", "hit_rate")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "options", "sentence"),
    [
        pytest.param(UP, DOWN, {}, "helped: MRR@3 rose from 0.444 to 0.917.", id="better"),
        pytest.param(DOWN, UP, {}, "hurt: MRR@3 fell from 0.917 to 0.444.", id="worse"),
        pytest.param(
            UP, DOWN, {"metrics": FIRST},
            "helped: the right passage comes first for 83% of questions, up from 17% (MRR@3 from 0.444 to "
            "0.917, significant).", id="first passages",
        ),
        pytest.param(
            [1, 2] * 100, [2, 3] * 100, {"metrics": FIRST},
            "hurt: the right passage comes first for 0% of questions, down from 50% (MRR@3 from 0.750 to "
            "0.417, significant).", id="of a hundred",
        ),
        pytest.param(
            [3] * 30 + [1], [2] * 30 + [1], {"metrics": FIRST},
            "helped: MRR@3 rose from 0.355 to 0.516.", id="first passages did not move",
        ),
        pytest.param(
            [2, 1, 2, 1], [1, 2, 1, 1], {},
            "made no clear difference: MRR@3 went from 0.750 to 0.875; with 4 questions this may be chance.",
            id="chance",
        ),
        pytest.param(
            [2, 1], [1, 2], {},
            "made no clear difference: MRR@3 stays at 0.750 on average; with 2 questions this may be chance.",
            id="same mean",
        ),
        pytest.param(
            [1, 2], [1, 2], {},
            "did not change MRR@3 for any question: it stays at 0.750 on 2 questions.", id="no change",
        ),
    ],
)  # fmt: skip
def test_what_a_reranker_did(ranked, before, after, options, sentence):
    lift = ranked(before, reranked=after, **options).reranker_lift("rr@3")
    assert lift_sentence(lift) == f"The reranker {sentence}"


def test_without_a_fair_pair_or_labels_no_lift_is_reported(ranked):
    cut = ranked([1, 2, 3], reranked=[1, 1, 1], top_n=2).reranker_lift("rr@3")
    assert lift_sentence(cut).startswith("Lift is not reported: rerank returned no more than 2 hits")
    nothing = ranked([1], reranked=[1], unlabelled=[0])
    assert lift_sentence(nothing.reranker_lift("rr@3")).startswith("No question has labels")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (UP, DOWN, "new is better than old: MRR@3 0.917 against 0.444, statistically significant on 36 questions."),
        (DOWN, UP, "old is better than new: MRR@3 0.917 against 0.444, statistically significant on 36 questions."),
        ([1, 2, 1], [1, 1, 1],
         "No clear difference between new and old: MRR@3 1.000 against 0.833; with 3 questions this may be chance."),
        ([1, 2], [1, 2], "new and old have the same MRR@3, 0.750, on 2 questions: none differs."),
    ],
    ids=["better", "worse", "chance", "equal"],
)  # fmt: skip
def test_two_systems_are_a_pair(ranked, old, new, sentence):
    assert comparison_sentence(rl.compare({"old": ranked(old), "new": ranked(new)}, primary="rr@3")) == sentence


def test_one_stage_has_a_mean_and_no_verdict(ranked):
    evaluation = ranked([1, 2, None, 1])
    text = one_stage_sentence(evaluation, parse("rr@3"))
    assert re.fullmatch(r"MRR@3 is 0\.625 \(95% interval 0\.\d{3} to 0\.\d{3}\) on 4 questions\.", text)
    assert "No question has labels" in one_stage_sentence(ranked([1], unlabelled=[0]), parse("rr@3"))
    rates = ranked([1, 2, None, 1], metrics=("rr", "hit_rate"))
    assert one_stage_sentence(rates, parse("rr@3")) == (
        "The right passage comes first for 2 of 4 questions and is in the top 3 for 3."
    )


def test_failures_are_counted(ranked):
    assert failure_sentence(ranked([1, 2, 3, None, RuntimeError("down")])) == "1 of 5 questions failed and counts 0."
    assert failure_sentence(ranked([1, 2])) == ""
    assert failure_analysis_depth(ranked([1, 2]), parse("rr")) is None


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([("found", 0)], ""),
        ([("found", 43)], "All 43 facts are found in the top 10."),
        ([("found", 0), ("below_k", 1)], "0 of 1 fact (0%) is found in the top 10; it is ranked too low (below 10)."),
        ([("found", 0), ("below_k", 5)],
         "0 of 5 facts (0%) are found in the top 10; all are ranked too low (below 10)."),
        ([("found", 42), ("dropped", 1)],
         "42 of 43 facts (98%) are found in the top 10; the other one is dropped by rerank."),
        ([("found", 325), ("below_k", 44), ("not_retrieved", 20)],
         "325 of 389 facts (84%) are found in the top 10; most of the rest (44) are ranked too low (below 10)."),
        ([("failed", 2), ("found", 1), ("below_k", 1), ("not_retrieved", 2)],
         ("1 of 6 facts (17%) is found in the top 10; of the rest, 2 are of questions that failed; 2 not retrieved; "
         "1 ranked too low (below 10).")),
    ],
)  # fmt: skip
def test_where_recall_is_lost(losses, expected):
    assert failure_analysis_sentence(breakdown(*losses)) == expected


@pytest.mark.slow
def test_of_several_systems_the_best_is_named_with_what_it_is_worth(ranked):
    systems = {"old": ranked(UP), "new": ranked(DOWN), "same": ranked(UP), "cut": ranked(UP, top_n=2)}
    comparison = rl.compare(systems, primary="rr@3", baseline="old")
    text = comparison_sentence(comparison)
    assert text == "new leads 4 systems: MRR@3 0.917, significantly above the baseline's 0.444."
    assert best_of(comparison) == "new"


@pytest.mark.slow
def test_the_baseline_may_be_best_and_nothing_may_be_comparable(ranked):
    best = rl.compare({"old": ranked(DOWN), "new": ranked(UP), "other": ranked(UP)}, primary="rr@3")
    assert comparison_sentence(best) == (
        "The baseline, old, leads 3 systems: MRR@3 0.917; significantly worse: new, other."
    )
    unfair = rl.compare({"old": ranked([1, 2], top_n=2), "new": ranked([1, 2])}, primary="rr@3")
    assert comparison_sentence(unfair) == "No verdict: no system can be compared with old in MRR@3."
    blank = ranked([1], unlabelled=[0])
    assert "No question has labels" in comparison_sentence(rl.compare({"a": blank, "b": blank}, primary="rr@3"))


LONG = "recursive:1000/100 · minilm · hybrid + bm25 · late-interaction number"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "systems"),
    [((UP, DOWN), 2), (([1, 2, 1], [1, 1, 1]), 2), ((DOWN, UP), 9), ((UP, UP), 9)],
)
def test_the_verdict_of_a_comparison_is_short(ranked, ranks, systems):
    first, *others = [f"{LONG} {number}" for number in range(systems)]
    found = {first: ranked(ranks[0])} | {name: ranked(ranks[1]) for name in others}
    text = comparison_sentence(rl.compare(found, primary="rr@3", baseline=first))
    assert len([word for word in text.split() if word not in "·+"]) <= 40
    assert text.count(".") >= 1


def test_a_long_name_is_cut_after_whole_words():
    assert short_name("recursive:1000/100 · bge-small · dense", 7) == "recursive:1000/100 · bge-small · dense"
    assert short_name("a · b · c · d", 2) == "a · b…"


def test_of_equal_means_the_baseline_is_the_best(ranked):
    systems = {"new": ranked([2, 1, 2]), "old": ranked([1, 2, 2]), "worse": ranked([3, 3, 3])}
    assert best_of(compare(systems, baseline="old", primary="rr@3")) == "old"


def test_systems_that_failed_whole_are_named_in_the_verdict(ranked):
    def failed(count):
        with pytest.raises(QueryFailed) as error:
            ranked([RuntimeError("down")] * count)
        return error.value.evaluation

    both = comparison_sentence(rl.compare({"old": failed(3), "new": failed(3)}, primary="rr@3"))
    assert both == "Every question of every system failed, so nothing was measured."
    one = comparison_sentence(rl.compare({"old": failed(3), "new": ranked([1, 1, 1])}, primary="rr@3"))
    assert one.endswith("with 3 questions this may be chance; every question of old failed.")


@pytest.mark.parametrize(
    ("tried", "has_reranker", "advice"),
    [
        ("", False, "a hybrid of BM25 and embeddings, or another embedding model"),
        ("bm25 + late-interaction", True, "more candidates, or a hybrid of BM25 and embeddings"),
        ("bm25", False, "a hybrid of BM25 and embeddings"),
        ("400/40 · bm25 400/40 · bge-small · hybrid", False, "another embedding model"),
    ],
)
def test_what_was_tried_is_not_advised(tried, has_reranker, advice):
    lost = [OutcomeFacts("not_retrieved", None, 5, ("q",))]
    told = next_step(10, lost, 10, has_reranker=has_reranker, tried=tried)
    assert told.startswith(
        f"Next: try {advice}: 5 of 10 facts are missing from the top 10; all 5 were never retrieved."
    )


def test_where_little_is_lost_other_things_are_advised():
    lost = [OutcomeFacts("not_retrieved", None, 1, ("q",))]
    told = next_step(100, lost, 10, has_reranker=False)
    assert told.startswith("Next: look at latency and cost, or ask harder questions: 99 of 100 facts are in the top 10")
    assert next_step(0, [], 10, has_reranker=False) == ""
