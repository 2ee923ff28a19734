"""Results of evaluations and comparisons, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from raglift.analysis.frames import frame_of, row_columns
from raglift.analysis.truncation import truncation_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import named_metrics
from raglift.metrics.parsing import as_metric
from raglift.rendering.presenting import Presentable
from raglift.types.labels import PEOPLE, LabelSources
from raglift.types.rankings import CANDIDATES
from raglift.utilities.display import counted

NoteKind = Literal["failed", "unjudged", "primary", "read in part", "changed hits", "retried", "other"]
"""What a note is about: queries that failed, hits that nobody judged, the metric that decides by default, what models
did not read to the end, hits of rerankers that are not their candidates, and queries that were asked again."""

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.analysis.fairness import Fairness
    from raglift.analysis.unjudged import Unjudged
    from raglift.matching.matches import MatchTable
    from raglift.metrics.computing import Scores
    from raglift.stats.intervals import Interval
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric
    from raglift.types.rankings import Hit, Run


# Results of an evaluation.


@dataclass(frozen=True)
class Note:
    """Something that a reader of the figures should know."""

    text: str
    """What it says."""
    kind: NoteKind = "other"
    """What it is about, for those who show or check it elsewhere."""


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationRecord(Presentable):
    """One system measured on one dataset, before and after reranking."""

    run: Run
    """What the system returned."""
    dataset: Dataset
    """What it was measured on."""
    scores: Scores
    """Every metric at every stage."""
    profile: str = "default"
    """Whose metric conventions were used."""
    truncated: Mapping[str, int] = field(default_factory=dict)
    """For each stage that returned no more than so many hits whatever was asked: how many."""
    remarks: tuple[Note, ...] = ()
    """What readers of the figures should know, each with its kind."""
    match_table: tuple[MatchTable, ...] = ()
    """What matched, for each stage; empty for a loaded evaluation, which makes them again when they are asked for."""
    truncated_tokens: Mapping[str, int] = field(default_factory=dict)
    """For each truncated stage: the tokens that each of its cut rankings holds at least, where budgets were scored."""
    beyond_candidates: Mapping[str, int] = field(default_factory=dict)
    """For each metric that is higher after the last stage than the candidates' own texts make it: for how many queries.
    Such a metric has no lift, since what raises it was not retrieved; not known of runs saved before this was looked
    at."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the figures."""
        return tuple(remark.text for remark in self.remarks)

    def remarks_but(self, *kinds: NoteKind) -> tuple[Note, ...]:
        """Return the remarks of all but some kinds."""
        return tuple(remark for remark in self.remarks if remark.kind not in kinds)

    @property
    def label_sources(self) -> LabelSources:
        """Label provenance: people, or which models, made the labels."""
        return self.dataset.label_sources

    @property
    def before(self) -> str:
        """The first stage: what was retrieved."""
        return self.scores.stages[0]

    @property
    def after(self) -> str:
        """The last stage; the first one when there is no other."""
        return self.scores.stages[-1]

    def named_metrics(self, primary: Metric) -> list[Metric]:
        """Return the metrics that were asked for by name, where they name no depth at that of the primary one."""
        return named_metrics(self.run.spec.get("metrics", ()), self.scores.metrics, primary)

    @property
    def depth_limit(self) -> int | None:
        """The deepest k that every stage returns as deployed; None if none of them limits it."""
        limits = [*self.truncated.values(), self.run.spec.get("deployed_depth", 0)]
        return min(filter(None, limits), default=None)

    def is_truncated(self, stage: str, metric: Metric | str) -> bool:
        """Whether a metric looks deeper than the stage could return: at more hits, or at more tokens than they have."""
        limit, metric = self.truncated.get(stage), as_metric(metric)
        if limit is not None and metric.budget is not None:
            return metric.budget.most > self.truncated_tokens.get(stage, 0)
        return limit is not None and (metric.k is None or metric.k > limit)

    def is_beyond_candidates(self, stage: str, metric: Metric | str) -> bool:
        """Whether hits that were not among the candidates raise a metric after a stage, which is known of the last."""
        return stage == self.after and str(as_metric(metric)) in self.beyond_candidates

    def truncation(self, stage: str) -> str:
        """Say how many hits a truncated stage returned at most, and why: `rerank returned no more than 4 hits, …`."""
        limit, run = self.truncated[stage], self.run
        is_first = stage == run.stages[0].name
        if is_first and run.spec.get("k") == limit:
            why = "as many as it was asked for"
        elif run.stages[0].has_own_depth if is_first else run.spec.get("depth") == "deployed":
            why = "as deployed"
        else:
            why = "whatever was asked"
        return f"{stage} returned no more than {counted(limit, 'hit')}, {why}"

    @property
    def candidates(self) -> str | None:
        """The stage of the candidates, where they are not the hits that the deployed system begins with; else None."""
        return CANDIDATES if CANDIDATES in self.scores.stages[1:-1] else None

    def lift(self, metric: Metric | str, *, over: str | None = None) -> NDArray[np.float64]:
        """Return the metric after the last stage minus before, one value a query; NaN if there is no fair pair.

        The pair is the same query, the same candidates and the same k. A stage that returned fewer hits than k as
        deployed, or a reranker that did whatever it was given, has no fair pair at that k, and neither has a system of
        one stage. At a token budget the
        reranked candidates fill a different prefix; there is no fair pair where any stage could not fill the budget.
        And there is none where hits that were not among the candidates raise the metric (`beyond_candidates`).

        Args:
            metric: one that was scored.
            over: the stage that counts as before; by default the first. Where depth changes what a system ranks first,
                `over="candidates"` gives what the reranker alone changed.

        Raises:
            ConfigurationError: the metric was not scored, or no such stage comes before the last.
        """
        metric = as_metric(metric)
        before = self.scores.of(self.scores.stages[self._place_before(over)], metric)
        after = self.scores.of(self.after, metric)
        return after - before if self.has_fair_lift(metric, over=over) else np.full_like(before, np.nan)

    def has_fair_lift(self, metric: Metric | str, *, over: str | None = None) -> bool:
        """Whether the metric before and after reranking is a fair pair, as `lift` says.

        Raises:
            ConfigurationError: no such stage comes before the last.
        """
        metric, place = as_metric(metric), self._place_before(over)
        if str(metric) in self.beyond_candidates:
            return False
        counts = metric.budget is not None or self.run.stages[place].has_own_depth
        stages = self.scores.stages[place if counts else place + 1 :]
        return len(self.scores.stages) > 1 and not any(self.is_truncated(stage, metric) for stage in stages)

    def mean_lift(self, metric: Metric | str, *, over: str | None = None) -> float | None:
        """Return the mean lift; None if there is no fair pair.

        Raises:
            ConfigurationError: the metric was not scored, or no such stage comes before the last.
        """
        lift = self.lift(metric, over=over)
        counted = lift[~np.isnan(lift)]
        return float(counted.mean()) if len(counted) else None

    def hits(self, query_id: str, stage: str | None = None) -> tuple[Hit, ...]:
        """Return what one query got, best first; nothing if it failed before the stage was done.

        Args:
            query_id: the id of the query.
            stage: the stage; by default the last.

        Raises:
            DatasetError: no query has that id.
            ConfigurationError: no stage has that name.
        """
        stage, stages = self.after if stage is None else stage, self.scores.stages
        if stage not in stages:
            raise ConfigurationError(f"stage: found {stage!r}; expected one of {', '.join(stages)}")
        trace = self.run.traces[self.dataset.queries.index(self.dataset.query(query_id))]
        return next((done.ranking.hits for done in trace.stages if done.stage == stage), ())

    def _place_before(self, over: str | None) -> int:
        """Return the place of the stage that a lift is over."""
        if over is None:
            return 0
        known = self.scores.stages[:-1]
        if over not in known:
            raise ConfigurationError(
                f"over: found {over!r}; expected a stage before the last: {', '.join(known) or 'there is none'}"
            )
        return known.index(over)

    def __repr__(self) -> str:
        stages = " → ".join(self.scores.stages)
        return f"{type(self).__name__}({self.dataset.name!r}, {stages}, {len(self.dataset):,} queries)"


