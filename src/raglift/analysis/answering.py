"""Knowing when not to answer: what the scores of the first hits say about whether a question can be answered at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.comparison import halves
from raglift.analysis.upper_bound import depth_of, match_tables_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import compute
from raglift.metrics.measure import relevant_hits
from raglift.metrics.rank_measures import HitRate, Recall
from raglift.rendering.presenting import Presentable
from raglift.stats.intervals import Interval, checked_fraction, checked_integer
from raglift.stats.risk_control import (
    RiskCoverage,
    Separation,
    error_rate_interval,
    fewest_queries,
    risk_coverage,
    separation,
    smallest_certifiable_rate,
    threshold_for_rate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.records.labels import Query
    from raglift.records.rankings import Ranking

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

RISK, DELTA = 0.1, 0.1
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Which quantiles are shown of the scores of each group."""
_DIGITS = range(1, 17)
_MADE = "; or made=True (--made), which makes unanswerable ones of those with labels"


@dataclass(frozen=True)
class ScoreGroup:
    """The scores of the first hits of some queries."""

    name: str
    """Which queries: answerable with a relevant hit in the first k, answerable without one, or unanswerable."""
    queries: int
    """How many there are, those without hits included."""
    quantiles: tuple[float, ...]
    """The quantiles `QUANTILES` of the scores of those with hits, interpolated linearly; empty where there are none."""


@dataclass(frozen=True)
class StageSeparation:
    """How well the scores of one stage tell answerable queries from unanswerable ones."""

    stage: str
    system: str
    """What the stage is, as the name of a model."""
    found: Separation | None
    """None where the stage gives no scores."""


@dataclass(frozen=True)
class AnsweredShare:
    """How many queries of a kind are answered, or how many answers are wrong."""

    count: int
    of: int
    interval: Interval
    """Exact (Clopper and Pearson), at 95%; NaN where there are none."""

    @property
    def share(self) -> float:
        """`count` of `of`; NaN where there are none."""
        return self.count / self.of if self.of else math.nan


@dataclass(frozen=True)
class AtThreshold:
    """What a threshold does on some queries."""

    answered: AnsweredShare
    """Of the answerable queries, those that are answered."""
    false_answers: AnsweredShare
    """Of the unanswerable queries, those that are answered."""
    wrong_answers: AnsweredShare
    """Of the answers, those to unanswerable queries and those without a relevant hit in the first k."""
    recall: float
    """Mean recall at k over the answerable queries, 0 for one that is not answered; NaN where there are none."""

    @property
    def no_answer_rate(self) -> float:
        """The share of all queries that are not answered."""
        queries = self.answered.of + self.false_answers.of
        return 1.0 - (self.answered.count + self.false_answers.count) / queries if queries else math.nan


@dataclass(frozen=True, eq=False)
class Abstention(Presentable):
    """From which score of the first hit on a query should be answered, and what that costs and keeps away."""

    stage: str
    """Whose scores."""
    system: str
    """What the stage is, as the name of a model."""
    k: int
    """The depth of recall, and at which an answer needs a relevant hit to be right."""
    risk: float
    """Which share of the unanswerable queries may be answered."""
    delta: float
    """How often the promise may fail, over the choice of the first half of the queries."""
    made: bool
    """Whether queries were made unanswerable by taking their labelled documents out of the rankings."""
    threshold: float
    """The lowest score at which to answer; −∞ if every query may be answered."""
    chosen_on: AtThreshold
    """What it does on the half of the queries that it was chosen on."""
    checked_on: AtThreshold
    """What it does on the other half, which took no part."""
    smallest_risk: float
    """The smallest share that so many queries can certify."""
    groups: tuple[ScoreGroup, ...]
    """The scores of each kind of queries."""
    stages: tuple[StageSeparation, ...]
    """How well each stage of the system tells answerable queries from unanswerable ones."""
    curve: RiskCoverage
    """Which share of answers is wrong if only the queries with the highest scores are answered, over all queries."""
    left_out: int
    """How many queries that were to be made unanswerable have no hits of other documents, so that nothing is known."""

    @property
    def separation(self) -> Separation | None:
        """How well the scores of the stage tell answerable queries from unanswerable ones."""
        return next(each.found for each in self.stages if each.stage == self.stage)

    def to_frame(self) -> pd.DataFrame:
        """Return the risk–coverage curve: one row per distinct score, with `threshold`, `coverage` and `risk`."""
        import pandas as pd

        curve = self.curve
        return pd.DataFrame({"threshold": curve.thresholds, "coverage": curve.coverage, "risk": curve.risk})


