"""Whether runs by the same labels differ: each against the first, query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.comparison.statistics import within_reach
from raglift.metrics import has_differences
from raglift.significance import PairedDifference, holm, paired_differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.records import Metric

__all__ = ["RunDifference", "differences_from_first"]


@dataclass(frozen=True)
class RunDifference:
    """How one run differs from the first in one metric."""

    run: str
    """The run."""
    first: str
    """What it is compared with."""
    metric: Metric
    """What is compared."""
    paired: PairedDifference
    """The difference, run minus first, over the queries that count in both; its interval ends at what is possible."""
    p: float
    """The p-value of no difference, corrected by Holm for all that are shown together."""


def differences_from_first(
    runs: Mapping[str, Mapping[Metric, Mapping[str, float]]], metrics: Sequence[Metric], *, seed: int = 0
) -> tuple[RunDifference, ...]:
    """Compare each run with the first, in each metric; none where there is one run.

    Args:
        runs: for each run, each metric's value for each query; NaN where a query does not count.
        metrics: the metrics; those whose mean is geometric are left out, as they have no differences query by query.
        seed: draws the signs of the permutation test.
    """
    first, *others = runs
    metrics = [metric for metric in metrics if has_differences(metric)]
    if not others or not metrics:
        return ()
    queries = [query for query in runs[first][metrics[0]] if all(query in runs[run][metrics[0]] for run in others)]
    pairs = [(run, metric) for run in others for metric in metrics]
    columns = [_column(runs[run][metric], queries) - _column(runs[first][metric], queries) for run, metric in pairs]
    found = paired_differences(np.stack(columns, axis=1), seed=seed)
    corrected = holm([paired.p for paired in found]).tolist()
    return tuple(
        RunDifference(run, first, metric, within_reach(metric, paired), p)
        for (run, metric), paired, p in zip(pairs, found, corrected, strict=True)
    )


def _column(values: Mapping[str, float], queries: Sequence[str]) -> NDArray[np.float64]:
    return np.array([values[query] for query in queries], dtype=np.float64)
