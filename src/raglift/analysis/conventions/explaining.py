"""Why tools give one query different numbers: the query that shows it best, the reasons, and the notes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.conventions.records import Choice, MetricsExplanationRecord, MetricUnderProfiles, ProfileValue
from raglift.analysis.conventions.values import (
    Counts,
    judged_by_profile,
    numbers_of,
    ranked_hits,
    relevant_ranks,
    values_under,
)
from raglift.analysis.upper_bound import rule_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_of, mean_title
from raglift.metrics.parsing import parse, require_installed
from raglift.metrics.profiles.registry import DEFAULT, PROFILES
from raglift.metrics.registry import MEASURES
from raglift.records.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.records.dataset import Dataset
    from raglift.records.labels import Query


# When two profiles' values count as equal.


TOLERANCE = 1e-8
"""A tool that adds 1e-10 to a denominator, or sums in another order, has no other value."""


def same(value: float, default: float) -> bool:
    """Whether two values are the same but for rounding; two that are left out of the mean are."""
    return bool(np.isclose(value, default, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


# Choice of the query that best shows how profiles differ.


_NAMED = 3


def choose_query(
    dataset: Dataset, metrics: Sequence[Metric], values: Mapping[str, NDArray[np.float64]]
) -> tuple[int, Choice]:
    """Return the number of the labelled query whose values differ most between profiles, and why it was chosen.

    The difference of a metric is its highest value minus its lowest, divided by the highest where that is above 1, as
    DCG can be. The query with the largest of them is chosen; of equals that with the larger sum, then the first.

    Args:
        dataset: the queries.
        metrics: what is looked at.
        values: for each profile, an array of shape (metrics, queries); NaN, a query that is left out, counts as 0.

    Raises:
        ConfigurationError: no query is labelled.
    """
    labelled = np.array([query.is_labelled for query in dataset.queries], dtype=bool)
    if not labelled.any():
        raise ConfigurationError(
            f"{dataset.name}: found {len(dataset):,} queries, none of them labelled; expected one at least with "
            "labels: without them no metric has a value"
        )
    table = np.nan_to_num(np.stack(list(values.values())))
    low, high = table.min(axis=0), table.max(axis=0)
    spread = (high - low) / np.maximum(high, 1)
    most, total = spread.max(axis=0), spread.sum(axis=0)
    rounded = [np.round(np.where(labelled, part, -1), 9) for part in (most, total)]  # so that rounding breaks no tie
    order = np.lexsort((np.arange(len(dataset)), -rounded[1], -rounded[0]))
    differing = order[(most > TOLERANCE)[order] & labelled[order]]
    number = int(order[0])
    others = tuple(dataset.queries[other].id for other in differing[1 : 1 + _NAMED].tolist())
    if not len(differing):
        return number, Choice(None, None, None, 0.0, 0.0, (), 0)
    place = int(spread[:, number].argmax())
    names, column = list(values), table[:, place, number]
    return number, Choice(
        metric=metrics[place],
        low=names[int(column.argmin())],
        high=names[int(column.argmax())],
        lowest=float(values[names[int(column.argmin())]][place, number]),
        highest=float(values[names[int(column.argmax())]][place, number]),
        others=others,
        differing=len(differing),
    )


# Notes for readers of several profiles' values.


def notes_of(evaluation: EvaluationRecord, query: Query, stage: str, metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return what bears on the values: the labels' kind, the run's own profile, what the stage cut off."""
    return tuple(_notes(evaluation, query, stage, metrics))


def _notes(evaluation: EvaluationRecord, query: Query, stage: str, metrics: Sequence[Metric]) -> Iterator[str]:
    passages = [passage for fact in query.facts for passage in fact.passages]
    if any(passage.chunk_id is None for passage in passages):
        yield (
            "Labels here are texts. The other tools know ids alone, so their profiles are by analogy: a passage stands "
            "for an id."
        )
    if any(len(fact.passages) > 1 for fact in query.facts):
        yield (
            "Some facts have alternatives. AutoRAG's groups are such facts; a tool that has none knows one flat list, "
            "and its profile counts each alternative as something to find."
        )
    if evaluation.profile != "default":
        yield f"The run was scored by the profile {evaluation.profile}; the differences here are from the default."
    absent = [metric for metric in evaluation.scores.metrics if not MEASURES[metric.name].is_installed]
    if absent:
        names = ", ".join(map(mean_title, absent))
        yield f"Not computed, since the functions of these metrics are not installed here: {names}."
    truncated = [mean_title(metric) for metric in metrics if evaluation.is_truncated(stage, metric)]
    if truncated:
        yield f"{evaluation.truncation(stage)}: what looks deeper knows only these ({', '.join(truncated)})."


