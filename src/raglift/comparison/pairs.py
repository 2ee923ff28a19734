"""The values of all systems on the queries they share, and which of them make fair pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.comparison.same_queries import SharedQueries
    from raglift.records import Metric
    from raglift.result_records import EvaluationRecord

__all__ = ["Paired", "looks_too_deep", "pair_up"]


@dataclass(frozen=True, eq=False)
class Paired:
    """Values per metric, system and query, all systems on the same queries."""

    names: tuple[str, ...]
    """The systems, in the order given."""
    baseline: int
    """Which of them the others are compared with."""
    metrics: tuple[Metric, ...]
    """The primary metric first."""
    values: NDArray[np.float64]
    """Shape (metrics, systems, queries); NaN where a query is left out of the mean."""
    truncated: NDArray[np.bool_]
    """Shape (metrics, systems): whether the metric looks deeper than the system could return."""

    @cached_property
    def fair(self) -> tuple[tuple[int, int], ...]:
        """The pairs (metric, system) of which a difference to the baseline means something."""
        return tuple(
            (metric, system)
            for metric in range(len(self.metrics))
            for system in range(len(self.names))
            if system != self.baseline
            and not self.truncated[metric, system]
            and not self.truncated[metric, self.baseline]
        )

    def of(self, place: tuple[int, int]) -> NDArray[np.float64]:
        """Return one system's values of one metric."""
        values: NDArray[np.float64] = self.values[place]
        return values

    def baseline_of(self, place: tuple[int, int]) -> NDArray[np.float64]:
        """Return the baseline's values of the same metric."""
        return self.of((place[0], self.baseline))

    def fair_differences(self) -> NDArray[np.float64]:
        """Return the system minus the baseline: a row a query, and a column a fair pair."""
        if not self.fair:
            return np.zeros((self.values.shape[2], 0))
        return np.stack([self.of(place) - self.baseline_of(place) for place in self.fair], axis=1)


def pair_up(
    systems: Mapping[str, EvaluationRecord], baseline: str, metrics: Sequence[Metric], shared: SharedQueries
) -> Paired:
    """Return the values of each metric at each system's last stage, for the shared queries."""
    values = np.stack(
        [
            [
                shared.columns(name, evaluation.scores.of(evaluation.after, metric))
                for name, evaluation in systems.items()
            ]
            for metric in metrics
        ]
    )
    deepest = {name: _deepest(evaluation) for name, evaluation in systems.items()}
    truncated = np.array(
        [
            [looks_too_deep(evaluation, metric, deepest[name]) for name, evaluation in systems.items()]
            for metric in metrics
        ],
        dtype=np.bool_,
    )
    return Paired(tuple(systems), list(systems).index(baseline), tuple(metrics), values, truncated)


def looks_too_deep(evaluation: EvaluationRecord, metric: Metric, deepest: int) -> bool:
    """Whether a metric looks deeper than a system could return.

    A stage that cuts is made good by a later one that adds hits, so what counts is the last ranking too.

    Args:
        evaluation: of the system.
        metric: what is measured.
        deepest: the most hits that the last stage returned.
    """
    cut = any(evaluation.is_truncated(stage, metric) for stage in evaluation.scores.stages)
    return cut and (metric.k is None or deepest < metric.k)


def _deepest(evaluation: EvaluationRecord) -> int:
    """Return the most hits that the last stage returned for any query."""
    if not evaluation.truncated:
        return 0
    return max(
        (
            len(done.ranking)
            for trace in evaluation.run.traces
            for done in trace.stages
            if done.stage == evaluation.after
        ),
        default=0,
    )
