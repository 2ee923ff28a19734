"""What was found of an evaluation is computed once and kept with it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import raglift as rl
from raglift.report import findings as module
from raglift.report.findings import findings


@pytest.fixture
def evaluation(ranked: Callable[..., rl.Evaluation]) -> rl.Evaluation:
    return ranked([2, 3, 1, 5, 1, None], reranked=[1, 1, 2, 2, 1, 1])


def test_what_was_found_is_in_one_record(evaluation: rl.Evaluation) -> None:
    found = findings(evaluation, "rr@3")
    lift = evaluation.reranker_lift("rr@3")
    assert found.lift is not None
    assert (found.primary, found.lift.row()) == (lift.primary, lift.row())
    assert found.losses.losses == evaluation.failure_analysis(3).losses
    assert found.upper_bound.mean_recall == evaluation.headroom(3).mean_recall
    assert set(lift.warnings) <= set(found.warnings)
    assert found.sessions is None


@pytest.mark.slow
def test_a_second_print_computes_nothing(evaluation: rl.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    first = str(evaluation)

    def refuse(*_: Any, **__: Any) -> Any:
        pytest.fail("computed again")

    for name in ("reranker_lift", "failure_analysis", "headroom"):
        monkeypatch.setattr(module, name, refuse)
    assert str(evaluation) == first
    assert evaluation.to_markdown()
    assert evaluation.to_text()


def test_another_metric_seed_or_copy_has_its_own(evaluation: rl.Evaluation) -> None:
    found = findings(evaluation, "rr@3")
    assert findings(evaluation, "rr@3") is found
    assert findings(evaluation, "rr@3", seed=1) is not found
    assert findings(evaluation, "recall@3") is not found
    assert findings(replace(evaluation), "rr@3") is not found
    for other in (copy.copy(evaluation), pickle.loads(pickle.dumps(evaluation))):  # noqa: S301
        assert not [name for name in vars(other) if name.startswith("_")]