# Systems compared on the same queries, and which differences are significant.


@dataclass(frozen=True)
class Method:
    """How intervals and p-values were computed."""

    text: str
    """The tests and intervals by name, in one sentence."""
    confidence: float
    """Of every interval; a difference counts as real where p is at most 1 minus it."""
    seed: int
    """Of resampling, permutation and the choice of halves."""

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return 1.0 - self.confidence


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


@dataclass(frozen=True)
class HeldOut:
    """The best system, chosen on one half of the queries and measured on the other."""

    system: str
    """The system with the highest mean on the first half."""
    selection: tuple[str, ...]
    """The queries that it was chosen on."""
    selection_difference: float
    """Its mean minus that of `baseline` on these: likely too large, since it was chosen for it."""
    held_out: tuple[str, ...]
    """The queries that had no part in the choice."""
    mean: float
    """Its mean on these."""
    baseline_mean: float
    """That of `baseline`."""
    difference: PairedDifference
    """Its difference to `baseline` on these."""
    verdict: str
    """`better`, `worse`, `not significant` or `too skewed to decide`: one test, so there is nothing to correct for."""
    baseline: str
    """What it is compared with: the comparison's baseline; where that was chosen for its mean on all queries, the
    system with the second highest mean on the first half."""
    of_all: bool = False
    """Whether the comparison's baseline could be chosen too; then `baseline` is the second best of the first half."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonRecord(Presentable):
    """Two or more systems on the same queries, each compared with a baseline."""

    names: tuple[str, ...]
    """What the systems are called, in the order given."""
    evaluations: tuple[EvaluationRecord, ...]
    """What was measured of each."""
    baseline: str
    """The system that the others are compared with."""
    primary: Metric
    """The one metric that decides; every other is exploratory."""
    query_ids: tuple[str, ...]
    """The queries that all systems answered, in the baseline's order."""
    rows: tuple[ComparisonRow, ...]
    """For each metric that all systems have scored, each system: the primary metric first."""
    method: Method
    """How intervals and p-values were computed."""
    held_out: HeldOut | None = None
    """The best system, measured on queries that had no part in the choice, where that was asked for."""
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""
    notes: tuple[str, ...] = ()
    """Further notes."""
    fairness: Fairness | None = None
    """What was done because systems have different chunks; None where they do not."""
    as_scored: tuple[EvaluationRecord, ...] = ()
    """The evaluations before they were matched by one rule, or made fair in other ways."""
    unjudged: Unjudged | None = None
    """What hits that nobody judged can do to the verdict; None where nearly all were, or labels do not say it."""
    baseline_reason: str = ""
    """Why the baseline is the one it is: `as requested`, `the first of two`, `the only plain BM25`, or its mean."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that were compared, the primary one first."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    @property
    def label_sources(self) -> LabelSources:
        """Label provenance: people, or which models, made the labels."""
        return self.evaluation(self.baseline).dataset.label_sources

    @property
    def stages(self) -> Mapping[str, str]:
        """The stage at which each system was compared: its last."""
        return {name: evaluation.after for name, evaluation in zip(self.names, self.evaluations, strict=True)}

    @property
    def others(self) -> tuple[str, ...]:
        """The systems that are compared with the baseline."""
        return tuple(name for name in self.names if name != self.baseline)

    @property
    def best(self) -> str | None:
        """The system with the highest mean of the primary metric, of equal ones the first; None if none has a mean.

        Systems that return fewer hits than the metric looks at cannot be it.
        """
        return self._best_of(self.names)

    @property
    def best_without_truncation(self) -> str | None:
        """The best of the systems whose embedding model and rerankers read all chunks whole, as far as it is known."""
        return self._best_of([name for name in self.names if not truncation_of(self.evaluation(name))])

    def _best_of(self, names: Sequence[str]) -> str | None:
        rows = [row for row in self.of(self.primary) if row.system in names and row.n and not row.truncated]
        return max(rows, key=lambda row: row.mean).system if rows else None

    def evaluation(self, name: str) -> EvaluationRecord:
        """Return what was measured of one system.

        Raises:
            ConfigurationError: no system has that name.
        """
        return self.evaluations[self._place(name)]

    def of(self, metric: Metric | str) -> tuple[ComparisonRow, ...]:
        """Return one metric's rows, one a system in the order given.

        Raises:
            ConfigurationError: the metric was not compared.
        """
        wanted = as_metric(metric)
        found = tuple(row for row in self.rows if row.metric == wanted)
        if not found:
            known = ", ".join(map(str, self.metrics))
            raise ConfigurationError(f"metric: found {wanted}, which was not compared; expected one of {known}")
        return found

    def row(self, name: str, metric: Metric | str | None = None) -> ComparisonRow:
        """Return one system on one metric; by default the primary one.

        Raises:
            ConfigurationError: no system has that name, or the metric was not compared.
        """
        return self.of(self.primary if metric is None else metric)[self._place(name)]

    def deciding(self, name: str) -> ComparisonRow:
        """Return the row that decides about one system.

        It is of the primary metric; of a system that has the chunks of the baseline, in a comparison where others have
        not, it is of what decides where chunks are the same.

        Raises:
            ConfigurationError: no system has that name.
        """
        primary = self.row(name)
        return next((row for row in self.rows if row.system == name and not row.exploratory), primary)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ConfigurationError(f"system: found {name!r}; expected one of {', '.join(map(repr, self.names))}")
        return self.names.index(name)

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.names))
        return f"{type(self).__name__}({names}; {self.primary}, {len(self.query_ids):,} queries)"


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

    evaluation: EvaluationRecord
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
        known = ", ".join(str(row.metric) for row in rows)
        raise ConfigurationError(f"metric: found {wanted}, which was not scored; expected one of {known}")

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
