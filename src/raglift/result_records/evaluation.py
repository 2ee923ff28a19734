"""What an evaluation found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.metrics import as_metric, has_differences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records.dataset import Dataset
    from raglift.records.label_sources import LabelSources
    from raglift.records.metric import Metric
    from raglift.records.rankings import Hit, Run
    from raglift.result_records.scores import Scores

__all__ = ["EvaluationRecord"]


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationRecord:
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
    notes: tuple[str, ...] = ()
    """What the reader of the figures should know."""
    judgements: tuple[Judgements, ...] = ()
    """What matched, for each stage; empty for a loaded evaluation, which makes them again when they are asked for."""
    truncated_tokens: Mapping[str, int] = field(default_factory=dict)
    """For each truncated stage: the tokens that each of its cut rankings holds at least, where budgets were scored."""

    @property
    def label_sources(self) -> LabelSources:
        """Who gave the labels that its figures rest on: people, and which models."""
        return self.dataset.label_sources

    @property
    def before(self) -> str:
        """The first stage: what was retrieved."""
        return self.scores.stages[0]

    @property
    def after(self) -> str:
        """The last stage; the first one when there is no other."""
        return self.scores.stages[-1]

    def is_truncated(self, stage: str, metric: Metric | str) -> bool:
        """Whether a metric looks deeper than the stage could return: at more hits, or at more tokens than they have."""
        limit, metric = self.truncated.get(stage), as_metric(metric)
        if limit is not None and metric.budget is not None:
            return metric.budget.most > self.truncated_tokens.get(stage, 0)
        return limit is not None and (metric.k is None or metric.k > limit)

    def lift(self, metric: Metric | str) -> NDArray[np.float64]:
        """Return the metric after the last stage minus before, one value a query; NaN where there is no fair pair.

        The pair is the same query, the same candidates and the same k. A reranker that returned fewer hits than k
        whatever it was given has no fair pair at that k, and neither has a system of one stage. At a token budget the
        reranked candidates fill another beginning; there is no fair pair where any stage could not fill the budget.
        """
        metric = as_metric(metric)
        before = self.scores.of(self.before, metric)
        after = self.scores.of(self.after, metric)
        return after - before if self.has_fair_lift(metric) else np.full_like(before, np.nan)

    def has_fair_lift(self, metric: Metric | str) -> bool:
        """Whether the metric before and after reranking is a fair pair, as `lift` says.

        One whose mean is geometric has none: the difference of two such means is no mean of differences.
        """
        metric = as_metric(metric)
        if not has_differences(metric):
            return False
        stages = self.scores.stages if metric.budget is not None else self.scores.stages[1:]
        return len(self.scores.stages) > 1 and not any(self.is_truncated(stage, metric) for stage in stages)

    def mean_lift(self, metric: Metric | str) -> float | None:
        """Return the mean lift; None where there is no fair pair."""
        lift = self.lift(metric)
        counted = lift[~np.isnan(lift)]
        return float(counted.mean()) if len(counted) else None

    def hits(self, query_id: str, stage: str | None = None) -> tuple[Hit, ...]:
        """Return what one query got, best first; nothing where it failed before the stage was done.

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

    def __repr__(self) -> str:
        stages = " → ".join(self.scores.stages)
        return f"{type(self).__name__}({self.dataset.name!r}, {stages}, {len(self.dataset):,} queries)"
