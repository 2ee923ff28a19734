"""Figures under a model's grades, corrected by the grades that people gave to a sample."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from raglift.analysis.upper_bound import rule_of
from raglift.base.display import counted
from raglift.base.validation import quoted
from raglift.errors import ConfigurationError
from raglift.judging.correction_records import CorrectedFigure, Correction
from raglift.judging.graded_pool import frame_of, gain_of_grades, is_sum_over_hits, values_by_query, weights_of
from raglift.judging.grading import Graded
from raglift.judging.human_grades import HumanSample, frame_hash, read_human_sample, runs_of
from raglift.judging.pooling import label_grades, pool, systems_of
from raglift.metrics.computing import title
from raglift.metrics.parsing import as_metric
from raglift.records.labels import Query
from raglift.stats.intervals import CONFIDENCE, Interval, checked_fraction, checked_integer
from raglift.stats.prediction_powered import (
    FEWEST_SAMPLED,
    Clusters,
    CorrectedTotal,
    corrected_total,
    sequential_total,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.judging.grading import Evaluations
    from raglift.judging.human_grades import SampledPair
    from raglift.judging.pooling import Pool
    from raglift.records.dataset import Dataset
    from raglift.records.metric import Metric
    from raglift.results.comparison import Comparison


Estimand = Literal["these-queries", "population"]
ESTIMANDS: tuple[Estimand, ...] = ("these-queries", "population")
"""What an interval is about: these queries and this pool, or all queries like these."""
_FEW_SHOWN = 3
_SAME = 1e-12


def correct(
    evaluation: Evaluations | Comparison,
    grades: Graded | Dataset | Sequence[Query],
    human: HumanSample | str | os.PathLike[str],
    *,
    metrics: Sequence[Metric | str] | None = None,
    estimand: Estimand = "these-queries",
    relevant_from: int = 1,
    confidence: float = CONFIDENCE,
) -> Correction:
    """Correct a model's figures by the grades that people gave to a sample, with intervals.

    The model's grades of all pairs and people's of a few are joined by prediction-powered inference (PPI++): the result
    is unbiased whatever the model's errors, and its interval is shorter than that of people's grades alone, the more so
    the better the model is. Corrected are the mean of each system, differences of systems, and the lift of reranking.

    A sample of pairs corrects metrics that are sums over hits: Precision, DCG, RBP. Others (HitRate, Recall, RR, AP,
    NDCG) need a sample of queries of which people graded all pairs, and are refused with the reason otherwise. A grade
    counts for the hit that has it, as in trec_eval; a query with nothing relevant counts 0.

    Args:
        evaluation: one, several (the first is the baseline), or a comparison: those that the sample was drawn from.
        grades: what `grade` returned for their pool, or a model's labels as queries.
        human: a sample of `sample_for_grading` with people's grades, or its file.
        metrics: what to correct; by default precision at the depth of the sample, and DCG there where pairs were drawn,
            or NDCG and RR where queries were.
        estimand: what intervals are about. "these-queries": the figures if people had graded every pair; a sample that
            is everything has no uncertainty. "population": the figures over all queries like these, which adds what
            queries differ by.
        relevant_from: the lowest grade that is relevant, of the model and of people.
        confidence: how often intervals hold the true value.

    Raises:
        ConfigurationError: grades of pairs that were not pooled, or beyond the scale; too few; a sample of other runs.
        DatasetError: a file that is malformed.
    """
    if estimand not in ESTIMANDS:
        raise ConfigurationError(f"estimand: found {estimand!r}; expected one of {', '.join(map(repr, ESTIMANDS))}")
    confidence = checked_fraction("confidence", confidence)
    checked_integer("relevant_from", relevant_from, least=1)
    sample = human if isinstance(human, HumanSample) else _read(human)
    joined = _join(runs_of(evaluation), grades, sample, relevant_from)
    chosen = _metrics(metrics, joined)
    figures = tuple(
        _figure(joined, metric, contrast, estimand, confidence) for metric in chosen for contrast in _contrasts(joined)
    )
    return Correction(
        name=joined.pairs.name,
        judge=joined.judge,
        sampled=sample.sampled,
        human_grades=len(joined.human),
        drawn=len(joined.units),
        of=joined.of,
        pairs=len(joined.frame),
        queries=sum(entry.query.answerable for entry in joined.pairs.queries),
        estimand=estimand,
        confidence=confidence,
        relevant_from=relevant_from,
        sequential=joined.is_sequential,
        without_grade=joined.without_grade,
        figures=figures,
    )


def _read(human: object) -> HumanSample:
    if isinstance(human, (str, os.PathLike)):
        return read_human_sample(human)
    raise ConfigurationError(
        f"human: found a {type(human).__name__}; expected a sample, as sample_for_grading(…) draws it, or its file: "
        "grades by people without the probabilities with which pairs were drawn say nothing about the other pairs "
        "(sample.with_labels(evaluations, labels) fills in grades from a file of labels)"
    )


# Joining the grades: which pair or query is which unit, and with which probability it was sampled.


@dataclass(frozen=True, eq=False)
class _Joined:
    """A pool with both annotators' grades."""

    pairs: Pool
    systems: dict[str, tuple[int, int]]
    """By name as in the pool: the number of its evaluation and of its stage."""
    k: int
    """How deep the sample is."""
    frame: list[tuple[int, int]]
    """The pairs that could be sampled."""
    model: NDArray[np.float64]
    """The model's grades of the pairs of the frame; 0 for a pair without one."""
    without_grade: int
    """How many pairs the model gave no grade."""
    human: dict[tuple[int, int], int]
    """People's grades of the sampled pairs."""
    units: tuple[int, ...]
    """What was drawn: places in the frame or, of queries, among those that have pairs; in order."""
    chance: NDArray[np.float64]
    """With which probability."""
    of: int
    """From how many."""
    by_query: bool
    is_sequential: bool
    relevant_from: int
    judge: str

    @property
    def is_uniform(self) -> bool:
        return not self.is_sequential and float(np.ptp(self.chance)) <= _SAME


