"""Systems compared on the same queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import raglift.report.views.analyses  # noqa: F401 — makes the views of all analyses known
from raglift.analysis.comparison import (
    Alike,
    apart_from,
    bounds_of_prompts,
    choose_baseline,
    fair_systems,
    not_in_common,
    pair_up,
    rows_of,
)
from raglift.analysis.costs import tradeoff
from raglift.analysis.fairness import Fairness, with_leads
from raglift.analysis.frames import frame_of, per_query_frames, row_columns, verdict_of
from raglift.analysis.lift import comparison_by_tag
from raglift.analysis.notes import retries_note
from raglift.analysis.paired_statistics import Method, method_of, method_text
from raglift.analysis.recommendation import Recommendation, recommendation
from raglift.analysis.sessions import Agents, compared_agents
from raglift.analysis.shared_queries import baseline_of, shared_queries
from raglift.analysis.unjudged import Unjudged, unjudged_of
from raglift.analysis.warnings import too_skewed_note, warnings_of, wins_against_means
from raglift.errors import ConfigurationError
from raglift.metrics.parsing import as_metric, not_scored
from raglift.rendering.presenting import Presentable, view_of
from raglift.report.views.comparison import comparison_view
from raglift.results.sources import Source, named_evaluations
from raglift.retrieval.passage_search import PassageSearch
from raglift.stats.margins import MARGIN

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.records import ComparisonRow, TagSlices, Tradeoff
    from raglift.matching.rule import MatchRule
    from raglift.report.charts.plots import ComparisonPlots
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import LabelSources
    from raglift.types.metric import Metric


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Presentable):
    """Two or more systems on the same queries, each compared with a baseline."""

    names: tuple[str, ...]
    """What the systems are called, in the order given."""
    evaluations: tuple[Evaluation, ...]
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
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""
    notes: tuple[str, ...] = ()
    """Further notes."""
    fairness: Fairness | None = None
    """What was done because systems have different chunks; None if they have the same."""
    unjudged: Unjudged | None = None
    """How unlabelled hits could change the verdict; None if nearly all are labelled, or labels cannot say it."""
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
        rows = [row for row in self.of(self.primary) if row.n and not row.truncated]
        return max(rows, key=lambda row: row.mean).system if rows else None

    def evaluation(self, name: str) -> Evaluation:
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
            raise ConfigurationError(f"metric: {not_scored(wanted, self.metrics, 'compared')}")
        return found

    def row(self, name: str, metric: Metric | str | None = None) -> ComparisonRow:
        """Return one system on one metric; by default the primary one.

        Raises:
            ConfigurationError: no system has that name, or the metric was not compared.
        """
        return self.of(self.primary if metric is None else metric)[self._place(name)]

    def deciding(self, name: str) -> ComparisonRow:
        """Return the row that decides about one system.

        It is the row of the primary metric; if some systems have other chunks than the baseline, those with the same
        have the row of the metric that decides between equal chunks.

        Raises:
            ConfigurationError: no system has that name.
        """
        primary = self.row(name)
        return next((row for row in self.rows if row.system == name and not row.exploratory), primary)

    def __getitem__(self, metric: Metric | str) -> pd.DataFrame:
        """Return a metric's value for each question (row) and system (column): `comparison["ndcg@10"]`."""
        import pandas as pd

        values = {row.system: self.evaluation(row.system)[metric].loc[list(self.query_ids)] for row in self.of(metric)}
        return pd.DataFrame(values).rename_axis(columns="system")

    def _ipython_key_completions_(self) -> list[str]:
        return list(map(str, self.metrics))

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ConfigurationError(f"system: found {name!r}; expected one of {', '.join(map(repr, self.names))}")
        return self.names.index(name)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric and system, the primary metric first.

        Columns: `metric` (for example `ndcg@10`), `system`, `stage`, `n`, `mean`, `mean_low`, `mean_high`,
        `baseline_mean`, `difference`, `low`, `high`, `p`, `wins`, `ties`, `losses`, `effect_size`, `p_holm`,
        `minimum_detectable_effect`, `verdict` (also `baseline` and `exploratory`), `exploratory`, `truncated`. What a
        row does not have (the baseline a difference, an exploratory metric `p_holm`) is missing.
        """
        stages = self.stages
        return frame_of(
            [
                {"metric": str(row.metric), "system": row.system, "stage": stages[row.system]}
                | row_columns(row, row.metric)
                | {"verdict": "baseline" if row.system == self.baseline else verdict_of(row)}
                for row in self.rows
            ]
        )

    def per_query(self) -> pd.DataFrame:
        """Return one row per system, query, metric and stage, with the value and, for failures, the error."""
        return per_query_frames(dict(zip(self.names, self.evaluations, strict=True)), "system")

    def by_tag(self, metric: Metric | str | None = None) -> TagSlices:
        """Return each system compared with the baseline on the queries of each tag: exploratory, nothing is corrected.

        Args:
            metric: what to look at; by default the primary metric.

        Raises:
            ConfigurationError: the metric was not compared.
        """
        return comparison_by_tag(self, metric)

    def agents(self) -> Agents:
        """Return how the agents searched: what each found, kept and lost, and how much runs of a query differ.

        Raises:
            ConfigurationError: no system has sessions, from `raglift.evaluate_sessions`.
        """
        return compared_agents(self, PassageSearch)

    def pareto(
        self,
        quality: Metric | str | None = None,
        costs: Sequence[str] | None = None,
        *,
        known: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Tradeoff:
        """Return cost against quality, and the systems that no other beats in all: the Pareto front.

        Args:
            quality: more is better; by default the primary metric.
            costs: less is better: `latency_p50`, `latency_p95` (seconds of one query, its stages added up),
                `context_tokens` (at the depth of the quality), `index_seconds`, `index_bytes`, `chunks`, or a name in
                `known`. By default those that are known of at least one system.
            known: costs that you know, as `{"dollars": {"dense": 0.4, "bm25": 0}}`.

        Raises:
            ConfigurationError: a cost that does not exist, or that is known of no system.
        """
        return tradeoff(self, quality, costs, known=known)

    def recommend(
        self, *, known: Mapping[str, Mapping[str, float]] | None = None, margin: float = MARGIN
    ) -> Recommendation:
        """Return which system to use: the cheapest that is shown to be within a margin of every other.

        Candidates are the systems that cost less than the one with the highest mean; if none is shown to be as good,
        that one is recommended. Costs are compared one after the other: those in `known`, language model calls, latency
        (if it was not measured, rerankers and embedding models), the size of prompts, the size of the index. With 40
        questions or more, the choice made on one half of them is measured on the other.

        Args:
            known: costs that you know, as `{"dollars": {"dense": 0.4, "bm25": 0}}`.
            margin: how far below another mean counts as equally good.

        Raises:
            ConfigurationError: a margin below 0, or costs of a system that is not there.
        """
        return recommendation(self, known=known, margin=margin)

    def report(self, path: str | Path, *, also: Sequence[Presentable] = (), overwrite: bool = True) -> Path:
        """Write a page to look at: one HTML file that needs nothing else, with every query in it.

        Args:
            path: the file.
            also: further results to show on it, such as those of `raglift.correct`.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: a path that cannot be written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.rendering import comparison_page, write_page

        return write_page(comparison_page(self, also=also), path, overwrite=overwrite)

    @property
    def plot(self) -> ComparisonPlots:
        """Its charts: `comparison.plot()` is the usual one; `.differences()`, `.by_prompt_size()` and others."""
        from raglift.report.charts.plots import ComparisonPlots

        return ComparisonPlots(self)

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.names))
        shape = f"{names}; {self.primary}, {len(self.query_ids):,} questions"
        return f"{type(self).__name__}({shape}; print() shows the table)"


