"""The public results of an evaluation and of its reranker lift."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import raglift.report.presenting  # noqa: F401 — makes the views of all analyses known
from raglift.analysis.answering import DELTA, RISK, abstention
from raglift.analysis.explanation import explain, over_k
from raglift.analysis.frames import evaluation_frame, per_query_frame
from raglift.analysis.lift import evaluation_by_tag, reranker_lift
from raglift.analysis.outcomes import failure_analysis, failures_of
from raglift.analysis.records import EvaluationRecord
from raglift.analysis.sessions import session_analysis
from raglift.analysis.upper_bound import headroom as perfect_reranker
from raglift.rendering.markdown import markdown_of
from raglift.report.views.evaluation import evaluation_view
from raglift.retrieval.passage_search import PassageSearch
from raglift.stats.intervals import CONFIDENCE
from raglift.storage.loading import read_evaluation
from raglift.storage.saving import save_evaluation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from raglift.analysis.answering import Abstention
    from raglift.analysis.explanation import Explanation
    from raglift.analysis.outcomes import Failure, FailureAnalysis
    from raglift.analysis.records import Lift, TagSlices
    from raglift.analysis.sessions import SessionAnalysis
    from raglift.analysis.upper_bound import Headroom
    from raglift.rendering.presenting import Presentable
    from raglift.report.charts.plots import EvaluationPlots
    from raglift.storage.rankings.exporting import Export
    from raglift.types.metric import Metric


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(EvaluationRecord):
    """One system measured on one dataset, before and after reranking."""

    @classmethod
    def from_record(cls, record: EvaluationRecord) -> Self:
        """Return a plain record with the methods of this class; nothing is computed again."""
        return record if isinstance(record, cls) else cls(**{name: getattr(record, name) for name in _FIELDS})

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric and k: before, after, lift, n, and each stage's mean."""
        return evaluation_frame(self)

    def per_query(self) -> pd.DataFrame:
        """Return one row per query, metric and stage, with the value and, for failures, the error."""
        return per_query_frame(self)

    def failure_analysis(self, k: int | None = None) -> FailureAnalysis:
        """Return where each fact got to, and where it was lost: counts that add up, with the queries behind each.

        Args:
            k: the depth at which a fact counts as found; by default the deepest that was scored.
        """
        return failure_analysis(self, k)

    def failures(self) -> tuple[Failure, ...]:
        """Return why queries failed: each cause with its queries, the commonest first; empty if none failed."""
        return failures_of(self.run)

    def session_analysis(self) -> SessionAnalysis:
        """Return how an agent searched: recall after each call, what came again, and where each fact was lost.

        Raises:
            ConfigurationError: the evaluation is not of sessions, from `raglift.evaluate_sessions`.
        """
        return session_analysis(self, PassageSearch)

    def headroom(self, k: int | None = None) -> Headroom:
        """Return recall and NDCG of a perfect reranker over the same candidates.

        Args:
            k: the depth; by default the deepest that was scored.
        """
        return perfect_reranker(self, k)

    def abstention(
        self,
        *,
        risk: float = RISK,
        delta: float = DELTA,
        stage: str | None = None,
        k: int | None = None,
        seed: int = 0,
    ) -> Abstention:
        """Return from which score of the first hit on a query should be answered, so that errors are rare.

        The lowest such threshold is chosen on one half of the queries and checked on the other: see
        `raglift.analysis.abstention`, which has the method and its sources.

        Args:
            risk: which share of the unanswerable queries may be answered, above 0 and below 1.
            delta: how often the promise may fail, above 0 and below 1.
            stage: whose scores; by default the last stage.
            k: the depth; by default the deepest that was scored.
            seed: of the halves.

        Raises:
            ConfigurationError: an argument outside its range, a stage without scores, an evaluation of sessions or of
                repeated queries, no queries of either kind, or a risk that so few queries cannot certify.
        """
        return abstention(self, risk=risk, delta=delta, stage=stage, k=k, seed=seed)

    def explain(self, query_id: str, *, stage: str | None = None) -> Explanation:
        """Return which hit of one query matched which passage, and what it earned in each metric.

        Args:
            query_id: the id of the query.
            stage: the stage; by default the last.

        Raises:
            DatasetError: no query has that id.
            ConfigurationError: no stage has that name.
        """
        return explain(self, query_id, stage=stage)

    def over_k(self, metric: Metric | str, ks: Sequence[int] | None = None) -> pd.DataFrame:
        """Return a metric's mean at many depths, without asking the system again.

        Args:
            metric: a measure without a depth, as `"ndcg"`.
            ks: the depths; by default from 1 to the number of candidates.

        Returns:
            One row a depth: `k`, one column per stage with its mean (missing where the stage could not return so many
            hits), and `n`, the queries that the first stage's mean is over.

        Raises:
            ConfigurationError: no such measure, or a depth that is not from 1 to the number of candidates.
        """
        return over_k(self, metric, ks)

    def reranker_lift(
        self,
        primary: Metric | str | None = None,
        *,
        seed: int = 0,
        confidence: float = 0.95,
        moved: int = 5,
    ) -> Lift:
        """Return what reranking changed, with intervals, a test, and the queries that moved most in each direction.

        Args:
            primary: the metric that decides; every other is exploratory. By default NDCG@10 or, where that was not
                scored, NDCG at the deepest depth that was, else the first measure of quality at its deepest.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.
            moved: how many queries to name in each direction, at most.

        Raises:
            ConfigurationError: a system of one stage, a metric that was not scored, or an argument outside its range.
        """
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
        return evaluation_by_tag(self, metric, seed=seed, confidence=confidence)

    @property
    def plot(self) -> EvaluationPlots:
        """Its charts: `.over_k("recall")`, `.lift()`, `.failure_analysis()`, `.tags()`."""
        from raglift.report.charts.plots import EvaluationPlots

        return EvaluationPlots(self)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the evaluation to a folder of plain files, which `raglift.load_evaluation` reads.

        Args:
            folder: where; its parents are made when missing.
            overwrite: replace an evaluation that is already there.

        Raises:
            RunError: the folder exists, or cannot be written.
        """
        return save_evaluation(self, folder, overwrite=overwrite)

    def report(
        self,
        path: str | Path,
        *,
        primary: Metric | str | None = None,
        seed: int = 0,
        confidence: float = 0.95,
        also: Sequence[Presentable] = (),
        overwrite: bool = True,
    ) -> Path:
        """Write a page to look at: one HTML file that needs nothing else, with every query in it.

        Args:
            path: the file.
            primary: the metric that decides; by default as in `reranker_lift`.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.
            also: further results to show on it, as those of `raglift.correct` or `abstention()`.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: a metric that was not scored or is not a measure of quality, an argument outside its
                range, or a path that cannot be written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.rendering import write_page
        from raglift.report.page.results import evaluation_page

        document = evaluation_page(self, primary=primary, seed=seed, confidence=confidence, also=also)
        return write_page(document, path, overwrite=overwrite)

    def to_markdown(self, primary: Metric | str | None = None, *, seed: int = 0, confidence: float = CONFIDENCE) -> str:
        """Return it in short as GitHub's Markdown, for a pull request.

        Args:
            primary: the metric that decides; by default as in `reranker_lift`.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.

        Raises:
            ConfigurationError: the metric was not scored or is not a measure of quality, or an argument outside its
                range.
        """
        return markdown_of(evaluation_view(self, primary, seed=seed, confidence=confidence))

    def to_trec(
        self,
        folder: str | Path,
        *,
        stage: str | None = None,
        all_stages: bool = False,
        overwrite: bool = False,
    ) -> Export:
        """Write a TREC run and qrels, which trec_eval and most other tools read; what comes back says what to compare.

        Parquet is written by `raglift.storage.rankings.export`.

        Args:
            folder: where to, for `run.trec`, `qrels.txt` and `export.json`; its parents are made when missing.
            stage: the stage whose rankings are written; by default the last.
            all_stages: write the rankings of all stages, as `run.1-retrieve.trec`, `run.2-rerank.trec`, ….
            overwrite: replace an export that is already there; nothing else is ever replaced.

        Raises:
            ConfigurationError: no such stage.
            DatasetError: the folder is taken or cannot be written.
        """
        from raglift.storage.rankings.exporting import export

        return export(self, folder, stage=stage, all_stages=all_stages, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; print() shows the table)"


_FIELDS = tuple(field.name for field in fields(EvaluationRecord))


def load_evaluation(folder: str | Path) -> Evaluation:
    """Read an evaluation that was saved.

    The documents are not saved with it, so they are not in the dataset that comes back.

    Raises:
        RunError: the folder is missing, damaged, or from a newer version; the message names the file and line.
    """
    return Evaluation.from_record(read_evaluation(folder))
