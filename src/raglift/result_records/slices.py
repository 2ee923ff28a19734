"""Means and differences on the queries of one tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.records.label_sources import PEOPLE, LabelSources

if TYPE_CHECKING:
    from raglift.records.metric import Metric
    from raglift.result_records.comparison import Method
    from raglift.significance import Interval, PairedDifference

__all__ = ["TagSlice", "TagSlicesRecord"]


@dataclass(frozen=True)
class TagSlice:
    """One system on the queries of one tag."""

    FEW = 10

    tag: str | None
    """The tag; None for queries without any."""
    system: str
    """The system's name; for an evaluation, its last stage."""
    n: int
    """How many queries the mean is over."""
    mean: float
    """The system's mean; NaN where no query counts."""
    interval: Interval | None
    """Where the mean of all such queries may lie; None where no query counts."""
    baseline_mean: float | None = None
    """The mean of the baseline (for an evaluation, of its first stage) on the same queries; None where the system is
    the baseline."""
    difference: PairedDifference | None = None
    """The system minus the baseline; None where the system is the baseline, and where there is no fair pair."""

    @property
    def few(self) -> bool:
        """Whether the slice is of so few queries that its figures say little."""
        return self.n < self.FEW


@dataclass(frozen=True)
class TagSlicesRecord:
    """One metric on the queries of each tag: exploratory, no p-value is corrected for how many tags there are."""

    metric: Metric
    """What was measured."""
    baseline: str | None
    """What the differences are to: a system, or an evaluation's first stage; None for an evaluation of one stage."""
    slices: tuple[TagSlice, ...]
    """For each tag, most queries first, each system. A query of several tags is in several slices."""
    method: Method
    """How intervals and p-values were computed."""
    label_sources: LabelSources = PEOPLE
    """Who gave the labels that it rests on."""

    @property
    def tags(self) -> tuple[str | None, ...]:
        """The tags, most queries first; None last, for queries without any."""
        return tuple(dict.fromkeys(one.tag for one in self.slices))
