"""Metric values of one evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.metrics import as_metric
from raglift.metrics.computing import mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.records.metric import Metric

__all__ = ["Scores"]


@dataclass(frozen=True, eq=False)
class Scores:
    """Metric values per query, stage and k."""

    query_ids: tuple[str, ...]
    """The queries, in dataset order."""
    stages: tuple[str, ...]
    """The stages, in the order of the system."""
    metrics: tuple[Metric, ...]
    """The metrics, in the order asked for."""
    values: NDArray[np.float64]
    """Shape (stages, metrics, queries); NaN where a query is left out of the mean."""

    def of(self, stage: str, metric: Metric | str) -> NDArray[np.float64]:
        """Return one metric's values at one stage, one a query; NaN where the query is left out.

        Raises:
            ConfigurationError: the stage or the metric was not scored.
        """
        metric = as_metric(metric)
        if stage not in self.stages:
            raise ConfigurationError(f"stage: found {stage!r}; expected one of {', '.join(self.stages)}")
        if metric not in self.metrics:
            raise ConfigurationError(
                f"metric: found {metric}, which was not scored; expected one of {', '.join(map(str, self.metrics))}"
            )
        values: NDArray[np.float64] = self.values[self.stages.index(stage), self.metrics.index(metric)]
        return values

    def n(self, stage: str, metric: Metric | str) -> int:
        """Return how many queries the mean is over."""
        return int(np.count_nonzero(~np.isnan(self.of(stage, metric))))

    def mean(self, stage: str, metric: Metric | str) -> float:
        """Return the mean over the queries that count, geometric where the measure's is; NaN when none does."""
        metric = as_metric(metric)
        return mean_of(metric, self.of(stage, metric))
