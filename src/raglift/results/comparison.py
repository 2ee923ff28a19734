"""The public result of `compare()`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeGuard

from raglift.analysis.agents import Agents, compared_agents
from raglift.analysis.comparison import compare_systems
from raglift.analysis.frames import frame_of, per_query_frames, row_columns
from raglift.analysis.lift import comparison_by_tag
from raglift.analysis.recommendation import Recommendation, recommendation
from raglift.analysis.records import ComparisonRecord, EvaluationRecord, TagSlices, Tradeoff
from raglift.analysis.shared_queries import cell_name, system_name
from raglift.analysis.tradeoffs import tradeoff
from raglift.errors import ConfigurationError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.retrieval.passage_search import PassageSearch
from raglift.stats.margins import MARGIN
from raglift.utilities.limits import resolved, user_path

if TYPE_CHECKING:
    import pandas as pd

    from raglift.matching.rule import MatchRule
    from raglift.rendering.presenting import Presentable
    from raglift.report.charts.plots import ComparisonPlots
    from raglift.types.metric import Metric


Source = EvaluationRecord | str | os.PathLike[str]
"""An evaluation, or the folder of a saved one."""
_FEWEST = 2


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ComparisonRecord):
    """Two or more systems on the same queries, each compared with a baseline."""

    evaluations: tuple[Evaluation, ...]
    """What was measured of each."""

    @classmethod
    def from_record(cls, record: ComparisonRecord) -> Self:
        """Return a plain record with the methods of this class, and its evaluations with those of theirs."""
        content = {field.name: getattr(record, field.name) for field in fields(record)}
        return cls(**content | {"evaluations": tuple(map(Evaluation.from_record, record.evaluations))})

    def evaluation(self, name: str) -> Evaluation:
        """Return what was measured of one system.

        Raises:
            ConfigurationError: no system has that name.
        """
        return Evaluation.from_record(super().evaluation(name))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric and system, the primary metric first.

        Columns: `metric` (for example `ndcg@10`), `system`, `stage`, `n`, `mean`, `mean_low`, `mean_high`,
        `baseline_mean`, `difference`, `low`, `high`, `p`, `wins`, `ties`, `losses`, `effect_size`, `p_holm`,
        `minimum_detectable_effect`, `verdict`, `exploratory`, `truncated`. What a row does not have (the baseline a
        difference, an exploratory metric `p_holm`) is missing.
        """
        stages = self.stages
        return frame_of(
            [
                {"metric": str(row.metric), "system": row.system, "stage": stages[row.system]}
                | row_columns(row, row.metric)
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

        It is looked for among the systems that cost less than the one with the highest mean; where none is shown to be
        as good, that one is recommended. Costs are looked at one after the other: those in `known`, language model
        calls, latency (or, where it was not measured, rerankers and embedding models), what a prompt holds, the size of
        the index. With 40 queries or more, what one half of the queries chooses is measured on the other.

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
            also: further results to show on it, as those of `raglift.correct`.
            overwrite: replace a report that is already there; any other file is never replaced.

        Returns:
            The path.

        Raises:
            ConfigurationError: a path that cannot be written.
            MissingDependency: a package that pages are made with is not installed.
        """
        from raglift.report.page.rendering import write_page
        from raglift.report.page.results import comparison_page

        return write_page(comparison_page(self, also=also), path, overwrite=overwrite)

    @property
    def plot(self) -> ComparisonPlots:
        """Its charts: `comparison.plot.differences()`, `.lift()`, `.by_prompt_size()` and others."""
        from raglift.report.charts.plots import ComparisonPlots

        return ComparisonPlots(self)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; print() shows the table)"


def compare(
    evaluations: Source | Sequence[Source] | Mapping[str, Source],
    *others: Source,
    baseline: str | int | None = None,
    primary: Metric | str | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    hold_out: bool = False,
    match: str | MatchRule | None = None,
    budget: int | None = None,
) -> Comparison:
    """Compare systems on the same queries, and say which differences are real.

    Queries are paired by id, and every system is compared at its last stage. One metric decides, corrected by Holm over
    the systems; every other is exploratory. A query that failed counts 0; one without labels counts for none.

    Systems of different chunks are compared by what is read (`comparison.fairness`): matched by coverage, and decided
    by recall averaged over all prompt sizes up to a budget of tokens (`recall_area@tokens(2000)`). Each is decided
    against the baseline by that pair alone. Where prompts of a run end before the budget, there is a verdict only if
    what did not come could not turn it; `evaluate(…, budget=2000)` fills them.

    Args:
        evaluations: two or more, in a list or by name, or the first of several; folders of saved ones are opened.
        *others: the others, where the first is one evaluation: `compare(one, other)`.
        baseline: the system that the others are compared with, by name or number. By default the first of two; of more
            the only one that is plain BM25, else the one with the highest mean of the primary metric.
        primary: the metric that decides, one that all systems have scored; by default NDCG@10 or, where that was not
            scored, NDCG at the deepest depth that was, else the first measure of quality at its deepest. One that is
            named decides as it is, also where chunks differ in length.
        names: what to call the systems; by default the mapping's names, the folders' names, or what their stages do.
        seed: of the permutation tests and the choice of halves.
        confidence: how often intervals hold the true value; a difference counts as real at p ≤ 1 − confidence.
        hold_out: choose the best system on one half of the queries, and measure it on the other: the best of many is
            partly the luckiest.
        match: "containment", "coverage", "fuzzy" or a `MatchRule`, by which all are scored again where they were not;
            by default coverage where their chunks differ and they were scored by containment, else as they were.
        budget: the tokens of the prompt at which systems of different chunks are compared; by default 2,000.

    Raises:
        ConfigurationError: an argument that cannot be used; or systems without a fair pair: no query in common, other
            labels, another match rule or profile.
        RunError: a folder that holds no evaluation.
    """
    systems = named_evaluations([evaluations, *others] if others else evaluations, names)  # type: ignore[list-item]
    found = compare_systems(
        systems,
        baseline=baseline,
        primary=primary,
        seed=seed,
        confidence=confidence,
        hold_out=hold_out,
        match=match,
        budget=budget,
    )
    return Comparison.from_record(found)


def named_evaluations(
    evaluations: Source | Sequence[Source] | Mapping[str, Source], names: Sequence[str] | None
) -> dict[str, Evaluation]:
    """Return the evaluations by name, in the order given.

    Cells of a sweep have names; other saved evaluations are called by their folder, and what is not saved by its
    stages, as `dense + late-interaction`, numbered where that is not enough.

    Raises:
        ConfigurationError: fewer than two, something that is not an evaluation, or names that do not fit them.
        RunError: a folder that holds no evaluation.
    """
    if isinstance(evaluations, Mapping):
        if names is not None:
            raise ConfigurationError("compare: found names= with a mapping, which has names; expected one of the two")
        names, sources = list(evaluations), list(evaluations.values())
    elif _is_source(evaluations):
        sources = [evaluations]
    elif not isinstance(evaluations, Sequence):
        raise ConfigurationError(
            f"compare: found a {type(evaluations).__name__}; expected two or more evaluations, or folders of saved "
            "ones, in a list or a mapping from names to them"
        )
    else:
        sources = list(evaluations)
    if len(sources) < _FEWEST:
        raise ConfigurationError(
            f"compare: found {len(sources)} evaluation{'s' * (len(sources) != 1)}; expected two or more "
            "(what one reranker changed: evaluation.reranker_lift())"
        )
    for place, source in enumerate(sources):
        if not _is_source(source):
            where = f"evaluations[{place}]" if names is None else f"evaluations[{place}] ({names[place]!r})"
            raise ConfigurationError(
                f"compare: {where}: found a {type(source).__name__}; expected an Evaluation, or the folder of a saved "
                "one"
            )
    opened = [_opened(source) for source in sources]
    chosen = distinct_names(sources, opened) if names is None else _checked(names, len(sources))
    return dict(zip(chosen, opened, strict=True))


def _is_source(source: object) -> TypeGuard[Source]:
    return isinstance(source, (EvaluationRecord, str, os.PathLike))


def _opened(source: Source) -> Evaluation:
    return Evaluation.from_record(source) if isinstance(source, EvaluationRecord) else load_evaluation(Path(source))


def _checked(names: Sequence[str], count: int) -> list[str]:
    found = [names] if isinstance(names, str) else list(names)
    if len(found) != count:
        raise ConfigurationError(f"names: found {len(found)}; expected {count}, one for each evaluation")
    faulty = [name for name in found if not isinstance(name, str) or not name.strip()]
    if faulty:
        raise ConfigurationError(f"names: found {faulty[0]!r}; expected a text that is not empty for each evaluation")
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise ConfigurationError(f"names: found {twice[0]!r} more than once; expected a different one for each")
    return found


def distinct_names(sources: Sequence[Source], opened: Sequence[Evaluation]) -> list[str]:
    """Return a name for each source, by what was opened of it; those that share one get a number."""
    plain = [_plain_name(source, evaluation) for source, evaluation in zip(sources, opened, strict=True)]
    if len(set(plain)) == len(plain):
        return plain
    folders = [source if isinstance(source, EvaluationRecord) else str(Path(source)) for source in sources]
    longer = [
        str(folder) if plain.count(name) > 1 and isinstance(folder, str) else name
        for name, folder in zip(plain, folders, strict=True)
    ]
    names: list[str] = []
    for name in longer:
        number = 2
        unique = name
        while unique in names:
            unique, number = f"{name} #{number}", number + 1
        names.append(unique)
    return names


def _plain_name(source: Source, evaluation: Evaluation) -> str:
    if isinstance(source, EvaluationRecord):
        return system_name(evaluation)
    return cell_name(evaluation) or resolved(user_path(source)).name or str(source)
