"""Results of evaluations and comparisons, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from raglift.analysis.frames import frame_of, row_columns
from raglift.errors import ConfigurationError
from raglift.metrics.parsing import as_metric, not_scored
from raglift.rendering.presenting import Presentable
from raglift.types.labels import PEOPLE, LabelSources
from raglift.types.rankings import CANDIDATES

NoteKind = Literal["failed", "unjudged", "primary", "read in part", "changed hits", "retried", "other"]
"""What a note is about: queries that failed, hits that nobody judged, the metric that decides by default, what models
did not read to the end, hits of rerankers that are not their candidates, and queries that were asked again."""

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.paired_statistics import Method
    from raglift.results.evaluation import Evaluation
    from raglift.stats.intervals import Interval
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.metric import Metric


# Results of an evaluation.


@dataclass(frozen=True)
class Note:
    """Something that a reader of the figures should know."""

    text: str
    """What it says."""
    kind: NoteKind = "other"
    """What it is about, for those who show or check it elsewhere."""


# Systems compared on the same queries, and which differences are significant.


@dataclass(frozen=True)
class ComparisonRow:
    """One system on one metric, compared with the baseline."""

    metric: Metric
    """At the last stage of each system."""
    system: str
    """Its name in the comparison."""
    n: int
    """How many queries count for both; for the baseline, how many of its own."""
    mean: float
    """Over these queries; NaN if none counts."""
    interval: Interval | None
    """Where the mean of all such queries may lie; None if no query counts."""
    baseline_mean: float
    """The baseline's mean over the same queries."""
    difference: PairedDifference | None = None
    """The system minus the baseline, query by query; None for the baseline, and where there is no fair pair."""
    p_holm: float | None = None
    """The p-value, corrected by Holm over the systems; on the primary metric only."""
    minimum_detectable_effect: float | None = None
    """The minimum detectable effect at 80% power, at Holm's strictest level; on the primary metric only."""
    verdict: str | None = None
    """`better`, `worse`, `not significant`, `too skewed to decide` or `not comparable by size`, by `p_holm`; on the
    metric that decides only."""
    exploratory: bool = True
    """Whether the p-value is not corrected: a hint to look, and no finding."""
    truncated: bool = False
    """Whether the metric looks deeper than the system could return: then neither it nor what is compared with it has a
    fair pair."""

    @property
    def p(self) -> float | None:
        """The p-value of the difference, not corrected; None if there is none."""
        return None if self.difference is None else self.difference.p


# The effect of reranking within one system, and whether it is significant.


@dataclass(frozen=True)
class LiftRow:
    """One metric before and after reranking: same queries, same candidates, same k."""

    metric: Metric
    """What is measured."""
    n: int
    """How many queries the means are over."""
    before: float
    """The mean after the first stage, or after the stage that the lift is over."""
    before_interval: Interval | None
    """Where the mean of all such queries may lie; None if no query counts."""
    after: float
    """The mean after the last stage."""
    after_interval: Interval | None
    """Likewise."""
    difference: PairedDifference | None
    """After minus before; None if there is no fair pair."""
    minimum_detectable_effect: float | None = None
    """The minimum detectable effect at 80% power; on the primary metric only."""
    verdict: str | None = None
    """`better`, `worse`, `not significant` or `too skewed to decide`; on the primary metric only."""
    exploratory: bool = True
    """Whether the metric is not the primary one: a hint to look, and no finding."""
    truncated: bool = False
    """Whether the metric looks deeper than a stage returned: then there is no fair pair."""
    beyond_candidates: int = 0
    """For how many queries hits that were not among the candidates raise the metric: if any, there is no fair pair."""


@dataclass(frozen=True)
class MovedQuery:
    """A query whose primary metric the reranker changed."""

    query_id: str
    """Which."""
    text: str
    """The question."""
    before: float
    """Its value after the first stage."""
    after: float
    """Its value after the last."""
    rank_before: int | None
    """The rank at which the first fact was satisfied; None if none was."""
    rank_after: int | None
    """Likewise after the last stage."""


