"""Scores: the metrics to compute, and their values for all queries at every stage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.matching.by_id import match_ids
from raglift.metrics import budgets, session_prefixes
from raglift.metrics.parsing import as_metric, not_scored, parse, parse_depth, refuse_budget, require_installed
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.prompt_measures import DEFAULT_BUDGET
from raglift.metrics.registry import MEASURES
from raglift.types.metric import DEFAULT_METRICS as DEFAULT_NAMES
from raglift.types.metric import Calls, Metric, Tokens
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.dataset import Dataset
    from raglift.types.rankings import Run

DEFAULT_METRICS = DEFAULT_NAMES
"""The measures that are taken unless others are asked for."""


# A metric's values from the matches, and their names.


def compute(match_table: MatchTable, metric: Metric, profile: str = "default") -> NDArray[np.float64]:
    """Return a metric's value for each query, in dataset order.

    Queries without labels come out as 0 (or with what their hits are worth or cost) and are left out by the caller; NaN
    marks a query that the profile leaves out of its mean, or of which the measure says nothing. At a token budget, a
    metric is that of the whole prefix of the ranking that fits; at a number of calls, of what these returned.

    Raises:
        ConfigurationError: an unknown profile, measure or setting; a measure that needs a k has none, is a
            user's and fails, or is not installed; for a token budget, the encoding
            cannot be found.
        MissingDependency: for a token budget, tiktoken is not installed.
    """
    if profile not in PROFILES:
        raise ConfigurationError(f"profile: found {profile!r}; expected one of {', '.join(PROFILES)}")
    metric = parse(str(metric))
    measure, conventions = MEASURES[metric.name], PROFILES[profile]
    if measure.needs_k and metric.k is None and metric.name not in conventions.without_k:
        raise ConfigurationError(f"{metric}: found no depth; expected one, as '{metric.name}@10'")
    match_table, metric = cut_at_depth(match_table, metric)
    values = conventions.functions.get(metric.name, measure.compute)(match_table, metric)
    if metric.name not in conventions.leaves_out_empty:
        return values
    came_back = (match_table.whole or match_table).hits > 0  # a first hit larger than a token budget did come back
    return np.where(came_back, values, np.nan)


def cut_at_depth(match_table: MatchTable, metric: Metric) -> tuple[MatchTable, Metric]:
    """Return what is within a token budget or a number of calls, and the metric of all that is left.

    A metric at a number of hits, which measures cut themselves, or of the whole ranking comes back as it is.
    """
    if metric.budget is not None and not MEASURES[metric.name].needs_budget:
        return budgets.within_budget(match_table, metric.budget), replace(metric, depth=None)
    if metric.calls is not None:
        return session_prefixes.first_calls(match_table, metric.calls), replace(metric, depth=None)
    return match_table, metric


def require_irrelevant(metrics: Iterable[Metric], *, says_irrelevant: bool) -> None:
    """Check that labels say of something that it is irrelevant, where a metric needs that."""
    needing = [str(metric) for metric in metrics if MEASURES[metric.name].needs_irrelevant]
    if needing and not says_irrelevant:
        raise ConfigurationError(
            f"{needing[0]}: found labels that say of nothing that it is irrelevant; expected some that do, as a grade "
            "of 0 in qrels or `judged_irrelevant` of a question: add them (raglift labels review and grade do), or "
            "take another metric, as ap"
        )


def counts_tokens(metric: Metric) -> bool:
    """Whether a metric needs the tokens of the hits to be counted."""
    return metric.budget is not None or MEASURES[metric.name].is_cost


def mean_of(metric: Metric, values: NDArray[np.float64]) -> float:
    """Return the mean of a metric over the queries that count; NaN if none counts."""
    return MEASURES[metric.name].mean_of(values)


def title(metric: Metric) -> str:
    """Return what one query's value is called: `RR@10`, `Recall up to 2,000 tokens`."""
    measure = MEASURES[metric.name]
    if measure.needs_budget and metric.budget is not None:
        return f"{measure.title} {metric.budget.most:,} tokens"
    return str(metric).replace(metric.name, measure.title, 1)


def mean_title(metric: Metric) -> str:
    """Return what the mean over queries is called: `MRR@10`."""
    measure = MEASURES[metric.name]
    return title(metric) if not measure.mean_title else str(metric).replace(metric.name, measure.mean_title, 1)


# Metric values of one evaluation.


