"""One system measured on one dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import raglift.repairing.view
import raglift.report.views.analyses  # noqa: F401 — makes the views of all analyses known
from raglift.analysis.answering import DELTA, RISK, Abstention, abstention
from raglift.analysis.explanation import Explanation, explain, over_k
from raglift.analysis.frames import evaluation_frame, per_query_frame
from raglift.analysis.lift import evaluation_by_tag, lift_rows, reranker_lift
from raglift.analysis.outcomes import Failure, FailureAnalysis, failure_analysis, failures_of
from raglift.analysis.sessions import SessionAnalysis, session_analysis
from raglift.analysis.upper_bound import Headroom
from raglift.analysis.upper_bound import headroom as perfect_reranker
from raglift.errors import ConfigurationError
from raglift.metrics.computing import Scores, named_metrics
from raglift.metrics.parsing import as_metric
from raglift.rendering.markdown import markdown_of
from raglift.rendering.presenting import Presentable, view_of
from raglift.report.views.evaluation import evaluation_view
from raglift.retrieval.passage_search import PassageSearch
from raglift.stats.intervals import CONFIDENCE
from raglift.storage.loading import read_evaluation
from raglift.storage.saving import save_evaluation
from raglift.types.rankings import CANDIDATES, Hit, Run
from raglift.utilities.display import counted

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.records import Lift, Note, NoteKind, TagSlices
    from raglift.matching.matches import MatchTable
    from raglift.repairing.records import Repairs
    from raglift.report.charts.plots import EvaluationPlots
    from raglift.storage.rankings.exporting import Export
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Document
    from raglift.types.labels import LabelSources
    from raglift.types.metric import Metric


_INTERNAL = {
    *("beyond_candidates", "depth_limit", "has_fair_lift", "is_beyond_candidates", "is_truncated", "last_values"),
    *("match_table", "named_metrics", "remarks", "remarks_but", "truncated_tokens", "truncation", "unscored"),
}
"""What only raglift itself needs: completion does not offer it."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Presentable):
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
    """For each stage that never returned more than a number of hits: that number."""
    remarks: tuple[Note, ...] = ()
    """What readers of the figures should know, each with its kind."""
    match_table: tuple[MatchTable, ...] = ()
    """What matched, for each stage; empty for a loaded evaluation, which makes them again when they are asked for."""
    truncated_tokens: Mapping[str, int] = field(default_factory=dict)
    """For each truncated stage: the fewest tokens in one of its cut rankings, if budgets were scored."""
    beyond_candidates: Mapping[str, int] = field(default_factory=dict)
    """For each metric that is higher after the last stage than the candidates' own texts make it: for how many queries.
    Such a metric has no lift, since what raises it was not retrieved; not known of runs saved before this was looked
    at."""

    @classmethod
    def unscored(cls, run: Run, dataset: Dataset, profile: str = "default") -> Evaluation:
        """Return an evaluation that is not matched and scored yet."""
        return cls(run, dataset, Scores((), (), (), np.zeros((0, 0, 0))), profile)

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
        """Return the metrics that were asked for by name; those without a depth at the depth of the primary one."""
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
        """The stage of the candidates, if they are not the hits that the deployed system begins with; else None."""
        return CANDIDATES if CANDIDATES in self.scores.stages[1:-1] else None

    def lift(self, metric: Metric | str, *, over: str | None = None) -> NDArray[np.float64]:
        """Return the metric after the last stage minus before, one value a query; NaN if there is no fair pair.

        A fair pair is the same question, the same candidates and the same k. There is none at a k at which a stage
        returned fewer hits, at a token budget that a stage could not fill, for a system of one stage, and if hits that
        were not among the candidates raise the metric (`beyond_candidates`).

        Args:
            metric: one that was scored.
            over: the stage that counts as before; by default the first. If depth changes what a system ranks first,
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
        """Return the hits of one question, best first; nothing if it failed before the stage was done.

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

    def last_values(self, metric: Metric | str, query_ids: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Return a metric after the last stage, of all queries or of some; NaN for a query that is left out."""
        return self.scores.of(self.after, metric, query_ids)

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

    def __getitem__(self, metric: Metric | str | tuple[Metric | str, str]) -> pd.Series[float]:
        """Return a metric's value for each question, by query id: `evaluation["ndcg@10"]`.

        It is of the last stage, or of the one that is named: `evaluation["ndcg@10", "retrieve"]`. A question that is
        left out of the mean has NaN.

        Raises:
            ConfigurationError: the metric was not scored, or no stage has that name.
        """
        import pandas as pd

        name, stage = metric if isinstance(metric, tuple) else (metric, self.after)
        index = pd.Index(self.scores.query_ids, name="query_id")
        return pd.Series(self.scores.of(stage, name).copy(), index, name=str(as_metric(name)))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - _INTERNAL)

    def _ipython_key_completions_(self) -> list[str]:
        return list(map(str, self.scores.metrics))

    def mean(self, metric: Metric | str, *, stage: str | None = None) -> float:
        """Return a metric's mean over the questions that count, after the last stage or another; NaN if none counts."""
        return self.scores.mean(self.after if stage is None else stage, metric)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric, with 95% intervals.

        Columns: `metric` (as all functions take it: `hit_rate@10`); `mean`, `mean_low` and `mean_high` (after the last
        stage); `n` (the questions in the mean); `truncated` (whether the metric looks deeper than a stage could
        return). With a reranker also `before`, `before_low` and `before_high` (after the first stage); `lift`,
        `lift_low`, `lift_high` and `p` as in `reranker_lift()`, missing if there is no fair pair; `verdict`, which is
        `exploratory` for all but the primary metric; `beyond_candidates` (for how many questions hits that were not
        candidates raise the metric); and the mean at further stages, `stage:<name>`, and the `lift:candidates`, if
        there are such.
        """
        return evaluation_frame(self, lift_rows(self))

    def per_query(self) -> pd.DataFrame:
        """Return one row per query, metric and stage, with the value and, for failures, the error."""
        return per_query_frame(self)

    def failure_analysis(self, k: int | None = None) -> FailureAnalysis:
        """Count facts by outcome (found, ranked too low, not retrieved, …), and list the questions behind each count.

        Args:
            k: the depth at which a fact counts as found; by default the deepest that was scored.
        """
        return failure_analysis(self, k)

    def failures(self) -> tuple[Failure, ...]:
        """Return why queries failed: each cause with its queries, the commonest first; empty if none failed."""
        return failures_of(self.run)

    def session_analysis(self) -> SessionAnalysis:
        """Return how an agent searched: recall after each call, repeated hits, and where each fact was lost.

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
        """Return the score of the first hit below which to answer “I don't know”, so that wrong answers are rare.

        The lowest such threshold is chosen on one half of the questions and checked on the other;
        docs/how-to/abstention.md has the method and its sources.

        Args:
            risk: the share of unanswerable questions that may be answered, above 0 and below 1.
            delta: how often the share may be exceeded, above 0 and below 1.
            stage: the stage whose scores are used; by default the last.
            k: the depth; by default the deepest that was scored.
            seed: the seed of the random halves.

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

    def repairs(
        self,
        documents: Dataset | Sequence[Document] | None = None,
        *,
        system: Any = None,
        reranker: Any = None,
        k: int | None = None,
        seed: int = 0,
        confidence: float = CONFIDENCE,
        proposing: bool = True,
        progress: bool | None = None,
    ) -> Repairs:
        """Return why each lost fact is lost, and which changes of the system mend them, each really run again.

        Args:
            documents: what was searched, or a dataset that has them; a saved evaluation does not.
            system: the retriever that was evaluated, if it is your own: it is asked again.
            reranker: the reranker that was evaluated with it, or its name.
            k: by which rank a fact is to be found; by default the deepest that was scored.
            seed: of the halves of the questions, and of the tests.
            confidence: of the tests.
            proposing: whether changes are also tried on all questions, which takes most of the time.
            progress: whether to show progress; None decides by the terminal.

        Raises:
            ConfigurationError: an agent, no documents, or a k that is not a depth of the run.
        """
        from raglift.repairing.repairs import find_repairs

        return find_repairs(
            self,
            documents,
            system=system,
            reranker=reranker,
            k=k,
            seed=seed,
            confidence=confidence,
            proposing=proposing,
            progress=progress,
        )

    def over_k(self, metric: Metric | str, ks: Sequence[int] | None = None) -> pd.DataFrame:
        """Return a metric's mean at many depths, without asking the system again.

        Args:
            metric: a measure without a depth, such as `"ndcg"`.
            ks: the depths; by default from 1 to the number of candidates.

        Returns:
            One row per depth: `k`, one column per stage with its mean (missing at depths that the stage could not
            return), and `n`, the number of questions in the first stage's mean.

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
        """Return what reranking changed, with intervals, a test, and the questions that changed most.

        Args:
            primary: the metric that decides; every other is exploratory. By default NDCG@10 or, if that was not
                scored, NDCG at the deepest scored depth, else the first measure of quality at its deepest.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.
            moved: how many questions to name in each direction, at most.

        Raises:
            ConfigurationError: a system of one stage, a metric that was not scored, or an argument outside its range.
        """
        return reranker_lift(self, primary=primary, seed=seed, confidence=confidence, moved=moved)

    def by_tag(self, metric: Metric | str | None = None, *, seed: int = 0, confidence: float = 0.95) -> TagSlices:
        """Return the means, and with a reranker the lifts, on the questions of each tag: exploratory.

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
        """Its charts: `evaluation.plot()` is the usual one; `.over_k("recall")`, `.lift()` and others."""
        from raglift.report.charts.plots import EvaluationPlots

        return EvaluationPlots(self)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the evaluation to a folder of plain files, which `raglift.load_evaluation` reads.

        Args:
            folder: the folder; its parents are made if missing.
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
        target: Mapping[str, float] | None = None,
        overwrite: bool = True,
    ) -> Path:
        """Write a page to look at: one HTML file that needs nothing else, with every query in it.

        Args:
            path: the file.
            primary: the metric that decides; by default as in `reranker_lift`.
            seed: of the permutation tests.
            confidence: how often intervals hold the true value.
            also: further results to show on it, as those of `raglift.correct` or `abstention()`.
            target: the lowest means that you ask for, as `{"ndcg@10": 0.7}`: the page says whether they are reached.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: a metric that was not scored or is not a measure of quality, an argument outside its
                range, or a path that cannot be written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.rendering import evaluation_page, write_page

        document = evaluation_page(self, primary=primary, seed=seed, confidence=confidence, also=also, target=target)
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
        """Write a TREC run and qrels, which trec_eval and most other tools read.

        Parquet is written by `raglift.storage.rankings.export`.

        Args:
            folder: the folder of `run.trec`, `qrels.txt` and `export.json`; its parents are made if missing.
            stage: the stage whose rankings are written; by default the last.
            all_stages: write the rankings of all stages: `run.1-retrieve.trec`, `run.2-rerank.trec`, ….
            overwrite: replace an export that is already there; nothing else is ever replaced.

        Raises:
            ConfigurationError: no such stage.
            DatasetError: the folder is taken or cannot be written.
        """
        from raglift.storage.rankings.exporting import export

        return export(self, folder, stage=stage, all_stages=all_stages, overwrite=overwrite)

    def __repr__(self) -> str:
        stages = " → ".join(self.scores.stages)
        shape = f"{self.dataset.name!r}, {stages}, {len(self.dataset):,} questions"
        return f"{type(self).__name__}({shape}; print() shows the table)"


view_of.register(Evaluation, evaluation_view)


def load_evaluation(folder: str | Path) -> Evaluation:
    """Read an evaluation that was saved.

    The documents are not saved with it, so they are not in the dataset that comes back.

    Raises:
        RunError: the folder is missing, damaged, or from a newer version; the message names the file and line.
    """
    return read_evaluation(folder, Evaluation)
