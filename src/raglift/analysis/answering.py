"""Knowing when not to answer: what the scores of the first hits say about whether a question can be answered at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.comparison import halves
from raglift.analysis.upper_bound import depth_of, match_tables_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import compute
from raglift.metrics.rank_measures import HitRate, Recall
from raglift.rendering.presenting import Presentable
from raglift.stats.intervals import Interval, checked_fraction, checked_integer
from raglift.stats.risk_control import (
    Separation,
    error_rate_interval,
    fewest_queries,
    separation,
    smallest_certifiable_rate,
    threshold_for_rate,
)

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import Query

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

RISK, DELTA = 0.1, 0.1
_DIGITS = range(1, 17)


@dataclass(frozen=True)
class AnsweredShare:
    """How many questions of a kind are answered, or how many answers are wrong."""

    count: int
    of: int
    interval: Interval
    """Exact (Clopper and Pearson), at 95%; NaN if there are none."""

    @property
    def share(self) -> float:
        """`count` of `of`; NaN if there are none."""
        return self.count / self.of if self.of else math.nan


@dataclass(frozen=True)
class AtThreshold:
    """The effect of a threshold on some questions."""

    answered: AnsweredShare
    """Answerable questions that are answered."""
    false_answers: AnsweredShare
    """Unanswerable questions that are answered."""
    wrong_answers: AnsweredShare
    """Answers to unanswerable questions, and answers without a relevant hit in the first k."""
    recall: float
    """Mean recall at k over the answerable queries, 0 for one that is not answered; NaN if there are none."""

    @property
    def no_answer_rate(self) -> float:
        """The abstention rate: the share of all questions that are not answered."""
        queries = self.answered.of + self.false_answers.of
        return 1.0 - (self.answered.count + self.false_answers.count) / queries if queries else math.nan


@dataclass(frozen=True, eq=False)
class Abstention(Presentable):
    """Score threshold below which to answer “I don't know”, with its effect on right and wrong answers."""

    stage: str
    """The stage whose scores are used."""
    system: str
    """Model name of that stage."""
    k: int
    """The depth of recall, and at which an answer needs a relevant hit to be right."""
    risk: float
    """The share of unanswerable questions that may be answered."""
    delta: float
    """How often the share may be exceeded, over the random choice of the first half of the questions."""
    threshold: float
    """The lowest score at which to answer; −∞ if every question may be answered."""
    chosen_on: AtThreshold
    """Its effect on the half of the questions that it was chosen on."""
    checked_on: AtThreshold
    """Its effect on the other half, which took no part in the choice."""
    smallest_risk: float
    """The smallest share that this number of questions can certify."""
    separation: Separation
    """How well the scores of the stage separate answerable questions from unanswerable ones."""


@dataclass(frozen=True, eq=False)
class _Cases:
    """Queries of both kinds with their first scores at one stage, NaN without hits."""

    queries: tuple[Query, ...]
    scores: Numbers
    answerable: Flags
    right: Flags
    """Of the answerable ones, those with a relevant hit in the first k."""
    recall: Numbers

    def take(self, places: Sequence[int]) -> _Cases:
        rows = np.asarray(places, dtype=np.intp)
        chosen = tuple(self.queries[place] for place in places)
        return _Cases(chosen, self.scores[rows], self.answerable[rows], self.right[rows], self.recall[rows])

    def at(self, threshold: float) -> AtThreshold:
        # NaN, of a query without hits, is not at least anything
        answered = self.scores >= threshold
        known = self.answerable
        recall = float(np.where(answered, self.recall, 0.0)[known].mean()) if known.any() else math.nan
        return AtThreshold(_share(answered[known]), _share(answered[~known]), _share((~self.right)[answered]), recall)