def _join(
    runs: Evaluations, grades: Graded | Dataset | Sequence[Query], sample: HumanSample, relevant_from: int
) -> _Joined:
    systems = systems_of(runs)
    evaluations = {id(evaluation): number for number, (evaluation, _) in enumerate(systems.values())}
    pairs, known, judge, scale = _graded(runs, grades, sample)
    k = sample.k or pairs.depth
    check_sample(pairs, sample, scale)
    frame = frame_of(pairs, k)
    place_of = _places(pairs, frame)
    graded = _graded_in_order(sample)
    human = {frame[place_of[pair.query, pair.chunk]]: int(pair.grade or 0) for pair in graded}
    by_query = sample.sampled == "queries"
    units, chance = _drawn_queries(pairs, frame, graded) if by_query else _drawn_pairs(place_of, graded)
    of = len({query for query, _ in frame}) if by_query else len(frame)
    sequential = any(pair.draw is not None for pair in graded)
    if len(units) < min(FEWEST_SAMPLED, of):
        what = "queries of which every pair is graded" if by_query else "graded pairs"
        raise ConfigurationError(
            f"human: found {len(units):,} {what}; expected at least {min(FEWEST_SAMPLED, of)}: grade "
            f"{min(FEWEST_SAMPLED, of) - len(units)} more, drawn at random as these were"
        )
    return _Joined(
        pairs,
        {name: (evaluations[id(evaluation)], stage) for name, (evaluation, stage) in systems.items()},
        k,
        frame,
        np.array([known[query][chunk] or 0 for query, chunk in frame], dtype=np.float64),
        sum(known[query][chunk] is None for query, chunk in frame),
        human,
        units,
        chance,
        of,
        by_query,
        sequential,
        relevant_from,
        judge,
    )


