"""Results of a gate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.metric import Metric
    from raglift.types.rankings import Hit


ROUNDING = 1e-9
"""By how much, in parts of the bound, rounding may move a figure without it passing or failing by that."""


class Outcome(IntEnum):
    """How a gate ended; the value is the command's exit code (2 is a mistake in the command itself)."""

    PASSED = 0
    FAILED = 1
    INCOMPLETE = 3


@dataclass(frozen=True)
class Check:
    """One figure of a run against one bound."""

    name: str
    """As it was asked for: `ndcg@10`, `retrieve:recall@50`, `p95_latency`, `failures`."""
    found: float
    """The figure; NaN if the run does not have it, which fails."""
    bound: float
    """What it may not fall below, or rise above."""
    is_minimum: bool
    """Whether the bound is the least that will do; else the most."""
    unit: str = ""
    """`s` for seconds; empty for a metric or a count."""
    n: int | None = None
    """How many queries the figure is over."""
    worst: tuple[tuple[str, float], ...] = ()
    """Of a metric: the queries on the wrong side of the bound with their values, the worst first, ten at most."""
    queries: tuple[str, ...] = ()
    """Of a count: the queries that it counts."""
    metric: Metric | None = None
    """What was measured; None for a latency or a count."""
    stage: str | None = None
    """Where; None for a latency of the whole run, and for failures."""
    note: str = ""
    """Notes for readers of the figure: why there is none, or that the stage returned too few hits for it."""

    def allows(self, figure: float) -> bool:
        """Whether a figure would keep the bound, but for rounding; NaN does not."""
        slack = ROUNDING * max(1.0, abs(self.bound))
        return figure >= self.bound - slack if self.is_minimum else figure <= self.bound + slack

    @property
    def is_count(self) -> bool:
        """Whether it is a number of queries."""
        return self.metric is None and not self.unit

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its bound, but for rounding; a figure that is not there does not."""
        return self.allows(self.found)


@dataclass(frozen=True)
class RegressedQuery:
    """A query that the baseline answered better, with what both returned."""

    query_id: str
    text: str
    before: float
    """The baseline's value of the metric."""
    after: float
    """The run's."""
    hits_before: tuple[Hit, ...]
    """The baseline's ranking down to the depth of the metric."""
    hits_after: tuple[Hit, ...]
    """The run's."""
    matched_before: tuple[int, ...] = ()
    """The ranks of the baseline's hits that match a label."""
    matched_after: tuple[int, ...] = ()
    """The ranks of the run's."""
    error: str | None = None
    """Why the run failed on it; None if it did not."""


@dataclass(frozen=True)
class Regression:
    """One metric of a run against the same metric of a baseline, query by query."""

    metric: Metric
    difference: PairedDifference | None
    """The run minus the baseline; None if there is no fair pair, which fails."""
    margin: float
    """How large a drop of the mean may be before it counts."""
    passed: bool
    """False for a drop of the mean that is larger than the margin and significant, and where there is no fair pair."""
    regressed: tuple[RegressedQuery, ...]
    """The queries that did worse than with the baseline, the largest drop first."""
    before: float = math.nan
    """The baseline's mean over the queries that count for both."""
    after: float = math.nan
    """The run's."""
    p_holm: float = math.nan
    """The p-value of the difference, corrected by Holm over the metrics that were asked for."""
    minimum_detectable_effect: float | None = None
    """The minimum detectable effect of this many queries at 80% power; None if it is unknown."""
    note: str = ""
    """Why there is no fair pair."""
    too_skewed: bool = False
    """Whether the mean dropped by more than the margin, with a small p-value, and is too skewed to decide all the same:
    this is told, and does not fail."""

    @property
    def dropped(self) -> bool:
        """Whether the mean is lower than the baseline's by more than rounding."""
        return self.difference is not None and self.difference.mean < -ROUNDING


@dataclass(frozen=True)
class FailedQuery:
    """A query that failed, and counts 0 in every mean."""

    query_id: str
    error: str