def abstention(
    evaluation: Evaluation,
    *,
    risk: float = RISK,
    delta: float = DELTA,
    stage: str | None = None,
    k: int | None = None,
    seed: int = 0,
) -> Abstention:
    """Return the score of the first hit below which to answer “I don't know”: see `Evaluation.abstention`.

    The queries are split in two halves. On one, the lowest threshold is chosen at which at most the share `risk` of the
    unanswerable queries is answered, with a probability of at least 1 − `delta`, whatever the distribution of the
    scores: a risk-controlling prediction set. The other half shows what the threshold does.
    """
    checked_fraction("risk", risk), checked_fraction("delta", delta), checked_integer("seed", seed, least=0)
    if evaluation.run.has_sessions or any(trace.repetitions for trace in evaluation.run.traces):
        raise ConfigurationError("abstention: found sessions or repeated questions; expected one ranking a question")
    names = [each.name for each in evaluation.run.stages]
    stage = names[-1] if stage is None else stage
    depth = depth_of(evaluation, k)
    chosen = _cases_at(evaluation, stage, depth)
    _check_kinds(chosen)
    first, second = (chosen.take(half) for half in _halves(chosen, seed))
    unanswerable = int(np.count_nonzero(~first.answerable))
    smallest = smallest_certifiable_rate(max(1, unanswerable), delta=delta)
    if risk < smallest:
        raise ConfigurationError(
            f"risk: found {risk:g}; expected at least {smallest:.3f}, the smallest share of false answers that "
            f"{unanswerable:,} unanswerable questions of one half certify at delta {delta:g}; or about "
            f"{2 * fewest_queries(risk, delta=delta):,} unanswerable questions in all"
        )
    threshold = _threshold(first, risk, delta)
    return Abstention(
        stage=stage,
        system=evaluation.run.stages[names.index(stage)].system,
        k=depth,
        risk=risk,
        delta=delta,
        threshold=threshold,
        chosen_on=first.at(threshold),
        checked_on=second.at(threshold),
        smallest_risk=smallest,
        separation=separation(chosen.scores[chosen.answerable], chosen.scores[~chosen.answerable]),
    )


def _cases_at(evaluation: Evaluation, stage: str, k: int) -> _Cases:
    """Return the queries with what is known of them at a stage."""
    names = [each.name for each in evaluation.run.stages]
    if stage not in names:
        raise ConfigurationError(f"stage: found {stage!r}; expected one of {', '.join(map(repr, names))}")
    table = match_tables_of(evaluation)[names.index(stage)]
    hits = [hit for ranking in table.rankings for hit in ranking.hits]
    if not hits or any(hit.score is None or math.isnan(hit.score) for hit in hits):
        raise ConfigurationError(f"stage: found {stage!r}, which gives no scores; expected one whose hits have scores")
    queries = evaluation.dataset.queries
    labelled = np.array([query.is_labelled for query in queries])
    rows = np.flatnonzero(labelled | np.array([not query.answerable for query in queries]))
    first = [ranking.hits[0].score if ranking.hits else None for ranking in table.rankings]
    scores = np.array([math.nan if score is None else score for score in first], dtype=np.float64)
    right = np.nan_to_num(compute(table, HitRate @ k, evaluation.profile)) > 0.0
    recall = np.nan_to_num(compute(table, Recall @ k, evaluation.profile))
    answerable = labelled[rows]
    return _Cases(
        tuple(queries[query] for query in rows.tolist()),
        scores[rows],
        answerable,
        right[rows] & answerable,
        np.where(answerable, recall[rows], 0.0),
    )


def _halves(cases: _Cases, seed: int) -> tuple[list[int], list[int]]:
    """Return the places of the queries of two halves, which have as many of either kind, and of each tag about."""
    first: list[int] = []
    second: list[int] = []
    for rows in (np.flatnonzero(cases.answerable).tolist(), np.flatnonzero(~cases.answerable).tolist()):
        for half, chosen in zip((first, second), halves([cases.queries[row] for row in rows], seed), strict=True):
            half += [rows[place] for place in chosen]
    return sorted(first), sorted(second)


def _check_kinds(cases: _Cases) -> None:
    answerable = int(np.count_nonzero(cases.answerable))
    others = len(cases.answerable) - answerable
    if not answerable or not others:
        raise ConfigurationError(
            f"abstention: found {answerable:,} labelled questions and {others:,} marked unanswerable; expected some of "
            'each: {"answerable": false} marks a question that the documents do not answer'
        )


def _threshold(cases: _Cases, risk: float, delta: float) -> float:
    least = threshold_for_rate(cases.scores[~cases.answerable], rate=risk, delta=delta)
    above = cases.scores[cases.scores >= least]
    # A higher threshold keeps the promise too: one with few digits, which still answers the same queries
    return least if least == -math.inf or not len(above) else _shortest_number(least, float(above.min()))


def _shortest_number(low: float, high: float) -> float:
    """Return the number with the fewest significant digits from `low` to `high`."""
    for digits in _DIGITS:
        rounded = float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(low)))
        if low <= rounded <= high:
            return rounded
    return low


def _share(happened: Flags) -> AnsweredShare:
    count, of = int(np.count_nonzero(happened)), len(happened)
    return AnsweredShare(count, of, error_rate_interval(count, of))
