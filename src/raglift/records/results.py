"""What an evaluation found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.records.exporting import Exporting
from raglift.records.metric import as_metric, has_differences
from raglift.records.tracking import Tracking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.diagnosis import Explanation, Failure, Headroom, LossBreakdown, MetricsExplanation
    from raglift.matching import Judgements
    from raglift.records.label_sources import LabelSources
    from raglift.records.labels import Dataset
    from raglift.records.lift import Lift
    from raglift.records.metric import Metric
    from raglift.records.rankings import Hit, Run
    from raglift.records.scores import Scores
    from raglift.records.slices import TagSlices
    from raglift.report.charts import EvaluationPlots

__all__ = ["Evaluation"]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Exporting, Tracking):
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

    def to_frame(self) -> pd.DataFrame:
        """Return one row a metric and k: before, after, lift, n, and each stage's mean."""
        from raglift.report import evaluation_frame

        return evaluation_frame(self)

    def per_query(self) -> pd.DataFrame:
        """Return one row a query, metric and stage, with the value and, for failures, the error."""
        from raglift.report import per_query_frame

        return per_query_frame(self)

    def loss(self, k: int | None = None) -> LossBreakdown:
        """Return where each fact got to, and where it was lost: counts that add up, with the queries behind each.

        Args:
            k: the depth at which a fact counts as found; by default the deepest that was scored.
        """
        from raglift.diagnosis import loss_breakdown

        return loss_breakdown(self, k)

    def failures(self) -> tuple[Failure, ...]:
        """Return why queries failed: each cause with its queries, the commonest first; empty where none failed."""
        from raglift.diagnosis import failures_of

        return failures_of(self.run)

    def headroom(self, k: int | None = None) -> Headroom:
        """Return recall and NDCG of a perfect reranker over the same candidates.

        Args:
            k: the depth; by default the deepest that was scored.
        """
        from raglift.diagnosis import headroom

        return headroom(self, k)

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

    def explain(self, query_id: str, *, stage: str | None = None) -> Explanation:
        """Return which hit of one query matched which passage, and what it earned in each metric.

        Args:
            query_id: the id of the query.
            stage: the stage; by default the last.

        Raises:
            DatasetError: no query has that id.
            ConfigurationError: no stage has that name.
        """
        from raglift.diagnosis import explain

        return explain(self, query_id, stage=stage)

    def explain_metrics(
        self,
        query_id: str | None = None,
        *,
        metrics: Metric | str | Sequence[Metric | str] | None = None,
        stage: str | None = None,
    ) -> MetricsExplanation:
        """Return one query's metrics as several tools compute them, and what makes each differ from the default.

        Args:
            query_id: the id of the query; by default that whose values differ most between profiles.
            metrics: what to look at; by default what was scored.
            stage: the stage; by default the last.

        Raises:
            DatasetError: no query has that id.
            ConfigurationError: no stage has that name; a metric that is unknown, needs a depth, or looks deeper than
                the run's candidates; no query is asked for and none has labels.
        """
        from raglift.diagnosis import explain_metrics

        return explain_metrics(self, query_id, metrics=metrics, stage=stage)

    def over_k(self, metric: Metric | str, ks: Sequence[int] | None = None) -> pd.DataFrame:
        """Return a metric's mean at many depths, without asking the system again.

        Args:
            metric: a measure without a depth, as `"ndcg"`.
            ks: the depths; by default from 1 to the number of candidates.

        Returns:
            One row a depth: `k`, one column a stage with its mean (missing where the stage could not return so many
            hits), and `n`, the queries that the first stage's mean is over.

        Raises:
            ConfigurationError: no such measure, or a depth that is not from 1 to the number of candidates.
        """
        from raglift.diagnosis import over_k

        return over_k(self, metric, ks)

    def reranker_lift(
        self, primary: Metric | str | None = None, *, seed: int = 0, confidence: float = 0.95, moved: int = 5
    ) -> Lift:
        """Return what reranking changed, with intervals, a test, and the queries that moved most in each direction.

        Args:
            primary: the metric that decides; every other is exploratory. By default NDCG@10 or, where that was not
                scored, NDCG at the deepest depth that was, else the first measure of quality at its deepest.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.
            moved: how many queries to name in each direction, at most.

        Raises:
            ConfigurationError: a system of one stage, or a metric that was not scored.
        """
        from raglift.comparison import reranker_lift

        return reranker_lift(self, primary=primary, seed=seed, confidence=confidence, moved=moved)

    def by_tag(self, metric: Metric | str | None = None, *, seed: int = 0, confidence: float = 0.95) -> TagSlices:
        """Return the means, and the lifts where there is a reranker, on the queries of each tag: exploratory.

        Args:
            metric: what to look at; by default as in `reranker_lift`.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.

        Raises:
            ConfigurationError: the metric was not scored.
        """
        from raglift.comparison import evaluation_by_tag

        return evaluation_by_tag(self, metric, seed=seed, confidence=confidence)

    @property
    def plot(self) -> EvaluationPlots:
        """Its charts: `evaluation.plot.over_k("recall")`, `.lift()`, `.loss()`, `.intervals()`, `.tags()`."""
        from raglift.report.charts import EvaluationPlots

        return EvaluationPlots(self)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the evaluation to a folder of plain files, which `raglift.load_evaluation` reads.

        Args:
            folder: where; its parents are made when missing.
            overwrite: replace an evaluation that is already there.

        Raises:
            RunError: the folder exists, or cannot be written.
        """
        from raglift.store import save_evaluation

        return save_evaluation(self, folder, overwrite=overwrite)

    def report(
        self,
        path: str | Path,
        *,
        primary: Metric | str | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        overwrite: bool = True,
    ) -> Path:
        """Write a page to look at: one HTML file that needs nothing else, with every query in it.

        Args:
            path: the file.
            primary: the metric that decides; by default as in `reranker_lift`.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: a metric that was not scored or is no measure of quality, an argument outside its range,
                or a path that cannot be written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.evaluation import evaluation_document
        from raglift.report.page.rendering import write_page

        document = evaluation_document(self, primary=primary, seed=seed, confidence=confidence)
        return write_page(document, path, overwrite=overwrite)

    def to_markdown(self, primary: Metric | str | None = None) -> str:
        """Return the evaluation in short as GitHub's Markdown, for a pull request.

        Args:
            primary: the metric that decides; by default as in `reranker_lift`.

        Raises:
            ConfigurationError: the metric was not scored, or is no measure of quality.
        """
        from raglift.report.brief.evaluation import evaluation_brief
        from raglift.report.markdown import markdown_of

        return markdown_of(evaluation_brief(self, primary))

    def _repr_html_(self) -> str:
        from raglift.report.brief.evaluation import evaluation_brief
        from raglift.report.notebook import html_of

        return html_of(evaluation_brief(self))

    def __repr__(self) -> str:
        stages = " → ".join(self.scores.stages)
        return f"Evaluation({self.dataset.name!r}, {stages}, {len(self.dataset):,} queries; print() shows the table)"

    def __str__(self) -> str:
        from raglift.report import evaluation_text

        return evaluation_text(self)
