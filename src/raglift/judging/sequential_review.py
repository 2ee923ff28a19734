"""What to judge next: unjudged pairs in the order in which they make the interval of a figure shorter."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.base.limits import is_file, user_path
from raglift.base.validation import quoted
from raglift.errors import ConfigurationError
from raglift.judging.comparing import labels_by_people
from raglift.judging.graded_pool import frame_of, gain_of_grades, is_sum_over_hits, weights_of
from raglift.judging.human_grades import frame_hash, runs_of
from raglift.judging.journal import Drawn, Journal, Question, check_same_question, read_journal
from raglift.judging.next_records import NextPair, NextToJudge
from raglift.judging.pooling import Pool, label_grades, pool
from raglift.judging.sequential_design import Design, Draw, Judged, judged
from raglift.metrics.computing import title
from raglift.metrics.parsing import as_metric
from raglift.records.labels import Query
from raglift.stats.confidence_sequences import confidence_sequence, draws_needed, log_capital
from raglift.stats.intervals import CONFIDENCE, checked_fraction, checked_integer

if TYPE_CHECKING:
    from raglift.judging.grading import Evaluations
    from raglift.records.metric import Metric
    from raglift.results.comparison import Comparison


Grades = Sequence[Sequence[int | None]]
"""Of the pairs of a pool, query by query; None for one that was not judged."""
_BUCKETS = (1, 3, 10)
"""Pairs are expected to be relevant as often as others whose best rank is between the same two of these."""
_RESOLUTION = 1e-12


def next_to_judge(
    evaluations: Evaluations | Comparison,
    labels: Iterable[Query],
    *,
    journal: str | os.PathLike[str],
    metric: Metric | str = "precision@10",
    system: str | None = None,
    versus: str | None = None,
    n: int = 1,
    width: float | None = None,
    scale: int = 3,
    relevant_from: int = 1,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> NextToJudge:
    """Return the pairs of query and hit that people should judge next, and what those judged so far say.

    Pairs are drawn one after the other, each with a probability in proportion to how much the figure still varies by
    it: what it weighs, and how uncertain its grade is, which is learned from what was judged and from a model's labels
    where there are any. So estimates are unbiased although the order is not random. The intervals are a confidence
    sequence: all of them hold the figure at once, so one may look after each grade and stop at any time.

    The figure is that of these queries and these hits if people had judged them all: intervals hold the uncertainty of
    what is not judged, not that of other queries. A grade counts for the hit that has it, as in trec_eval.

    Args:
        evaluations: the systems, as `raglift.load_evaluation` opens them.
        labels: people's labels so far, and a model's if there are any. Call the function again once there are more.
        journal: a file that keeps what was drawn, and with which probability; made with the first call.
        metric: a sum over hits: Precision, DCG or RBP.
        system: whose mean is to be known, as `pool(evaluations).systems` has it; by default the last stage of the last
            evaluation.
        versus: the system whose mean is subtracted; by default the last stage of the first of several evaluations.
            Where `system` is named, none.
        n: how many pairs to return that have no grade yet.
        width: how wide the interval may be in the end. By default a difference is decided once its interval excludes 0,
            and a mean is known to ± 0.05.
        scale: the highest grade, 3 or 5.
        relevant_from: the lowest grade that is relevant.
        confidence: how often all intervals hold the figure.
        seed: of the draws.

    Raises:
        ConfigurationError: a metric that is no sum over hits, a system that there is none of, an argument outside its
            range, or a journal of another question.
        DatasetError: a journal that is malformed or cannot be written.
    """
    checked_integer("n", n, least=1)
    review = SequentialReview.open(
        evaluations,
        labels,
        journal=journal,
        metric=metric,
        system=system,
        versus=versus,
        width=width,
        scale=scale,
        relevant_from=relevant_from,
        confidence=confidence,
        seed=seed,
    )
    known = label_grades(review.pairs, labels_by_people(tuple(labels)))
    return review.look(known, n)


class _Place(NamedTuple):
    """A pair, by its numbers in the pool."""

    query: int
    chunk: int


@dataclass(eq=False)
class SequentialReview:
    """A question, the pairs that it is about, and a journal of what was drawn."""

    pairs: Pool
    metric: Metric
    path: str
    width: float | None
    confidence: float
    journal: Journal
    places: list[_Place]
    """The pairs that can be drawn."""
    design: Design

    @classmethod
    def open(
        cls,
        evaluations: Evaluations | Comparison,
        labels: Iterable[Query],
        *,
        journal: str | os.PathLike[str],
        metric: Metric | str = "precision@10",
        system: str | None = None,
        versus: str | None = None,
        width: float | None = None,
        scale: int = 3,
        relevant_from: int = 1,
        confidence: float = CONFIDENCE,
        seed: int = 0,
        models: Iterable[Query] | None = None,
    ) -> SequentialReview:
        """Open a journal, or start one with what is judged so far: see `next_to_judge`.

        Args:
            evaluations: the systems.
            labels: people's labels so far.
            journal: a file that keeps what was drawn.
            metric: as in `next_to_judge`, and so are those below.
            system: whose mean is to be known.
            versus: whose mean is subtracted.
            width: how wide the interval may be in the end.
            scale: the highest grade.
            relevant_from: the lowest grade that is relevant.
            confidence: how often all intervals hold the figure.
            seed: of the draws.
            models: queries with a model's labels; by default those among `labels`.
        """
        chosen = as_metric(metric)
        if not is_sum_over_hits(chosen):
            raise ConfigurationError(
                f"{title(chosen)}: found a metric that is no sum over the first k hits; expected precision@10, dcg@10 "
                "or rbp@10, or another depth: single grades say nothing unbiased about others"
            )
        checked_fraction("confidence", confidence)
        for name, value in (("relevant_from", relevant_from), ("scale", scale)):
            checked_integer(name, value, least=1)
        if width is not None and not (isinstance(width, (int, float)) and 0 < width < math.inf):
            raise ConfigurationError(f"width: found {width!r}; expected a number above 0")
        queries = tuple(labels) if isinstance(labels, Iterable) else ()
        if not all(isinstance(query, Query) for query in (*queries, *([] if queries else [labels]))):
            raise ConfigurationError(
                f"labels: found a {type(labels).__name__}; expected a dataset, or queries with labels"
            )
        k = chosen.k or 0
        found = pool(runs_of(evaluations), depth=k)
        system, versus = _systems(found, system, versus)
        frame = [_Place(*place) for place in frame_of(found, k)]
        people = label_grades(found, labels_by_people(queries))
        kept = read_journal(journal)
        asked = Question(
            metric=str(chosen),
            system=system,
            versus=versus,
            frame=frame_hash(found, k),
            relevant_from=relevant_from,
            highest=scale,
            seed=checked_integer("seed", seed, least=0),
            judged=tuple(_ids(found, place) for place in frame if people[place.query][place.chunk] is not None),
        )
        if kept is not None:
            check_same_question(kept.question, asked, str(journal))
        opened = kept or Journal(asked)
        given = queries if models is None else tuple(models)
        by_models = label_grades(found, [_by_models(query) for query in given])
        places, design = _design(found, chosen, opened.question, frame, people, by_models)
        review = cls(found, chosen, os.fspath(user_path(journal)), width, confidence, opened, places, design)
        review._check_draws()
        return review

    def look(self, known: Grades, n: int = 1) -> NextToJudge:
        """Return what the judged pairs say, and the next n without a grade; what is drawn is in the journal first.

        Args:
            known: people's grades of the pool as they are now.
            n: how many pairs.

        Raises:
            ConfigurationError: a grade above the scale.
            DatasetError: the journal cannot be written.
        """
        by_ids = {_ids(self.pairs, place): number for number, place in enumerate(self.places)}
        draws = [Draw(by_ids[one.query, one.chunk], one.probability, one.reach) for one in self.journal.draws]
        values: list[float] = []
        said: Judged | None = None
        while True:
            # Pairs count in the order of the draws, up to the first that waits for a grade
            graded = len(values)
            while graded < len(draws) and (value := self._value(known, draws[graded].pair)) is not None:
                values.append(value)
                graded += 1
            if said is None or graded > len(said.draws):
                said = judged(self.design, draws[:graded], values)
            waiting = [one for one in draws[graded:] if self._value(known, one.pair) is None]
            if len(waiting) >= n or len(draws) == len(self.places):
                break
            left = said.state.left.copy()
            left[[one.pair for one in draws[graded:]]] = False
            state = replace(said.state, left=left)
            chance = state.probabilities(state.predictions())
            generator = np.random.default_rng((self.journal.question.seed, len(draws)))
            number = int(generator.choice(len(chance), p=chance))
            draws.append(Draw(number, float(chance[number]), state.reach(chance)))
        self._keep(draws)
        return self._told(said, [self._next(one) for one in waiting[:n]])

    def _check_draws(self) -> None:
        known = {_ids(self.pairs, place) for place in self.places}
        strange = [one for one in self.journal.draws if (one.query, one.chunk) not in known]
        if strange:
            raise ConfigurationError(
                f"{self.path}: found a draw of query {quoted(strange[0].query)} and chunk {quoted(strange[0].chunk)}, "
                "which is no pair of this question; expected the journal as raglift wrote it"
            )

    def _value(self, known: Grades, number: int) -> float | None:
        """Return the value of a pair, from 0 to 1; None if it has no grade."""
        place = self.places[number]
        grade = known[place.query][place.chunk]
        return None if grade is None else _value_of(self.metric, grade, self.journal.question)

    def _keep(self, draws: Sequence[Draw]) -> None:
        if len(draws) == len(self.journal.draws) and is_file(user_path(self.path)):
            return
        pairs = [_ids(self.pairs, self.places[one.pair]) for one in draws]
        kept = [
            Drawn(query=query, chunk=chunk, probability=one.chance, reach=one.reach)
            for (query, chunk), one in zip(pairs, draws, strict=True)
        ]
        self.journal = Journal(self.journal.question, tuple(kept))
        self.journal.write(self.path)

    def _next(self, draw: Draw) -> NextPair:
        place = self.places[draw.pair]
        entry = self.pairs.queries[place.query]
        chunk = entry.chunks[place.chunk].chunk
        return NextPair(
            query_id=entry.query.id,
            chunk_id=chunk.id,
            probability=draw.chance,
            question=entry.query.text,
            text=chunk.text,
            doc_id=chunk.doc_id,
            query=place.query,
            chunk=place.chunk,
        )

    def _told(self, said: Judged, pairs: Sequence[NextPair]) -> NextToJudge:
        question = self.journal.question
        interval = confidence_sequence(said.draws, confidence=self.confidence)[-1]
        left = int(said.state.left.sum())
        by_sign = question.versus is not None and self.width is None
        width = None if by_sign else (_USUAL_WIDTH if self.width is None else self.width)
        if width is None:
            is_decided = interval.low > 0.0 or interval.high < 0.0
            candidates, distance = np.zeros(1), abs(said.estimate)
        else:
            is_decided = interval.high - interval.low <= width
            candidates, distance = said.estimate + np.array([-0.5, 0.5]) * width, width / 2.0
        evidence = float(log_capital(said.draws, candidates)[-1].min())
        needed = draws_needed(evidence, distance, said.spread, left=left, confidence=self.confidence)
        return NextToJudge(
            metric=self.metric,
            system=question.system,
            versus=question.versus,
            estimate=min(max(said.estimate, interval.low), interval.high),
            interval=interval,
            confidence=self.confidence,
            width=width,
            graded=len(said.draws),
            graded_before=len(question.judged),
            left=left,
            is_decided=is_decided or not left,
            needed=0 if is_decided or not left else self._needed(said, needed, left),
            pairs=tuple(pairs),
            name=self.pairs.name,
            queries=sum(entry.query.answerable for entry in self.pairs.queries),
        )

    def _needed(self, said: Judged, needed: int | None, left: int) -> int | None:
        return None if len(said.draws) < min(_EARLY, left) else (left if needed is None else max(needed, 1))


_USUAL_WIDTH = 0.1
_EARLY = 10
"""After fewer grades nothing is said of how many more are needed."""


def _ids(pairs: Pool, place: _Place) -> tuple[str, str]:
    entry = pairs.queries[place.query]
    return entry.query.id, entry.chunks[place.chunk].chunk.id


def _systems(pairs: Pool, system: str | None, versus: str | None) -> tuple[str, str | None]:
    """Return which system's mean is asked for, and which one's is subtracted.

    Raises:
        ConfigurationError: there is none of that name, or both are the same.
    """
    last: dict[str, str] = {}  # of each evaluation, the last stage
    for name in pairs.systems:
        last[name.rpartition("/")[0]] = name
    ends = list(last.values())
    if system is None and versus is None:
        system, versus = ends[-1], ends[0] if len(ends) > 1 else None
    elif system is None:
        system = next((name for name in reversed(ends) if name != versus), ends[-1])
    for option, value in (("system", system), ("versus", versus)):
        if value is not None and value not in pairs.systems:
            raise ConfigurationError(f"{option}: found {value!r}; expected one of {', '.join(pairs.systems)}")
    if system == versus:
        raise ConfigurationError(f"versus: found {versus!r}, the system itself; expected another")
    return system, versus


def _by_models(query: Query) -> Query:
    """Return a query with those labels alone that models gave."""
    facts = tuple(
        replace(fact, passages=kept)
        for fact in query.facts
        if (kept := tuple(one for one in fact.passages if one.annotator is not None))
    )
    irrelevant = tuple(one for one in query.judged_irrelevant if one.annotator is not None)
    return replace(query, facts=facts, judged_irrelevant=irrelevant)


def _value_of(metric: Metric, grade: int, question: Question) -> float:
    """Return what a grade is worth, as a part of what the highest one is.

    Raises:
        ConfigurationError: the grade is above the scale.
    """
    if grade > question.highest:
        raise ConfigurationError(
            f"labels: found the grade {grade}; expected 0 to {question.highest}, the scale of this review"
        )
    worth = gain_of_grades(metric, np.array([grade, question.highest], dtype=np.float64), question.relevant_from)
    return float(worth[0] / worth[1])


def _design(
    pairs: Pool, metric: Metric, question: Question, frame: Sequence[_Place], people: Grades, models: Grades
) -> tuple[list[_Place], Design]:
    """Return the pairs that can be drawn, and what is expected of them."""
    highest = np.array([question.highest], dtype=np.float64)
    most = float(gain_of_grades(metric, highest, question.relevant_from)[0])
    if not most:
        raise ConfigurationError(
            f"relevant_from: found {question.relevant_from}; expected at most {question.highest}, the highest grade"
        )
    weights = most * weights_of(metric, pairs, frame, question.system)
    if question.versus is not None:
        weights -= most * weights_of(metric, pairs, frame, question.versus)
    before = set(question.judged)
    scale = range(question.highest + 1)
    groups = len(scale) + len(_BUCKETS) + 1
    prior = np.full(groups, np.nan)
    prior[: len(scale)] = [_TRUSTED * _value_of(metric, grade, question) + (1 - _TRUSTED) / 2 for grade in scale]
    counts, values = np.zeros((2, groups))
    places: list[_Place] = []
    kept: list[tuple[float, int]] = []
    known = 0.0
    for place, weight in zip(frame, weights.tolist(), strict=True):
        grade, by_model = people[place.query][place.chunk], models[place.query][place.chunk]
        rank = min(pairs.queries[place.query].chunks[place.chunk].ranks.values())
        bucket = len(scale) + int(np.searchsorted(_BUCKETS, rank))
        group = by_model if by_model is not None and by_model in scale else bucket
        if _ids(pairs, place) in before:
            value = 0.0 if grade is None else _value_of(metric, grade, question)
            known += weight * value
            counts[group] += 1.0
            values[group] += value
        elif abs(weight) > _RESOLUTION:
            places.append(place)
            kept.append((weight, group))
    # Labels that name only what is relevant say nothing of the rest, and others may not be like the rest
    if not any(counts[group] > values[group] for group in range(groups)):
        counts, values = np.zeros((2, groups))
    share = np.minimum(1.0, _BELIEVED / np.maximum(counts, 1.0))
    counts, values = counts * share, values * share
    of_place = np.array(kept, dtype=np.float64).reshape(-1, 2).T
    return places, Design(of_place[0], of_place[1].astype(np.int64), prior, counts, values, known)


_BELIEVED = 10.0
"""As so many at most count the pairs of a group that were judged before: nobody drew them at random."""
_TRUSTED = 0.8
"""How much of a model's grade is believed before people judged any with it."""