def _graded(
    runs: Evaluations, grades: Graded | Dataset | Sequence[Query], sample: HumanSample
) -> tuple[Pool, Sequence[Sequence[int | None]], str, int | None]:
    """Return the pool of the runs, the model's grades of it, the model's name, and the highest grade of its scale."""
    if isinstance(grades, Graded):
        if tuple(systems_of(runs)) == grades.pool.systems:
            return grades.pool, grades.known, grades.annotator.model, grades.scale
        found = pool(runs, depth=grades.pool.depth)
        by_id = {
            (entry.query.id, pooled.chunk.id): grade
            for entry, row in zip(grades.pool.queries, grades.known, strict=True)
            for pooled, grade in zip(entry.chunks, row, strict=True)
        }
        missing = [
            (entry.query.id, pooled.chunk.id)
            for entry in found.queries
            for pooled in entry.chunks
            if (entry.query.id, pooled.chunk.id) not in by_id
        ]
        if missing:
            raise ConfigurationError(
                f"grades: found none of {counted(len(missing), 'pair')} of these evaluations, as query "
                f"{quoted(missing[0][0])} and chunk {quoted(missing[0][1])}; expected grades of the same runs"
            )
        rows = [[by_id[entry.query.id, pooled.chunk.id] for pooled in entry.chunks] for entry in found.queries]
        return found, rows, grades.annotator.model, grades.scale
    queries = list(grades) if isinstance(grades, (Sequence, Mapping)) or hasattr(grades, "queries") else []
    if not queries or not all(isinstance(query, Query) for query in queries):
        raise ConfigurationError(
            f"grades: found a {type(grades).__name__}; expected what grade(pool(…), model) returned, or a model's "
            "labels as a dataset or queries"
        )
    found = pool(runs, depth=sample.k or 10)
    rule = rule_of(next(iter(systems_of(runs).values()))[0])
    models = [
        passage.annotator.model
        for query in queries
        for passage in (*(one for fact in query.facts for one in fact.passages), *query.judged_irrelevant)
        if passage.annotator is not None
    ]
    return found, label_grades(found, queries, rule), models[0] if models else "the given labels", None


def check_sample(pairs: Pool, sample: HumanSample, scale: int | None = None) -> None:
    """Check that a sample is of the pairs of a pool, and its grades are on the model's scale.

    Args:
        pairs: what the model graded, or is to grade.
        sample: what people graded.
        scale: the highest grade of the model; None if it is not known.

    Raises:
        ConfigurationError: it is not.
    """
    k = sample.k or pairs.depth
    if k > pairs.depth:
        raise ConfigurationError(
            f"human: found a sample from the first {k} hits; the model graded the first {pairs.depth}: expected "
            f"grades as deep as the sample, as from grade(pool(runs, depth={k}), …)"
        )
    frame = frame_of(pairs, k)
    if sample.frame and sample.frame != frame_hash(pairs, k):
        of = sample.of if sample.sampled == "pairs" else None
        raise ConfigurationError(
            f"human: found a sample that was drawn from {'other' if of is None else f'{of:,} other'} pairs than the "
            f"{len(frame):,} of the first {k} hits of these evaluations; expected the same evaluations, all of them: "
            "what could not be drawn is not represented"
        )
    _check_ids(pairs, _places(pairs, frame), sample, scale)


def _places(pairs: Pool, frame: Sequence[tuple[int, int]]) -> dict[tuple[str, str], int]:
    """Return the place of each pair of a frame in it, by the ids of query and chunk."""
    entries = ((pairs.queries[query], chunk) for query, chunk in frame)
    return {(entry.query.id, entry.chunks[chunk].chunk.id): place for place, (entry, chunk) in enumerate(entries)}


def _check_ids(pairs: Pool, place_of: Mapping[tuple[str, str], int], sample: HumanSample, scale: int | None) -> None:
    """Raise for pairs that are not in the frame, and for grades beyond the scale."""
    queries = {entry.query.id for entry in pairs.queries}
    strange = sorted({pair.query for pair in sample.pairs} - queries)
    if strange:
        raise ConfigurationError(
            f"human: found unknown queries: {_listed(strange)}; expected queries of the evaluations"
        )
    outside = [f"{pair.query} {pair.chunk}" for pair in sample.pairs if (pair.query, pair.chunk) not in place_of]
    if outside:
        raise ConfigurationError(
            f"human: found {counted(len(outside), 'pair')} of query and chunk outside of the pool: {_listed(outside)}; "
            "expected pairs that a system has among its first hits: others weigh nothing in its figures"
        )
    too_high = [pair for pair in sample.graded if scale is not None and (pair.grade or 0) > scale]
    if too_high:
        first = too_high[0]
        raise ConfigurationError(
            f"human: found grade {first.grade} for query {quoted(first.query)} and chunk {quoted(first.chunk)}; "
            f"expected 0 to {scale}, the scale of the model: people and model have to mean the same by a grade"
        )
    seen: dict[tuple[str, str], SampledPair] = {}
    for pair in sample.pairs:
        other = seen.setdefault((pair.query, pair.chunk), pair)
        if other is not pair:
            raise ConfigurationError(
                f"human: found query {quoted(pair.query)} and chunk {quoted(pair.chunk)} twice, with the grades "
                f"{other.grade} and {pair.grade}; expected each pair once"
            )
        if not 0.0 < pair.probability <= 1.0:
            raise ConfigurationError(
                f"human: found the probability {pair.probability!r} of query {quoted(pair.query)} and chunk "
                f"{quoted(pair.chunk)}; expected the one with which it was drawn, above 0 and at most 1"
            )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW_SHOWN:,} more" if len(names) > _FEW_SHOWN else ""
    return ", ".join(names[:_FEW_SHOWN]) + more


