"""Figures under a model's grades, corrected by the grades that people gave to a sample."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.upper_bound import rule_of
from raglift.errors import ConfigurationError
from raglift.grading.correction_records import CorrectedFigure, Correction
from raglift.grading.graded_pool import gain_of_grades, values_by_query, weights_of
from raglift.grading.grading import Graded
from raglift.grading.human_grades import HumanSample, read_human_sample, runs_of
from raglift.grading.pooling import Pool, label_grades, pool, systems_of
from raglift.grading.rubrics import check_relevant_from
from raglift.grading.sampled_units import Estimand, SampledUnits, check_estimand, metrics_to_correct, sampled_units
from raglift.stats.intervals import CONFIDENCE, Interval, checked_fraction, checked_integer
from raglift.stats.prediction_powered import (
    FEWEST_SAMPLED,
    Clusters,
    CorrectedTotal,
    corrected_total,
)
from raglift.types.labels import Query
from raglift.utilities.display import counted
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.grading.grading import Evaluations
    from raglift.results.comparison import Comparison
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric


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
    check_estimand(estimand)
    confidence = checked_fraction("confidence", confidence)
    checked_integer("relevant_from", relevant_from, least=1)
    sample = human if isinstance(human, HumanSample) else _read(human)
    joined = _join(runs_of(evaluation), grades, sample, relevant_from)
    if joined.scale is not None:
        check_relevant_from(relevant_from, joined.scale)
    chosen = metrics_to_correct(metrics, joined.units)
    figures = tuple(
        _figure(joined, metric, contrast, estimand, confidence) for metric in chosen for contrast in _contrasts(joined)
    )
    return Correction(
        name=joined.pairs.name,
        judge=joined.judge,
        sampled=sample.sampled,
        human_grades=len(joined.units.human),
        drawn=len(joined.units.places),
        of=joined.units.of,
        pairs=len(joined.units.frame),
        queries=sum(entry.query.answerable for entry in joined.pairs.queries),
        estimand=estimand,
        confidence=confidence,
        relevant_from=relevant_from,
        without_grade=joined.without_grade,
        **joined.disagreements(),
        figures=figures,
    )


def _read(human: object) -> HumanSample:
    if isinstance(human, (str, os.PathLike)):
        return read_human_sample(human)
    raise ConfigurationError(
        f"human: found a {type(human).__name__}; expected a sample, as sample_for_grading(…) draws it, or its file: "
        "grades of pairs that people chose themselves say nothing about the others "
        "(sample.with_labels(evaluations, labels) fills in grades from a file of labels)"
    )


# Joining the grades: which pair or query is which unit.


@dataclass(frozen=True, eq=False)
class _Joined:
    """A pool with both annotators' grades."""

    pairs: Pool
    systems: dict[str, tuple[int, int]]
    """By name as in the pool: the number of its evaluation and of its stage."""
    units: SampledUnits
    model: NDArray[np.float64]
    """The model's grades of the pairs of the frame; 0 for a pair without one."""
    without_grade: int
    """How many pairs the model gave no grade."""
    relevant_from: int
    judge: str
    scale: int | None
    """The highest grade; None if it is not known."""

    def disagreements(self) -> dict[str, int]:
        """Return how many pairs the model alone calls relevant, and how many people alone."""
        of_frame = dict(zip(self.units.frame, (self.model >= self.relevant_from).tolist(), strict=True))
        both = [(of_frame[pair], grade >= self.relevant_from) for pair, grade in self.units.human.items()]
        return {"only_model": both.count((True, False)), "only_people": both.count((False, True))}