view_of.register(Comparison, comparison_view)


def compare(
    evaluations: Source | Sequence[Source] | Mapping[str, Source],
    *others: Source,
    baseline: str | int | None = None,
    primary: Metric | str | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    match: str | MatchRule | None = None,
    budget: int | None = None,
) -> Comparison:
    """Compare systems on the same queries, and say which differences are real.

    Queries are paired by id, and every system is compared at its last stage. One metric decides, corrected by Holm over
    the systems; every other is exploratory. A query that failed counts 0; one without labels counts for none.

    Systems of different chunks are compared by what is read (`comparison.fairness`): matched by coverage, and decided
    by recall averaged over all prompt sizes up to a budget of tokens (`recall_area@tokens(2000)`). Each is decided
    against the baseline by that pair alone. If prompts of a run end before the budget, there is a verdict only if the
    missing hits could not reverse it; `evaluate(…, budget=2000)` fills the prompts.

    Args:
        evaluations: two or more, in a list or by name, or the first of several; folders of saved ones are opened.
        *others: the others, if the first is one evaluation: `compare(one, other)`.
        baseline: the system that the others are compared with, by name or number. By default the first of two; of more
            the only one that is plain BM25, else the one with the highest mean of the primary metric.
        primary: the metric that decides, one that all systems have scored; by default NDCG@10 or, if that was not
            scored, NDCG at the deepest scored depth, else the first measure of quality at its deepest. One that is
            named decides as it is, also if chunks differ in length.
        names: what to call the systems; by default the mapping's names, the folders' names, or what their stages do.
        seed: of the permutation tests, and of the halves of a recommendation's check.
        confidence: how often intervals hold the true value; a difference counts as real at p ≤ 1 − confidence.
        match: "containment", "coverage", "fuzzy" or a `MatchRule`: those scored by another rule are scored again; by
            default coverage if their chunks differ and they were scored by containment, else as they were scored.
        budget: the tokens of the prompt at which systems of different chunks are compared; by default 2,000.

    Raises:
        ConfigurationError: an argument that cannot be used; or systems without a fair pair: no query in common, other
            labels, another match rule or profile.
        RunError: a folder that holds no evaluation.
    """
    given = named_evaluations([evaluations, *others] if others else evaluations, names)  # type: ignore[list-item]
    method = method_of(seed, confidence)
    first = baseline_of(list(given), baseline)
    fair = fair_systems(given, first, primary, match, budget)
    systems, shared, fairness, decides = fair.systems, fair.shared, fair.fairness, fair.metrics[0]
    reference = choose_baseline(systems, baseline, pair_up(systems, first, (decides,), shared))
    chosen = reference.name
    if chosen != first:
        shared = shared_queries(systems, chosen)
    paired = pair_up(systems, chosen, fair.metrics, shared)
    alike = None
    if fairness is not None:
        apart = apart_from(fair.as_scored, chosen, fairness)
        fairness = with_leads(replace(fairness, apart=apart), systems, shared, method)
        if len(apart) < len(systems) - 1 and decides != fair.in_hits:
            as_scored = fair.as_scored if match is None else systems
            alike = Alike.of(as_scored, systems, chosen, fair.in_hits, apart, shared)
    rows = rows_of(paired, method, alike, bounds_of_prompts(systems, paired, shared))
    unjudged = unjudged_of(systems, decides, shared.places, same_chunks=fairness is None)
    deciding = [row for row in rows if not row.exploratory]
    corrected = "nothing to correct for: one comparison"
    if len(systems) > 2:
        corrected = f"Holm over {len(systems) - 1} systems"
        corrected += ", not over the choice of the baseline" if reference.is_chosen else ""
    text = method_text([row.difference for row in deciding if row.system != chosen], decides, corrected)
    return Comparison(
        names=tuple(systems),
        evaluations=tuple(systems.values()),
        baseline=chosen,
        primary=decides,
        query_ids=tuple(query.id for query in shared.queries),
        rows=tuple(rows),
        method=replace(method, text=text),
        warnings=tuple(warnings_of(systems, shared, paired, rows, fairness, unjudged, is_chosen=reference.is_chosen)),
        notes=(
            *shared.notes,
            *(f"{name}: {retries}" for name, one in systems.items() if (retries := retries_note(one.run))),
            *not_in_common(systems, fair.metrics),
            *(note for row in deciding for note in wins_against_means(row, row.system, chosen)),
            *(note for row in deciding for note in too_skewed_note(row, row.system, chosen)),
        ),
        fairness=fairness,
        unjudged=unjudged,
        baseline_reason=reference.reason,
    )