def _graded_in_order(sample: HumanSample) -> list[SampledPair]:
    """Return the graded pairs: all, or the first ones of a sample in which that is a sample too.

    Raises:
        ConfigurationError: some in between have no grade: who leaves out what is hard to grade biases the rest.
    """
    pairs = list(sample.pairs)
    if pairs and pairs[0].draw is not None:
        pairs.sort(key=lambda pair: pair.draw or 0)
        if [pair.draw for pair in pairs] != list(range(1, len(pairs) + 1)):
            raise ConfigurationError(
                "human: found draws with gaps or without a number; expected 1, 2, 3, … without any"
            )
    graded = [pair for pair in pairs if pair.grade is not None]
    count = len(graded)
    if count == len(pairs):
        return graded
    uniform = np.ptp([pair.probability for pair in pairs]) <= _SAME or pairs[0].draw is not None
    if sample.sampled == "queries":
        last = pairs[count].query  # the query that is not graded to its end
        count = next(number for number, pair in enumerate(pairs) if pair.query == last)
        graded = [pair for pair in graded if pair.query in {each.query for each in pairs[:count]}]
    in_order = all(pair.grade is not None for pair in pairs[:count]) and len(graded) == count
    if not uniform or not in_order:
        missing = next(pair for pair in pairs if pair.grade is None)
        reason = (
            "in order, from the first on: what is left out because it is hard to grade biases the rest"
            if uniform
            else "of every pair: they were drawn with different probabilities, and only the whole is a sample"
        )
        raise ConfigurationError(
            f"human: found {sum(pair.grade is None for pair in pairs):,} of {len(pairs):,} sampled pairs without a "
            f"grade, the first of query {quoted(missing.query)} and chunk {quoted(missing.chunk)}; "
            f"expected grades {reason}"
        )
    return graded


