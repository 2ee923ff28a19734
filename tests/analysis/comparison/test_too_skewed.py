"""Differences that are too skewed to decide: said wherever a verdict is, and no regression of a gate."""

from __future__ import annotations

import pytest

import raglift as rl
from raglift.report.sentences import comparison_sentence, lift_sentence
from raglift.results.comparison import compare

pytestmark = pytest.mark.slow

BASE, UP, DOWN = [3] * 40, [2] * 14 + [3] * 26, [3] * 26 + [4] * 14
WHY = (
    "40 questions with small wins and no losses cannot rule out large losses too rare to be among them, which could "
    "outweigh the wins"
)


def test_small_wins_without_a_loss_are_told_to_decide_nothing(ranked):
    comparison = compare({"base": ranked(BASE), "up": ranked(UP)}, primary="rr@3")
    row = comparison.row("up")
    assert row.difference.p < 0.001
    assert row.verdict == "too skewed to decide"
    assert f"up against base is too skewed to decide: {WHY}; more questions would show them" in comparison.notes
    assert comparison_sentence(comparison) == (
        "It is unclear whether up differs from base: MRR@3 0.392 against 0.333 is too skewed to decide."
    )
    assert "too skewed to decide" in str(comparison)


def test_the_best_of_several_is_told_with_it(ranked):
    systems = {"base": ranked(BASE), "up": ranked(UP), "same": ranked(BASE)}
    told = comparison_sentence(compare(systems, baseline="base", primary="rr@3"))
    assert told == ("up leads 3 systems: MRR@3 0.392, but it is unclear whether that is above the baseline's 0.333.")


def test_a_lift_is_told_likewise(ranked):
    evaluation = ranked(BASE, reranked=UP, metrics=["mrr"])
    lift = evaluation.reranker_lift("rr@3")
    assert lift.row().verdict == "too skewed to decide"
    assert lift_sentence(lift).endswith(f", too skewed to decide: {WHY}.")
    assert any(WHY in warning for warning in lift.warnings)
    line = next(line for line in str(evaluation).splitlines() if line.startswith("MRR@3"))
    assert line.endswith("too skewed to decide")


def test_a_gate_tells_of_it_and_does_not_fail(ranked):
    # The 14 queries lose 1/3 − 1/4 each in RR@5
    result = rl.gate(ranked(DOWN, ks=(5,)), baseline=ranked(BASE, ks=(5,)), no_regression=["rr@5"])
    (one,) = result.regressions
    assert result.passed
    assert one.too_skewed
    assert one.p_holm < 0.001
    assert "MRR@5 dropped, too skewed to decide: 0.3333 → 0.3042" in str(result) or "too skewed to decide: " in str(
        result
    )
    assert any("it fails no gate: 40 questions with small losses and no wins" in told for told in result.warnings)
    assert "too skewed to decide" in result.to_markdown()