@dataclass(frozen=True, eq=False, repr=False)
class Lift(Presentable):
    """What the stages after the first changed, metric by metric."""

    evaluation: Evaluation
    """The evaluation."""
    primary: Metric
    """The one metric that decides; every other is exploratory."""
    rows: tuple[LiftRow, ...]
    """One a metric, the primary one first."""
    up: tuple[MovedQuery, ...]
    """The queries that gained most in the primary metric, most first."""
    down: tuple[MovedQuery, ...]
    """The queries that lost most, most first."""
    method: Method
    """How intervals and p-values were computed."""
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""
    over_candidates: tuple[LiftRow, ...] = ()
    """Where the candidates are a stage of their own: the same metrics with these as before, all exploratory."""

    @property
    def label_sources(self) -> LabelSources:
        """Label provenance: people, or which models, made the labels."""
        return self.evaluation.dataset.label_sources

    def row(self, metric: Metric | str | None = None, *, over: str | None = None) -> LiftRow:
        """Return one metric; by default the primary one.

        Args:
            metric: one that was scored.
            over: the stage that counts as before: by default the first; "candidates" where these are a stage too.

        Raises:
            ConfigurationError: the metric was not scored, or there is no lift over that stage.
        """
        wanted = self.primary if metric is None else as_metric(metric)
        stages = {self.evaluation.before: self.rows}
        if self.over_candidates:
            stages[CANDIDATES] = self.over_candidates
        if over is not None and over not in stages:
            raise ConfigurationError(f"over: found {over!r}; expected {' or '.join(stages)}")
        rows = self.rows if over is None else stages[over]
        for row in rows:
            if row.metric == wanted:
                return row
        raise ConfigurationError(f"metric: {not_scored(wanted, [row.metric for row in rows])}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric, the primary one first; where the candidates are a stage, then one over these.

        Columns: `metric`, `over` (the stage that `before` is of), `n`, `before`, `before_low`, `before_high`, `after`,
        `after_low`, `after_high`, `difference`, `low`, `high`, `p`, `wins`, `ties`, `losses`, `effect_size`,
        `minimum_detectable_effect`, `verdict`, `exploratory`, `truncated`, `beyond_candidates`.
        """
        over = [(self.evaluation.before, row) for row in self.rows]
        over += [(CANDIDATES, row) for row in self.over_candidates]
        return frame_of(
            [{"metric": str(row.metric), "over": stage} | row_columns(row, row.metric) for stage, row in over]
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.evaluation.dataset.name!r}, {self.primary}; print() shows the table)"


# Means and differences on the queries of one tag.


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
    """The system's mean; NaN if no query counts."""
    interval: Interval | None
    """Where the mean of all such queries may lie; None if no query counts."""
    baseline_mean: float | None = None
    """The mean of the baseline (for an evaluation, of its first stage) on the same queries; None if the system is the
    baseline."""
    difference: PairedDifference | None = None
    """The system minus the baseline; None if the system is the baseline, and where there is no fair pair."""

    @property
    def few(self) -> bool:
        """Whether the slice is of so few queries that its figures say little."""
        return self.n < self.FEW


@dataclass(frozen=True)
class TagSlices(Presentable):
    """One metric on the queries of each tag: exploratory, no p-value is corrected for how many tags there are."""

    metric: Metric
    """The metric."""
    baseline: str | None
    """What the differences are to: a system, or an evaluation's first stage; None for an evaluation of one stage."""
    slices: tuple[TagSlice, ...]
    """For each tag, most queries first, each system. A query of several tags is in several slices."""
    method: Method
    """How intervals and p-values were computed."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""

    @property
    def tags(self) -> tuple[str | None, ...]:
        """The tags, most queries first; None last, for queries without any."""
        return tuple(dict.fromkeys(one.tag for one in self.slices))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per tag and system.

        Columns: `tag` (missing for queries without any), `system`, `n`, `few` (fewer than 10 queries), `mean`,
        `mean_low`, `mean_high`, `baseline_mean`, `difference`, `low`, `high`, `p`, `wins`, `ties`, `losses`,
        `effect_size`.
        """
        head = ("tag", "system", "n", "few")
        return frame_of(
            [{name: getattr(one, name) for name in head} | row_columns(one, self.metric) for one in self.slices]
        )


# Cost against quality.


@dataclass(frozen=True)
class SystemCost:
    """One system's quality and costs."""

    system: str
    """Its name in the comparison."""
    quality: float
    """The mean of the metric: more is better."""
    costs: Mapping[str, float]
    """What is known of each cost: less is better."""
    beaten_by: tuple[str, ...] = ()
    """The systems that are as good in everything and better in something."""
    left_out: str | None = None
    """Why the system is on neither side of the front; None when it takes part."""

    @property
    def on_front(self) -> bool:
        """Whether no other system beats it in all."""
        return self.left_out is None and not self.beaten_by


@dataclass(frozen=True)
class Tradeoff(Presentable):
    """Quality and costs of each system, and the Pareto front: the systems that no other beats in all."""

    quality: Metric
    """More is better."""
    costs: tuple[str, ...]
    """Less is better."""
    systems: tuple[SystemCost, ...]
    """In the order of the comparison."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""

    @property
    def front(self) -> tuple[str, ...]:
        """The systems that no other beats in all."""
        return tuple(one.system for one in self.systems if one.on_front)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why systems are left out."""
        return tuple(f"{one.system}: {one.left_out}" for one in self.systems if one.left_out is not None)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per system: `system`, `quality`, each cost, `on_front`, `beaten_by`, `left_out` (why)."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"system": one.system, "quality": one.quality}
                | {cost: one.costs.get(cost, math.nan) for cost in self.costs}
                | {"on_front": one.on_front, "beaten_by": one.beaten_by, "left_out": one.left_out}
                for one in self.systems
            ]
        )
