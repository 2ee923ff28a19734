"""`gate()`: bounds on an evaluation's figures, and no real loss against a baseline."""

from __future__ import annotations

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.gating import Outcome


def test_a_run_that_keeps_its_bounds_passes(ranked) -> None:
    result = rl.gate(ranked([1, 1, 2, None]), minimum={"mrr@3": 0.6, "recall@3": 0.75}, maximum={"failures": 0})
    assert result.passed
    assert result.outcome is Outcome.PASSED
    assert [(check.name, check.found, check.passed) for check in result.checks] == [
        ("mrr@3", 0.625, True),
        ("recall@3", 0.75, True),
        ("failures", 0.0, True),
    ]
    assert "PASSED: 3 checks" in str(result)


def test_a_figure_on_the_wrong_side_fails_and_its_worst_queries_are_named(ranked) -> None:
    result = rl.gate(ranked([1, 1, 2, None]), minimum={"rr@3": 0.9})
    assert result.outcome is Outcome.FAILED
    assert result.checks[0].worst == (("q0003", 0.0), ("q0002", 0.5))
    assert "worst queries: q0003 0.000, q0002 0.500" in str(result)


def test_a_significant_drop_beyond_the_margin_fails(ranked) -> None:
    before, after = ranked([1] * 30), ranked([1] * 15 + [3] * 15)
    result = rl.gate(after, baseline=before, no_regression=["rr@3"], margin=0.01)
    assert result.outcome is Outcome.FAILED
    assert [flip.query_id for flip in result.regressions[0].flipped][:2] == ["q0015", "q0016"]
    assert "MRR@3 got worse: 1.000 → 0.667" in str(result)


def test_nothing_to_check_is_a_mistake(ranked) -> None:
    with pytest.raises(ConfigurationError, match="nothing to check"):
        rl.gate(ranked([1]))
