"""What a gate found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.records import Evaluation, Hit, Metric
    from raglift.significance import PairedDifference

__all__ = ["Check", "FlippedQuery", "GateResult", "Outcome", "Regression"]


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
    """The figure; NaN where the run does not have it, which fails."""
    bound: float
    """What it may not fall below, or rise above."""
    is_minimum: bool
    """Whether the bound is the least that will do; else the most."""
    unit: str = ""
    """`s` for seconds; empty for a metric or a count."""
    n: int | None = None
    """How many queries the figure is over."""
    worst: tuple[tuple[str, float], ...] = ()
    """The queries that did worst, with their values, worst first; empty for a figure that is no metric."""

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its bound."""
        return self.found >= self.bound if self.is_minimum else self.found <= self.bound


@dataclass(frozen=True)
class FlippedQuery:
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


@dataclass(frozen=True)
class Regression:
    """One metric of a run against the same metric of a baseline, query by query."""

    metric: Metric
    difference: PairedDifference
    """The run minus the baseline."""
    margin: float
    """How large a drop may be before it counts."""
    passed: bool
    """False only for a drop that is significant and larger than the margin."""
    flipped: tuple[FlippedQuery, ...]
    """The queries that did worse than with the baseline, the largest drop first."""


@dataclass(frozen=True, eq=False, repr=False)
class GateResult:
    """Whether a run may pass, and why not."""

    name: str
    """What the run is called."""
    evaluation: Evaluation
    outcome: Outcome
    checks: tuple[Check, ...]
    regressions: tuple[Regression, ...]
    missing: tuple[str, ...] = ()
    """Queries that the labelled set or the baseline has and the run has not: with any, it cannot pass."""

    @property
    def passed(self) -> bool:
        """Whether every bound is kept, nothing got really worse, and no query is missing."""
        return self.outcome is Outcome.PASSED

    def __str__(self) -> str:
        raise NotImplementedError("w-gate")

    def to_markdown(self) -> str:
        """Return a summary for a pull request, as GitHub's Markdown."""
        raise NotImplementedError("w-gate")

    def to_junit(self) -> str:
        """Return the checks as JUnit XML: one test case a check."""
        raise NotImplementedError("w-gate")

    def to_github(self) -> str:
        """Return GitHub's workflow commands: one `::error` a check that failed."""
        raise NotImplementedError("w-gate")