def _drawn_pairs(
    place_of: Mapping[tuple[str, str], int], graded: Sequence[SampledPair]
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    places = tuple(place_of[pair.query, pair.chunk] for pair in graded)
    return places, np.array([pair.probability for pair in graded], dtype=np.float64)


def _drawn_queries(
    pairs: Pool, frame: Sequence[tuple[int, int]], graded: Sequence[SampledPair]
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Return the numbers of the sampled queries among those with pairs, and their probabilities.

    Raises:
        ConfigurationError: a query of which only some pairs are graded.
    """
    wanted: dict[str, int] = {}
    for query, _ in frame:
        wanted[pairs.queries[query].query.id] = wanted.get(pairs.queries[query].query.id, 0) + 1
    found: dict[str, list[SampledPair]] = {}
    for pair in graded:
        found.setdefault(pair.query, []).append(pair)
    partly = [query for query, of_query in found.items() if len(of_query) < wanted[query]]
    if partly:
        raise ConfigurationError(
            f"human: found {len(found[partly[0]]):,} of {wanted[partly[0]]:,} pairs of query {quoted(partly[0])} "
            "graded; expected all pairs of each sampled query: a metric of a list needs the whole list"
        )
    number = {query: place for place, query in enumerate(wanted)}
    units = tuple(number[query] for query in found)
    return units, np.array([of_query[0].probability for of_query in found.values()], dtype=np.float64)


# Which metrics, and which means, differences and lifts of them.


class _Contrast(NamedTuple):
    """A figure: the weighted sum of the means of systems."""

    kind: Literal["mean", "difference", "lift"]
    name: str
    systems: tuple[tuple[str, float], ...]


def _contrasts(joined: _Joined) -> Iterator[_Contrast]:
    """Yield each system, the lift within each evaluation, and the difference of each to the first."""
    last: dict[int, str] = {}
    first: dict[int, str] = {}
    for name, (evaluation, _) in joined.systems.items():
        yield _Contrast("mean", name, ((name, 1.0),))
        first.setdefault(evaluation, name)
        last[evaluation] = name
    for evaluation, after in last.items():
        before = first[evaluation]
        if before != after:
            yield _Contrast("lift", f"{after} − {before}", ((after, 1.0), (before, -1.0)))
    baseline, *others = last.values()
    for other in others:
        yield _Contrast("difference", f"{other} − {baseline}", ((other, 1.0), (baseline, -1.0)))


def _metrics(metrics: Sequence[Metric | str] | None, joined: _Joined) -> tuple[Metric, ...]:
    """Return the metrics to correct.

    Raises:
        ConfigurationError: one that cannot be corrected from what was sampled, with the reason.
    """
    usual = ("ndcg", "rr", "precision") if joined.by_query else ("precision", "dcg")
    chosen = tuple(as_metric(each) for each in (metrics or [f"{name}@{joined.k}" for name in usual]))
    for metric in chosen:
        if metric.k is None or metric.k > joined.k:
            raise ConfigurationError(
                f"{title(metric)}: found no depth in hits, or one below the first {joined.k}, from which the sample "
                f"was drawn; expected {metric.name}@{joined.k} or less"
            )
        if not joined.by_query and not is_sum_over_hits(metric):
            raise ConfigurationError(
                f"{title(metric)}: cannot be corrected by grades of single pairs, for it is no sum over hits: with "
                "some hits graded by people and the others by the model it would be biased. Expected Precision, DCG or "
                "RBP; or grade all pairs of some queries: sample_for_grading(…, sampled='queries'), "
                "`raglift labels sample … --queries`"
            )
    return chosen


# One figure.


def _figure(
    joined: _Joined, metric: Metric, contrast: _Contrast, estimand: Estimand, confidence: float
) -> CorrectedFigure:
    make = _units_of_queries if joined.by_query else _units_of_pairs
    units = make(joined, metric, contrast)
    population = estimand == "population"
    corrected, people = (units.estimate(used, population, confidence) for used in (True, False))
    grading, alone = (units.estimate(used, False, confidence) for used in (True, False))
    reason = units.reason()
    if not reason and grading.standard_error <= _SAME * alone.standard_error and grading.sampled < grading.units:
        # the model made no error in the sample, which does not show that it makes none
        corrected, grading = people, alone
    bias = units.judge - corrected.estimate
    half = units.bias_width(population, confidence) / 2.0 if not reason else math.nan
    return CorrectedFigure(
        metric=metric,
        kind=contrast.kind,
        name=contrast.name,
        judge=units.judge,
        corrected=corrected,
        people=people,
        bias=bias,
        bias_interval=Interval(bias - half, bias + half),
        needed_alone=None if reason else _needed_alone(grading, alone),
        reason=reason,
    )


def _needed_alone(corrected: CorrectedTotal, alone: CorrectedTotal) -> int | None:
    """Return how many grades by people alone would make the interval as short.

    The variance of people's grades alone is A (1/n − 1/N) with n of N graded, which is solved for n.
    """
    if not alone.standard_error or not corrected.standard_error or corrected.sampled >= corrected.units:
        return corrected.sampled
    share = (corrected.standard_error / alone.standard_error) ** 2
    whole = 1.0 / corrected.units
    return round(1.0 / (whole + share * (1.0 / corrected.sampled - whole)))


@dataclass(frozen=True, eq=False)
class _Units:
    """What enters one figure: the units that weigh something in it."""

    weights: NDArray[np.float64]
    model: NDArray[np.float64]
    """The model's value of each unit, times its weight."""
    places: NDArray[np.int64]
    """The sampled units."""
    people: NDArray[np.float64]
    """Their values by people, times their weights."""
    chance: NDArray[np.float64]
    clusters: Clusters
    """The query of each unit."""
    is_sequential: bool
    noun: str

    @property
    def judge(self) -> float:
        return float(self.model.sum())

    def estimate(self, with_model: bool, population: bool, confidence: float) -> CorrectedTotal:
        """Return the figure by people alone, or with the model's grades too."""
        return self._total(self.people, with_model, population, confidence)

    def bias_width(self, population: bool, confidence: float) -> float:
        """Return the width of the interval for the model's figure minus the true one.

        What is known of all these units is the model's figure; of a population, its errors are less spread over queries
        than its figures are.
        """
        values = self.model[self.places] - self.people if population else self.people
        return self._total(values, True, population, confidence).width

    def _total(
        self, values: NDArray[np.float64], with_model: bool, population: bool, confidence: float
    ) -> CorrectedTotal:
        predictions = self.model if with_model else None
        estimate = sequential_total if self.is_sequential else corrected_total
        return estimate(
            values,
            self.places,
            self.chance,
            predictions=predictions,
            weights=self.weights,
            clusters=self.clusters if population else None,
            confidence=confidence,
        )

    def reason(self) -> str:
        """Return why there is no interval; empty if there is one."""
        n, there = len(self.places), len(self.weights)
        if n == there:
            return ""
        if n < FEWEST_SAMPLED:
            return (
                f"{n} of the {there:,} {self.noun} that count here are graded: at least {min(FEWEST_SAMPLED, there)} "
                "are needed"
            )
        weights = self.weights[self.places]
        kept = weights != 0.0
        if np.ptp(self.people[kept] / weights[kept]) <= _SAME:
            return f"people gave all {n:,} {self.noun} the same value: the sample does not say how others may differ"
        return ""


def _units_of_pairs(joined: _Joined, metric: Metric, contrast: _Contrast) -> _Units:
    weights = np.zeros(len(joined.frame))
    for system, sign in contrast.systems:
        weights += sign * weights_of(metric, joined.pairs, joined.frame, system)
    people = np.array([joined.human[joined.frame[place]] for place in joined.units], dtype=np.float64)
    model = weights * gain_of_grades(metric, joined.model, joined.relevant_from)
    places = np.array(joined.units, dtype=np.int64)
    values = weights[places] * gain_of_grades(metric, people, joined.relevant_from)
    answerable = [place for place, entry in enumerate(joined.pairs.queries) if entry.query.answerable]
    number = {query: place for place, query in enumerate(answerable)}
    query_of = np.array([number[query] for query, _ in joined.frame], dtype=np.int64)
    if joined.is_sequential:
        clusters = Clusters(query_of, len(answerable))
        return _Units(weights, model, places, values, joined.chance, clusters, True, "pairs")
    # what weighs nothing is no unit of this figure: those that do are a sample of their own
    counts = np.abs(weights) > _SAME
    new_place = np.cumsum(counts) - 1
    sampled = counts[places]
    chance = joined.chance[sampled]
    if joined.is_uniform:
        chance = np.full(len(chance), len(chance) / max(int(counts.sum()), 1))
    return _Units(
        weights[counts],
        model[counts],
        new_place[places[sampled]],
        values[sampled],
        chance,
        Clusters(query_of[counts], len(answerable)),
        False,
        "pairs",
    )


def _units_of_queries(joined: _Joined, metric: Metric, contrast: _Contrast) -> _Units:
    places = np.array(joined.units, dtype=np.int64)
    there = list(dict.fromkeys(query for query, _ in joined.frame))  # the others have no hits: they are 0
    by_model = {pair: int(grade) for pair, grade in zip(joined.frame, joined.model.tolist(), strict=True)}
    model, people = np.zeros(len(there)), np.zeros(len(places))
    sampled = [there[place] for place in joined.units]
    for system, sign in contrast.systems:
        model += sign * values_by_query(metric, joined.pairs, by_model, system, there, joined.relevant_from)
        people += sign * values_by_query(metric, joined.pairs, joined.human, system, sampled, joined.relevant_from)
    queries = sum(entry.query.answerable for entry in joined.pairs.queries)
    chance = np.full(len(places), len(places) / len(there)) if joined.is_uniform else joined.chance
    clusters = Clusters(np.arange(len(there)), queries)
    weights = np.full(len(there), 1.0 / queries)
    return _Units(weights, model / queries, places, people / queries, chance, clusters, False, "queries")