@dataclass(frozen=True, eq=False)
class _Cases:
    """Queries of both kinds with their first scores at one stage, NaN without hits."""

    queries: tuple[Query, ...]
    scores: Numbers
    answerable: Flags
    right: Flags
    """Of the answerable ones, those with a relevant hit in the first k."""
    recall: Numbers
    left_out: int = 0

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
    evaluation: EvaluationRecord,
    *,
    risk: float = RISK,
    delta: float = DELTA,
    stage: str | None = None,
    k: int | None = None,
    made: bool = False,
    seed: int = 0,
) -> Abstention:
    """Return from which score of the first hit on a query should be answered.

    The queries are split in two halves. On one, the lowest threshold is chosen at which at most the share `risk` of the
    unanswerable queries is answered, with a probability of at least 1 − `delta`, whatever the distribution of the
    scores: a risk-controlling prediction set. The other half shows what the threshold does.

    Args:
        evaluation: the evaluation.
        risk: which share of the unanswerable queries may be answered, above 0 and below 1.
        delta: how often the promise may fail, above 0 and below 1.
        stage: whose scores; by default the last stage.
        k: the depth; by default the deepest that was scored.
        made: make unanswerable queries, where the dataset has few: of a random half of the answerable ones, the hits of
            all documents with a label are taken out of the rankings, as if these documents were not there.
        seed: of the halves.

    Raises:
        ConfigurationError: an argument outside its range, a stage without scores, an evaluation of sessions or of
            repeated queries, no queries of either kind, or a risk that so few queries cannot certify.
    """
    checked_fraction("risk", risk), checked_fraction("delta", delta), checked_integer("seed", seed, least=0)
    if evaluation.run.has_sessions or any(trace.repetitions for trace in evaluation.run.traces):
        raise ConfigurationError("abstention: found sessions or repeated queries; expected one ranking a query")
    names = [each.name for each in evaluation.run.stages]
    stage = names[-1] if stage is None else stage
    depth = depth_of(evaluation, k)
    chosen = _cases_at(evaluation, stage, depth, made=made, seed=seed)
    _check_kinds(chosen, made=made)
    first, second = (chosen.take(half) for half in _halves(chosen, seed))
    unanswerable = int(np.count_nonzero(~first.answerable))
    smallest = smallest_certifiable_rate(max(1, unanswerable), delta=delta)
    if risk < smallest:
        raise ConfigurationError(
            f"risk: found {risk:g}; expected at least {smallest:.3f}, the smallest share of false answers that "
            f"{unanswerable:,} unanswerable queries of one half certify at delta {delta:g}; or about "
            f"{2 * fewest_queries(risk, delta=delta):,} unanswerable queries in all{'' if made else _MADE}"
        )
    threshold = _threshold(first, risk, delta)
    return Abstention(
        stage=stage,
        system=evaluation.run.stages[names.index(stage)].system,
        k=depth,
        risk=risk,
        delta=delta,
        made=made,
        threshold=threshold,
        chosen_on=first.at(threshold),
        checked_on=second.at(threshold),
        smallest_risk=smallest,
        groups=tuple(_groups(chosen)),
        stages=_separations(evaluation, depth, made=made, seed=seed),
        curve=risk_coverage(chosen.scores, ~chosen.right),
        left_out=chosen.left_out,
    )


def separations(evaluation: EvaluationRecord) -> tuple[StageSeparation, ...]:
    """Return how well the scores of each stage tell answerable from unanswerable queries, as the dataset has them.

    Args:
        evaluation: the evaluation.
    """
    if evaluation.run.has_sessions or any(trace.repetitions for trace in evaluation.run.traces):
        return ()
    if all(query.answerable for query in evaluation.dataset.queries):
        return ()
    return _separations(evaluation, depth_of(evaluation, None), made=False, seed=0)


def _separations(evaluation: EvaluationRecord, k: int, *, made: bool, seed: int) -> tuple[StageSeparation, ...]:
    found = []
    for place, stage in enumerate(evaluation.run.stages):
        cases = _cases(evaluation, place, k, made=made, seed=seed)
        apart = None
        if cases is not None and cases.answerable.any() and not cases.answerable.all():
            apart = separation(cases.scores[cases.answerable], cases.scores[~cases.answerable])
        found.append(StageSeparation(stage.name, stage.system, apart))
    return tuple(found)


def at_threshold(evaluation: EvaluationRecord, threshold: float, *, stage: str, k: int | None = None) -> AtThreshold:
    """Return what a threshold does on all queries of an evaluation; `made` ones are not among them.

    Args:
        evaluation: the evaluation.
        threshold: the lowest score of a first hit at which to answer.
        stage: whose scores.
        k: the depth; by default the deepest that was scored.

    Raises:
        ConfigurationError: no stage has that name, or it gives no scores.
    """
    return _cases_at(evaluation, stage, depth_of(evaluation, k), made=False, seed=0).at(threshold)