# Why a profile's value differs from the default's: its convention, its match rule, or both.


@dataclass(frozen=True)
class Reasons:
    """Explains the values of one query."""

    evaluation: EvaluationRecord
    stage: str
    judged: dict[str, MatchTable]
    """What the stage matched, for each profile."""
    query: int
    """The number of the query."""

    def numbers(self, metric: Metric, profile: str, value: float) -> str:
        """Return how a value comes about; nothing for one that is left out, or of a query that failed."""
        if math.isnan(value) or self.evaluation.run.traces[self.query].error is not None:
            return ""
        return numbers_of(Counts.of(self.judged[profile], self.query, metric, profile), value)

    def why(self, metric: Metric, profile: str, value: float) -> str:
        """Return the sentences that explain a value that is not the default's; empty if nothing explains it."""
        if math.isnan(value):
            return self._left_out()
        convention = PROFILES[profile].differences.get(metric.name, "") if self._overrides(metric, profile) else ""
        if self.judged[profile] is self.judged[DEFAULT.name]:
            return convention
        by_default_rule = self._value(metric, profile)
        if same(by_default_rule, value):
            return convention
        if same(by_default_rule, self._value(metric, DEFAULT.name)):
            return f"{self._rule(metric, profile)}; that alone makes the difference."
        return f"{convention} {self._rule(metric, profile)}, too.".strip()

    def _overrides(self, metric: Metric, profile: str) -> bool:
        return metric.name in PROFILES[profile].functions

    def _value(self, metric: Metric, profile: str) -> float:
        """Return what a profile's measure comes to over what the default's rule matched."""
        judged = self.judged[DEFAULT.name]
        return float(values_under(self.evaluation, self.stage, judged, [metric], profile)[0, self.query])

    def _left_out(self) -> str:
        if not self.judged[DEFAULT.name].hits[self.query]:
            return "Nothing came back, and such a query is left out of the mean; the default counts it 0."
        return "The query is left out of the mean."

    def _rule(self, metric: Metric, profile: str) -> str:
        """Return what the profile's match rule does otherwise, and to which hits: the start of a sentence."""
        default, theirs = (
            set(relevant_ranks(self.judged[name], self.query, metric)) for name in (DEFAULT.name, profile)
        )
        ranks = sorted(theirs - default)
        if not ranks:
            return "Its match rule has no length guard"
        counts = "counts" if len(ranks) == 1 else "count"
        return f"Its match rule has no length guard, so rank {', '.join(map(str, ranks))} {counts} as relevant"


# `explain_metrics()`: why tools give one query different numbers.


def explain_metrics(
    evaluation: EvaluationRecord,
    query_id: str | None = None,
    *,
    metrics: Metric | str | Sequence[Metric | str] | None = None,
    stage: str | None = None,
) -> MetricsExplanationRecord:
    """Return one query's metrics under every profile, and for each that differs from the default's what makes it so.

    Everything is computed from what the system returned; it is not asked again.

    Args:
        evaluation: the evaluation.
        query_id: the id of the query; by default that whose values differ most between profiles.
        metrics: what to look at; by default what was scored.
        stage: the stage; by default the last.

    Raises:
        DatasetError: no query has that id.
        ConfigurationError: no stage has that name; a metric that is unknown, needs a depth, or looks deeper than the
            run's candidates; no query is asked for and none has labels.
    """
    stage, chosen = _stage(evaluation, stage), _metrics(evaluation, metrics)
    judged = judged_by_profile(evaluation, stage, chosen)
    values = {name: values_under(evaluation, stage, of_profile, chosen, name) for name, of_profile in judged.items()}
    queries, choice = evaluation.dataset.queries, None
    if query_id is None:
        number, choice = choose_query(evaluation.dataset, chosen, values)
    else:
        number = queries.index(evaluation.dataset.query(query_id))
    return MetricsExplanationRecord(
        query=queries[number],
        stage=stage,
        match=str(rule_of(evaluation)),
        profile=evaluation.profile,
        profiles=tuple(values),
        metrics=_under_profiles(chosen, values, number, Reasons(evaluation, stage, judged, number)),
        hits=ranked_hits(judged, number, evaluation.hits(queries[number].id, stage), chosen),
        error=evaluation.run.traces[number].error,
        choice=choice,
        queries=sum(query.is_labelled for query in queries),
        notes=notes_of(evaluation, queries[number], stage, chosen),
        label_sources=evaluation.label_sources,
    )