def _join(
    runs: Evaluations, grades: Graded | Dataset | Sequence[Query], sample: HumanSample, relevant_from: int
) -> _Joined:
    systems = systems_of(runs)
    evaluations = {id(evaluation): number for number, (evaluation, _) in enumerate(systems.values())}
    pairs, known, judge, scale = _graded(runs, grades, sample)
    units = sampled_units(pairs, sample, scale)
    by_model = [known[query][chunk] for query, chunk in units.frame]
    return _Joined(
        pairs,
        {name: (evaluations[id(evaluation)], stage) for name, (evaluation, stage) in systems.items()},
        units,
        np.array([grade or 0 for grade in by_model], dtype=np.float64),
        sum(grade is None for grade in by_model),
        relevant_from,
        judge,
        scale,
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


# One figure.


def _figure(
    joined: _Joined, metric: Metric, contrast: _Contrast, estimand: Estimand, confidence: float
) -> CorrectedFigure:
    make = _units_of_queries if joined.units.by_query else _units_of_pairs
    units = make(joined, metric, contrast)
    population = estimand == "population"
    corrected, people = (units.estimate(used, population, confidence) for used in (True, False))
    reason = units.reason(population)
    if reason:
        corrected, people = (replace(each, interval=Interval(math.nan, math.nan)) for each in (corrected, people))
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
        reason=reason,
    )


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
        errors = self.model[self.places] - self.people
        is_perfect = np.abs(errors).max(initial=0.0) <= _SAME  # in the sample, which does not show that it is elsewhere
        values = errors if population and not is_perfect else self.people
        return self._total(values, True, population, confidence).width

    def _total(
        self, values: NDArray[np.float64], with_model: bool, population: bool, confidence: float
    ) -> CorrectedTotal:
        return corrected_total(
            values,
            self.places,
            self.chance,
            predictions=self.model if with_model else None,
            weights=self.weights,
            clusters=self.clusters if population else None,
            confidence=confidence,
        )

    def reason(self, population: bool) -> str:
        """Return why there is no interval; empty if there is one."""
        n, units = len(self.places), len(self.weights)
        if population and self.clusters.count < 2:
            return f"{counted(self.clusters.count, 'query')} cannot say how queries differ: at least 2 are needed"
        if n == units:
            return ""
        if n < FEWEST_SAMPLED:
            return (
                f"{n} of the {units:,} {self.noun} that count here are graded: at least {min(FEWEST_SAMPLED, units)} "
                "are needed"
            )
        weights = self.weights[self.places]
        counts = weights != 0.0
        if np.ptp(self.people[counts] / weights[counts]) <= _SAME:
            return f"people gave all {n:,} {self.noun} the same value: the sample does not say how others may differ"
        return ""


def _units_of_pairs(joined: _Joined, metric: Metric, contrast: _Contrast) -> _Units:
    weights = np.zeros(len(joined.units.frame))
    for system, sign in contrast.systems:
        weights += sign * weights_of(metric, joined.pairs, joined.units.frame, system)
    people = np.array(
        [joined.units.human[joined.units.frame[place]] for place in joined.units.places], dtype=np.float64
    )
    model = weights * gain_of_grades(metric, joined.model, joined.relevant_from)
    places = np.array(joined.units.places, dtype=np.int64)
    values = weights[places] * gain_of_grades(metric, people, joined.relevant_from)
    answerable = [place for place, entry in enumerate(joined.pairs.queries) if entry.query.answerable]
    number = {query: place for place, query in enumerate(answerable)}
    query_of = np.array([number[query] for query, _ in joined.units.frame], dtype=np.int64)
    # what weighs nothing is no unit of this figure: those that do are a sample of their own
    counts = np.abs(weights) > _SAME
    new_place = np.cumsum(counts) - 1
    sampled = counts[places]
    drawn = int(sampled.sum())
    chance = np.full(drawn, drawn / max(int(counts.sum()), 1))
    return _Units(
        weights[counts],
        model[counts],
        new_place[places[sampled]],
        values[sampled],
        chance,
        Clusters(query_of[counts], len(answerable)),
        "pairs",
    )


def _units_of_queries(joined: _Joined, metric: Metric, contrast: _Contrast) -> _Units:
    places = np.array(joined.units.places, dtype=np.int64)
    with_hits = list(dict.fromkeys(query for query, _ in joined.units.frame))  # the others have no hits: they are 0
    by_model = {pair: int(grade) for pair, grade in zip(joined.units.frame, joined.model.tolist(), strict=True)}
    model, people = np.zeros(len(with_hits)), np.zeros(len(places))
    sampled = [with_hits[place] for place in joined.units.places]
    for system, sign in contrast.systems:
        model += sign * values_by_query(metric, joined.pairs, by_model, system, with_hits, joined.relevant_from)
        people += sign * values_by_query(
            metric, joined.pairs, joined.units.human, system, sampled, joined.relevant_from
        )
    queries = sum(entry.query.answerable for entry in joined.pairs.queries)
    chance = np.full(len(places), len(places) / len(with_hits))
    clusters = Clusters(np.arange(len(with_hits)), queries)
    weights = np.full(len(with_hits), 1.0 / queries)
    return _Units(weights, model / queries, places, people / queries, chance, clusters, "queries")