def _cases_at(evaluation: EvaluationRecord, stage: str, k: int, *, made: bool, seed: int) -> _Cases:
    """Return the queries with what is known of them at a stage.

    Raises:
        ConfigurationError: no stage has that name, or it gives no scores.
    """
    names = [each.name for each in evaluation.run.stages]
    if stage not in names:
        raise ConfigurationError(f"stage: found {stage!r}; expected one of {', '.join(map(repr, names))}")
    cases = _cases(evaluation, names.index(stage), k, made=made, seed=seed)
    if cases is None:
        raise ConfigurationError(f"stage: found {stage!r}, which gives no scores; expected one whose hits have scores")
    return cases


def _cases(evaluation: EvaluationRecord, place: int, k: int, *, made: bool, seed: int) -> _Cases | None:
    """Return the queries with what is known of them at one stage; None where its hits have no scores."""
    table = match_tables_of(evaluation)[place]
    queries = evaluation.dataset.queries
    hits = [hit for ranking in table.rankings for hit in ranking.hits]
    if not hits or any(hit.score is None or math.isnan(hit.score) for hit in hits):
        return None
    labelled = np.array([query.is_labelled for query in queries])
    unanswerable = np.array([not query.answerable for query in queries])
    scores = np.array([_first_score(ranking) for ranking in table.rankings])
    right = np.nan_to_num(compute(table, HitRate @ k, evaluation.profile)) > 0.0
    recall = np.nan_to_num(compute(table, Recall @ k, evaluation.profile))
    left_out = 0
    if made:
        # Each query has one of the two roles, so that all are independent of each other
        _, emptied = halves([query for query in queries if query.is_labelled], seed)
        places = np.flatnonzero(labelled)[emptied]
        documents = _labelled_documents(table)
        for query in places.tolist():
            scores[query] = _first_score(table.rankings[query], without=documents[query])
        gone = np.zeros(len(queries), dtype=np.bool_)
        gone[places] = np.isnan(scores[places])
        left_out = int(np.count_nonzero(gone))
        unanswerable[places] = True
        labelled[places] = False
        unanswerable &= ~gone
    rows = np.flatnonzero(labelled | unanswerable)
    answerable = labelled[rows]
    return _Cases(
        tuple(queries[query] for query in rows.tolist()),
        scores[rows],
        answerable,
        right[rows] & answerable,
        np.where(answerable, recall[rows], 0.0),
        left_out,
    )


def _first_score(ranking: Ranking, without: frozenset[str] = frozenset()) -> float:
    """Return the score of the first hit that is of none of some documents and none of some chunks; NaN without one."""
    for hit in ranking.hits:
        if hit.chunk.id not in without and (hit.chunk.doc_id is None or _document(hit.chunk.doc_id) not in without):
            return math.nan if hit.score is None else float(hit.score)
    return math.nan


def _document(name: str) -> str:
    """Return what a document is called among ids of chunks, which it is not confused with."""
    return f"\0{name}"


def _labelled_documents(table: MatchTable) -> list[frozenset[str]]:
    """Return, for each query, the documents of its passages and of its relevant hits, and the ids of these hits."""
    found: list[set[str]] = [set() for _ in range(table.queries)]
    for fact, query in enumerate(table.facts.query.tolist()):
        first = int(table.passages.first[fact])
        for row in range(first, first + int(table.facts.passages[fact])):
            location = table.passages.places[row]
            if location is not None:
                found[query].add(_document(location[0]))
    query_of, rank, _ = relevant_hits(table, None)
    for query, place in zip(query_of.tolist(), rank.tolist(), strict=True):
        chunk = table.rankings[query].hits[place - 1].chunk
        found[query].add(chunk.id if chunk.doc_id is None else _document(chunk.doc_id))
    return [frozenset(each) for each in found]


def _halves(cases: _Cases, seed: int) -> tuple[list[int], list[int]]:
    """Return the places of the queries of two halves, which have as many of either kind, and of each tag about."""
    first: list[int] = []
    second: list[int] = []
    for rows in (np.flatnonzero(cases.answerable).tolist(), np.flatnonzero(~cases.answerable).tolist()):
        for half, chosen in zip((first, second), halves([cases.queries[row] for row in rows], seed), strict=True):
            half += [rows[place] for place in chosen]
    return sorted(first), sorted(second)


def _check_kinds(cases: _Cases, *, made: bool) -> None:
    answerable = int(np.count_nonzero(cases.answerable))
    others = len(cases.answerable) - answerable
    if not answerable or not others:
        raise ConfigurationError(
            f"abstention: found {answerable:,} labelled queries and {others:,} marked unanswerable; expected some of "
            f"each{'' if made else _MADE}"
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


def _groups(cases: _Cases) -> Iterator[ScoreGroup]:
    known = cases.answerable
    for name, rows in (
        ("answerable, relevant hit", known & cases.right),
        ("answerable, no relevant hit", known & ~cases.right),
        ("unanswerable", ~known),
    ):
        scores = cases.scores[rows]
        scored = scores[~np.isnan(scores)]
        quantiles = tuple(np.quantile(scored, QUANTILES).tolist()) if len(scored) else ()
        yield ScoreGroup(name, len(scores), quantiles)