def _stage(evaluation: EvaluationRecord, given: str | None) -> str:
    stages = evaluation.scores.stages
    if given is not None and given not in stages:
        raise ConfigurationError(f"stage: found {given!r}; expected one of {', '.join(stages)}")
    return evaluation.after if given is None else given


def _metrics(evaluation: EvaluationRecord, given: Metric | str | Sequence[Metric | str] | None) -> tuple[Metric, ...]:
    """Return what to look at, checked.

    Raises:
        ConfigurationError: nothing, or a metric that cannot be computed from the run.
    """
    if given is None:
        # A user's own whose function is not here has a saved value, and none under another profile
        given = [metric for metric in evaluation.scores.metrics if MEASURES[metric.name].is_installed]
    wanted = (given,) if isinstance(given, (str, Metric)) else tuple(given)
    chosen = tuple(dict.fromkeys(parse(str(metric)) for metric in wanted))
    if not chosen:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg@10']")
    require_installed(chosen)
    candidates = int(evaluation.run.spec["candidates"])
    for metric in chosen:
        measure = MEASURES[metric.name]
        if measure.needs_k and metric.k is None:
            raise ConfigurationError(
                f"{metric}: found no depth; expected one, as '{metric.name}@{min(10, candidates)}': the default "
                "divides by k"
            )
        if metric.k is not None and metric.k > candidates:
            raise ConfigurationError(
                f"metric: found {metric}; expected a depth of at most {candidates}, the number of candidates that the "
                "run asked for: evaluate again with more candidates"
            )
        if measure.needs_chunks and evaluation.run.inventory is None:
            raise ConfigurationError(
                f"{metric}: found a run whose system did not tell its chunks; expected them, as "
                "evaluate(..., chunks=chunks)"
            )
    return chosen


def _under_profiles(
    metrics: Sequence[Metric], values: Mapping[str, NDArray[np.float64]], query: int, reasons: Reasons
) -> tuple[MetricUnderProfiles, ...]:
    """Return the metrics of one query; `values` has an array of shape (metrics, queries) for each profile."""
    return tuple(
        _of_metric(metric, {name: table[place] for name, table in values.items()}, query, reasons)
        for place, metric in enumerate(metrics)
    )


def _of_metric(
    metric: Metric, values: Mapping[str, NDArray[np.float64]], query: int, reasons: Reasons
) -> MetricUnderProfiles:
    """Return one metric of one query; `values` are those of all queries, for each profile."""
    of_default, (mean_of_default, n_of_default) = values[DEFAULT.name][query], _mean(metric, values[DEFAULT.name])
    cells = []
    for profile, of_profile in values.items():
        value, (mean, n) = float(of_profile[query]), _mean(metric, of_profile)
        agrees = same(value, of_default)
        cells.append(
            ProfileValue(
                profile=profile,
                value=value,
                mean=mean,
                n=n,
                agrees=agrees,
                mean_agrees=n == n_of_default and same(mean, mean_of_default),
                why="" if agrees else reasons.why(metric, profile, value),
                numbers=reasons.numbers(metric, profile, value),
            )
        )
    return MetricUnderProfiles(metric, tuple(cells))


def _mean(metric: Metric, values: NDArray[np.float64]) -> tuple[float, int]:
    """Return the mean over the queries that count, NaN when none does, and how many they are."""
    return mean_of(metric, values), int(np.count_nonzero(~np.isnan(values)))
