"""`gate()`: bounds on an evaluation's figures, no real loss against a baseline, and no query missing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.gating.deciding import GateResult
from raglift.gating.records import Outcome
from raglift.types.dataset import Dataset


def test_a_run_passes_if_it_keeps_its_bounds_and_fails_by_one_figure(ranked) -> None:
    run = ranked([1, 1, 2, None])
    result = rl.gate(run, minimum={"mrr@3": 0.6, "recall@3": 0.75}, maximum={"failures": 0})
    assert isinstance(result, GateResult)
    assert (result.passed, result.outcome, int(result.outcome)) == (True, Outcome.PASSED, 0)
    assert [(check.name, check.found, check.bound, check.passed) for check in result.checks] == [
        ("mrr@3", 0.625, 0.6, True),
        ("recall@3", 0.75, 0.75, True),
        ("failures", 0.0, 0.0, True),
    ]
    assert (result.expected, result.missing, result.method, result.to_github()) == (None, (), None, "")
    assert str(result).startswith("fake: PASSED (3 checks)\n")
    assert result.to_markdown().startswith("### ✅ fake: PASSED (3 checks)\n")
    failed = rl.gate(run, minimum={"recall@3": 0.75, "rr@3": 0.9})
    assert (failed.passed, failed.outcome, int(failed.outcome)) == (False, Outcome.FAILED, 1)
    assert [check.passed for check in failed.checks] == [True, False]


ranks = st.lists(st.sampled_from([1, 2, 3, None, ValueError("no")]), min_size=4, max_size=4)
fractions = st.integers(0, 24).map(lambda number: number / 24)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ranks=ranks, rr=fractions, recall=fractions, failures=st.integers(0, 4), lacks=st.booleans())
def test_a_gate_passes_if_and_only_if_everything_holds(ranked, ranks, rr, recall, failures, lacks) -> None:
    assume(any(not isinstance(rank, ValueError) for rank in ranks))  # else there is no evaluation
    evaluation = ranked(ranks)
    whole = ranked([1] * (5 if lacks else 4)).dataset
    result = rl.gate(
        evaluation, minimum={"rr@3": rr, "recall@1": recall}, maximum={"failures": failures}, dataset=whole
    )
    points = [1 / rank if isinstance(rank, int) else 0.0 for rank in ranks]
    holds = (
        sum(points) / 4 >= rr - 1e-9
        and sum(point == 1.0 for point in points) / 4 >= recall
        and sum(isinstance(rank, ValueError) for rank in ranks) <= failures
    )
    assert all(check.passed for check in result.checks) == holds
    assert result.passed == (holds and not lacks)
    assert result.outcome is (Outcome.INCOMPLETE if lacks else Outcome.PASSED if holds else Outcome.FAILED)
    assert result.passed == ("PASSED" in str(result))


def test_a_run_that_lacks_queries_of_the_set_cannot_pass(ranked) -> None:
    result = rl.gate(ranked([1] * 4), minimum={"rr@3": 0.5}, dataset=ranked([1] * 6).dataset)
    assert (result.outcome, int(result.outcome), result.missing) == (Outcome.INCOMPLETE, 3, ("q0004", "q0005"))
    assert (result.expected, result.passed) == (6, False)
    assert all(check.passed for check in result.checks)
    for text in (str(result), result.to_markdown(), result.to_junit(), result.to_github()):
        assert "2 questions missing in the run: q0004, q0005" in text
    failing = rl.gate(ranked([None] * 4), minimum={"rr@3": 0.5}, dataset=ranked([1] * 6).dataset)
    assert failing.outcome is Outcome.INCOMPLETE


def test_without_a_set_the_baseline_says_what_the_whole_is(ranked) -> None:
    run, baseline = ranked([1] * 8), ranked([1] * 9)
    result = rl.gate(run, baseline=baseline, no_regression=["rr@3"])
    assert (result.outcome, result.missing, result.expected) == (Outcome.INCOMPLETE, ("q0008",), 9)
    # a query that was taken out of the set is no longer missing, and the pairs are those that both answered
    result = rl.gate(run, baseline=baseline, no_regression=["rr@3"], dataset=run.dataset)
    assert (result.outcome, result.missing, result.expected) == (Outcome.PASSED, (), 8)
    assert any("was not asked 1 question of baseline: q0008" in note for note in result.notes)
    # the other way round nothing is missing
    assert rl.gate(baseline, baseline=run, no_regression=["rr@3"]).passed


def test_a_query_that_failed_is_not_missing(ranked) -> None:
    evaluation = ranked([1, ValueError("no")])
    result = rl.gate(evaluation, minimum={"rr@3": 0.5}, dataset=evaluation.dataset)
    assert result.passed
    assert [(one.query_id, one.error) for one in result.failed] == [("q0001", "retrieve: ValueError: no")]


def test_the_set_of_another_run_is_a_mistake_and_no_run_without_queries(ranked) -> None:
    run = ranked([1] * 4)
    other = replace(run.dataset, queries=tuple(replace(query, id=f"other-{query.id}") for query in run.dataset))
    with pytest.raises(
        ConfigurationError, match=r"gate: dataset: .* share no query id: found other-q0000, .* and q0000"
    ):
        rl.gate(run, minimum={"rr@3": 0.5}, dataset=other)


def test_a_set_with_other_labels_or_questions_is_refused(ranked) -> None:
    run = ranked([1] * 4)
    with pytest.raises(
        ConfigurationError, match=r"the labels of 1 question differ.*found q0002.*raglift rescore --labels"
    ):
        rl.gate(run, minimum={"rr@3": 0.5}, dataset=ranked([1] * 4, unlabelled=(2,)).dataset)
    first, *rest = run.dataset.queries
    other = replace(run.dataset, queries=(replace(first, text="Something else?"), *rest))
    with pytest.raises(ConfigurationError, match=r"the text of 1 question differ.*found q0000"):
        rl.gate(run, minimum={"rr@3": 0.5}, dataset=other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "found nothing to check; expected a bound"),
        ({"no_regression": ["rr@3"]}, "no_regression: found no baseline"),
        ({"minimum": {"rr@3": 0.5}, "baseline": "itself"}, "baseline: found no metric that must not be worse"),
        ({"minimum": {"rr@3": 0.5}, "seed": -1}, "seed"),
        ({"minimum": {"rr@3": 0.5}, "confidence": 95}, "confidence"),
        ({"minimum": {"rr@3": 0.5}, "margin": -1}, "margin"),
        ({"minimum": {"rr@3": 0.5}, "dataset": "lighthouse"}, "gate: dataset: found a str; expected a Dataset"),
        ({"minimum": {"rr@3": 0.5}, "dataset": Dataset((), name="none")}, "gate: dataset: found no questions"),
        ({"baseline": "runs/main", "no_regression": ["rr@3"]}, "gate: baseline: found a str; expected an Evaluation"),
    ],
)
def test_what_cannot_be_gated_is_refused(ranked, options, message: str) -> None:
    run = ranked([1])
    options = options | ({"baseline": run} if options.get("baseline") == "itself" else {})
    with pytest.raises(ConfigurationError, match=message):
        rl.gate(run, **options)