@dataclass(frozen=True, eq=False)
class Scores:
    """Metric values per query, stage and k."""

    query_ids: tuple[str, ...]
    """The queries, in dataset order."""
    stages: tuple[str, ...]
    """The stages, in the order of the system."""
    metrics: tuple[Metric, ...]
    """The metrics, in the order asked for."""
    values: NDArray[np.float64]
    """Shape (stages, metrics, queries); NaN if a query is left out of the mean."""

    def only(self, metrics: Sequence[Metric]) -> Scores:
        """Return the scores of some of the metrics."""
        places = [self.metrics.index(metric) for metric in metrics]
        return replace(self, metrics=tuple(metrics), values=self.values[:, places])

    def places_of(self, query_ids: Sequence[str]) -> NDArray[np.intp]:
        """Return where some queries stand among these."""
        place = {query_id: number for number, query_id in enumerate(self.query_ids)}
        return np.array([place[query_id] for query_id in query_ids], dtype=np.intp)

    def of(self, stage: str, metric: Metric | str, query_ids: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Return one metric's values at one stage, of all queries or of some; NaN if a query is left out.

        Raises:
            ConfigurationError: the stage or the metric was not scored.
        """
        metric = as_metric(metric)
        if stage not in self.stages:
            raise ConfigurationError(f"stage: found {stage!r}; expected one of {', '.join(self.stages)}")
        if metric not in self.metrics:
            raise ConfigurationError(f"metric: {not_scored(metric, self.metrics)}")
        values: NDArray[np.float64] = self.values[self.stages.index(stage), self.metrics.index(metric)]
        return values if query_ids is None else values[self.places_of(query_ids)]

    def n(self, stage: str, metric: Metric | str) -> int:
        """Return how many queries the mean is over."""
        return int(np.count_nonzero(~np.isnan(self.of(stage, metric))))

    def mean(self, stage: str, metric: Metric | str) -> float:
        """Return the mean over the queries that count; NaN when none does."""
        metric = as_metric(metric)
        return mean_of(metric, self.of(stage, metric))


# Every metric at every stage, or for rankings of ids, with the denominator defined in one place.


def rankings_by_stage(run: Run) -> list[list[Ranking]]:
    """Return, for each stage, one ranking per query; empty if the query failed before the stage finished."""
    names = [stage.name for stage in run.stages]
    by_query = [{stage.stage: stage.ranking for stage in trace.stages} for trace in run.traces]
    return [[rankings.get(name, Ranking()) for rankings in by_query] for name in names]


def score(
    run: Run, dataset: Dataset, match_tables: Sequence[MatchTable], metrics: Sequence[Metric], profile: str
) -> Scores:
    """Compute every metric at every stage.

    A mean is over all labelled queries: one that failed or returned nothing counts 0; one without labels, or that the
    corpus does not answer, is NaN and left out; so is one of which the measure says nothing.

    Raises:
        ConfigurationError: an unknown profile, or a metric without the depth it needs.
    """
    unlabelled = np.array([not query.is_labelled for query in dataset.queries], dtype=bool)
    failed = np.array([trace.error is not None for trace in run.traces], dtype=bool)
    values = np.full((len(match_tables), len(metrics), len(dataset)), np.nan)
    for stage, judged in enumerate(match_tables):
        for place, metric in enumerate(metrics):
            computed = compute(judged, metric, profile)
            # A profile may leave a query out because nothing came back; a failure counts 0 all the same.
            if not MEASURES[metric.name].is_conditional:
                computed = np.where(failed & np.isnan(computed), 0.0, computed)
            values[stage, place] = np.where(unlabelled, np.nan, computed)
    return Scores(
        query_ids=tuple(query.id for query in dataset.queries),
        stages=tuple(stage.name for stage in run.stages),
        metrics=tuple(metrics),
        values=values,
    )


@dataclass(frozen=True, eq=False, repr=False)
class RankingScores:
    """Metric values of rankings that were given as lists of ids."""

    query_ids: tuple[str, ...]
    """The queries, in the order of the labels."""
    metrics: tuple[Metric, ...]
    """The metrics, in the order asked for."""
    values: NDArray[np.float64]
    """Shape (metrics, queries); NaN if a query is left out of the mean."""
    empty: int
    """Queries with labels whose ranking is missing or empty; they count 0."""
    unlabelled: int
    """Rankings of queries without a relevant id: they are left out."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know: that the rankings have none of the labelled ids."""

    def of(self, metric: Metric | str) -> NDArray[np.float64]:
        """Return one metric's values, one a query; NaN if the query is left out.

        Raises:
            ConfigurationError: the metric was not scored.
        """
        parsed = parse(str(metric))
        if parsed not in self.metrics:
            raise ConfigurationError(f"metric: {not_scored(parsed, self.metrics)}")
        values: NDArray[np.float64] = self.values[self.metrics.index(parsed)]
        return values

    def n(self, metric: Metric | str) -> int:
        """Return how many queries the mean is over."""
        return int(np.count_nonzero(~np.isnan(self.of(metric))))

    def mean(self, metric: Metric | str) -> float:
        """Return the mean over the queries that count; NaN when none does."""
        return mean_of(parse(str(metric)), self.of(metric))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per query, and one column per metric."""
        import pandas as pd

        index = pd.Index(self.query_ids, name="query_id")
        return pd.DataFrame(self.values.T, index=index, columns=[str(metric) for metric in self.metrics])

    def __repr__(self) -> str:
        return f"RankingScores({len(self.metrics)} metrics, {len(self.query_ids):,} questions; print() shows the means)"

    def __str__(self) -> str:
        titles = [mean_title(metric) for metric in self.metrics]
        width = max(map(len, titles), default=0)
        lines = [
            f"{name:{width}}  {self.mean(metric):.4f}  n = {self.n(metric):,}"
            for name, metric in zip(titles, self.metrics, strict=True)
        ]
        if self.empty:
            lines.append(f"questions with labels whose ranking is missing or empty: {self.empty:,}")
        if self.unlabelled:
            lines.append(f"rankings of questions without labels, which are left out: {self.unlabelled:,}")
        lines += [f"! {note}" for note in self.notes]
        return "\n".join(lines)


def score_rankings(
    rankings: Mapping[str, Sequence[str]],
    relevant: Mapping[str, Mapping[str, int] | Iterable[str]],
    metrics: Sequence[Metric | str] = ("hit_rate@10", "precision@10", "recall@10", "rr@10", "ap@10", "ndcg@10"),
    *,
    profile: str = "default",
) -> RankingScores:
    """Score rankings that are there already, as lists of the ids of chunks or documents.

    Each relevant id is one fact. The values are those of `evaluate` for chunk-id labels. A query with labels and
    without a ranking counts 0; a ranking of a query without labels is left out; both are counted.

        rl.score_rankings({"q1": ["c7", "c2"]}, {"q1": {"c2": 3, "c9": 1}}, ["ndcg@10", "mrr"]).mean("ndcg@10")

    Args:
        rankings: for each query id, the ids that came back, best first.
        relevant: for each query id, the relevant ids, or the grade of each: an integer; 0 is judged irrelevant, and
            less was in the pool but not judged, which only the measures of judged ids distinguish.
        metrics: what to compute, as "ndcg@10" or `NDCG @ 10`.
        profile: whose metric conventions: "default", "tutorial", "autorag", "trec", "llamaindex" or "ragas".

    Raises:
        DatasetError: an id that is not a text, a grade that is not an integer, no list where a ranking is wanted;
            every fault is listed.
        ConfigurationError: an unknown metric or profile, a metric that ids are not enough for, or rankings and labels
            that have no query in common.
    """
    chosen = _metrics_of_ids(metrics)
    judged = match_ids(rankings, relevant)
    if relevant and rankings.keys().isdisjoint(relevant):
        found = f"questions as {next(iter(rankings))!r}" if rankings else "no question"
        raise ConfigurationError(
            f"score_rankings: found no question in common: rankings of {found}, labels of questions as "
            f"{next(iter(relevant))!r}; expected the same ids on both sides"
        )
    require_irrelevant(chosen, says_irrelevant=bool(judged.judged_irrelevant.any()))
    labelled = np.bincount(judged.facts.query, minlength=judged.queries) > 0
    missing = np.array([query not in rankings for query in relevant], dtype=bool)
    values = np.full((len(chosen), judged.queries), np.nan)
    for place, metric in enumerate(chosen):
        # A profile may leave a query out because nothing came back; one that was not answered counts 0 all the same
        computed = np.where(missing, 0.0, compute(judged, metric, profile))
        values[place, labelled] = computed[labelled]
    scored = {query for query, has_labels in zip(relevant, labelled.tolist(), strict=True) if has_labels}
    return RankingScores(
        query_ids=tuple(relevant),
        metrics=chosen,
        values=values,
        empty=int(np.count_nonzero(labelled & (judged.hits == 0))),
        unlabelled=len(rankings.keys() - scored),
        notes=tuple(no_labelled_id(rankings, relevant, judged)),
    )


def no_labelled_id(
    rankings: Mapping[str, Sequence[str]],
    relevant: Mapping[str, Mapping[str, int] | Iterable[str]],
    judged: MatchTable,
) -> list[str]:
    """Say so where no id of any ranking is among its query's labels: most likely they name documents otherwise."""
    if len(judged.matches.query) or len(judged.irrelevant.query):
        return []
    both = [query for query in relevant if query in rankings]
    ours = next((id_ for query in both for id_ in rankings[query]), None)
    theirs = next((id_ for query in both for id_ in relevant[query]), None)
    if ours is None or theirs is None:
        return []
    difference = f"no id of the rankings, as {ours!r}, is among the labels, as {theirs!r}, of any question"
    return [f"{difference}: expected ids that name the same documents alike, unless nothing was found"]


def _metrics_of_ids(metrics: Sequence[Metric | str]) -> tuple[Metric, ...]:
    names = (metrics,) if isinstance(metrics, (str, Metric)) else metrics
    chosen = tuple(dict.fromkeys(parse(str(metric)) for metric in names))
    if not chosen:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg@10']")
    for metric in chosen:
        if MEASURES[metric.name].needs_text or counts_tokens(metric):
            raise ConfigurationError(
                f"{metric}: found ids alone; expected the texts of the hits, which evaluate() has, or another metric"
            )
    return chosen


# The metrics to compute: each measure at each depth.


def names_of(metrics: Sequence[Metric | str], default: Sequence[str] = DEFAULT_METRICS) -> tuple[str, ...]:
    """Return metrics as they were asked for by name, with a depth or without; nothing if they are the default ones."""
    names = (metrics,) if isinstance(metrics, (str, Metric)) else metrics
    found = tuple(str(parse(str(metric))) for metric in names)
    return () if found == tuple(default) else found


def named_metrics(names: Sequence[str], known: Sequence[Metric], primary: Metric) -> list[Metric]:
    """Return the metrics that are shown because they were asked for by name: one that names no depth at the primary's.

    Args:
        names: from `names_of`.
        known: those that were computed.
        primary: the metric that decides. Where a measure was not taken at its depth, it is shown at its deepest.
    """
    found: list[Metric] = []
    for name in names:
        alike = [metric for metric in known if name in (str(metric), str(replace(metric, depth=None)))]
        beside = [metric for metric in alike if metric.depth == primary.depth]
        exact = [metric for metric in alike if str(metric) == name]
        found += exact or beside or alike[-1:]
    return list(dict.fromkeys(found))


def choose_metrics(
    metrics: Sequence[Metric | str], ks: Sequence[int | Tokens | Calls | str], dataset: Dataset | None = None
) -> tuple[Metric, ...]:
    """Return each measure at each depth, ordered by measure; one that names its own depth is taken at that.

    A measure that divides by k is taken at the numbers of hits alone. Where there is none, it is refused, or left out
    of the default measures.
    """
    if isinstance(metrics, (str, Metric)):
        metrics = (metrics,)
    # also where metrics with depths of their own stand beside them
    is_default = tuple(name for name in metrics if parse(str(name)).depth is None) == DEFAULT_METRICS
    depths = _depths(ks)
    numbers = [depth for depth in depths if isinstance(depth, int)]
    chosen: dict[Metric, None] = {}
    for name in metrics:
        metric = parse(name) if isinstance(name, str) else parse(str(name))
        measure = MEASURES[metric.name]
        if metric.depth is not None or not measure.takes_k:
            chosen[metric] = None
            continue
        if measure.needs_budget:
            read = [depth for depth in depths if isinstance(depth, Tokens)] or [Tokens(DEFAULT_BUDGET)]
            chosen |= dict.fromkeys(metric @ depth for depth in read)
            continue
        if measure.needs_k and not numbers and not is_default:
            refuse_budget(metric @ depths[0])
        chosen |= dict.fromkeys(metric @ depth for depth in (numbers if measure.needs_k else depths))
    if not chosen:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg@10']")
    require_installed(chosen)
    if dataset is not None:
        require_irrelevant(chosen, says_irrelevant=any(query.judged_irrelevant for query in dataset.queries))
    return tuple(chosen)


def _depths(ks: Sequence[int | Tokens | Calls | str]) -> list[int | Tokens | Calls]:
    """Return the depths in order: numbers of hits, token budgets, then numbers of calls."""
    depths: object = ks
    if isinstance(depths, str) or not isinstance(depths, Iterable):
        depths = ()
    found = {_depth(depth) for depth in depths}
    if not found:
        raise ConfigurationError(
            f"ks: found {ks!r}; expected a list of depths, as (1, 3, 5, 10) or (5, 'tokens(2000)')"
        )
    budgets = sorted(depth for depth in found if isinstance(depth, Tokens))
    calls = sorted(depth for depth in found if isinstance(depth, Calls))
    return [*sorted(depth for depth in found if isinstance(depth, int)), *budgets, *calls]


def _depth(value: object) -> int | Tokens | Calls:
    """Return one depth: a positive integer, a token budget or a number of calls, also as its text."""
    depth = parse_depth(value) if isinstance(value, str) else value
    if isinstance(depth, (Tokens, Calls)):
        return depth
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise ConfigurationError(
            f"ks: found {value!r}; expected an integer, 1 or more, or a budget of tokens, as tokens(2000)"
        )
    return int(value)
