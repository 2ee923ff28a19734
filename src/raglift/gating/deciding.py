"""`gate()`: bounds on an evaluation's figures, and no real loss against a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.gating.records import GateResult
    from raglift.records import Dataset, Evaluation, Metric

__all__ = ["gate"]


def gate(
    evaluation: Evaluation,
    *,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float | str] | None = None,
    baseline: Evaluation | None = None,
    no_regression: Sequence[Metric | str] = (),
    margin: float = 0.0,
    dataset: Dataset | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    name: str | None = None,
) -> GateResult:
    """Decide whether a run may pass.

    Args:
        evaluation: of the run.
        minimum: for each metric, the least mean that will do: `{"ndcg@10": 0.75}`; `"retrieve:recall@50"` names a
            stage, by default it is the last.
        maximum: for each metric, or `failures`, or `p50_latency` and `p95_latency` (seconds, or `"500ms"`), the most.
        baseline: an evaluation of the same queries.
        no_regression: the metrics that must not be worse than the baseline's.
        margin: how large a drop may be before it counts.
        dataset: the labelled set that the run should have answered whole.
        seed: of the permutation tests.
        confidence: a drop is real where p is at most 1 minus it, corrected by Holm over `no_regression`.
        name: what the run is called; by default its stages.

    Raises:
        ConfigurationError: nothing to check, a metric that was not scored, or a bound that is no number.
    """
    raise NotImplementedError("w-gate")
