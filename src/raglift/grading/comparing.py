"""A model's grades compared with people's, and the order of systems under both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError
from raglift.grading.agreement_records import (
    RESAMPLES,
    Agreement,
    Coefficient,
    Counts,
    SystemAgreement,
    kappa,
    raw_agreement,
    relevant_or_not,
)
from raglift.grading.labels import labels_of_people
from raglift.grading.pooling import Pool, label_grades, systems_of
from raglift.metrics.computing import mean_of, title
from raglift.metrics.parsing import as_metric
from raglift.report.format import confidence_text
from raglift.running.scoring import rescore
from raglift.stats.intervals import checked_fraction, checked_integer
from raglift.stats.rank_correlation import correlation_interval, kendall_tau

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


# A model's grades compared with people's, pair by pair.


def agreement(
    pool: Pool,
    people: Sequence[Query],
    model: Sequence[Sequence[int | None]],
    *,
    judge: str = "the model",
    levels: int = 4,
    threshold: int = 1,
    rule: MatchRule | None = None,
    unmatched_as_irrelevant: bool = True,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """Return how far a model's grades agree with people's labels of the same pairs.

    Args:
        pool: the pairs.
        people: the labels, as queries; what a model labelled is not looked at.
        model: a grade for each pooled chunk, query by query in the order of the pool; None for a pair without one.
        judge: the model's name.
        levels: how many grades the model chose from: 4 for 0 to 3.
        threshold: the lowest grade of the model that counts as relevant, and of people where they grade on its scale;
            where they do not, every passage that they labelled is relevant.
        rule: what counts as a match of a chunk and a label; containment by default.
        unmatched_as_irrelevant: a chunk that matches no label of a query that people labelled counts as irrelevant, as
            it does in metrics; else such pairs are left out.
        seed: of the resamples.
        confidence: how often intervals hold the true value.

    Raises:
        ConfigurationError: an argument that cannot be used.
    """
    seed = checked_integer("seed", seed, least=0)
    confidence = checked_fraction("confidence", confidence)
    checked_integer("levels", levels, least=2)
    if not 1 <= checked_integer("threshold", threshold, least=1) < levels:
        raise ConfigurationError(f"threshold: found {threshold}; expected 1 to {levels - 1}, the highest grade")
    if [len(row) for row in model] != [len(each.chunks) for each in pool.queries]:
        raise ConfigurationError(
            f"agreement: model: found {sum(map(len, model)):,} grades of {len(model):,} questions; expected one for "
            f"each of the {len(pool):,} chunks of the pool's {len(pool.queries):,} questions, in its order"
        )
    own = [labels_of_people(query) for query in people]
    labelled = {query.id for query in own if query.is_labelled}
    judged: list[tuple[int, int, int]] = []
    assumed = left_out = 0
    for number, (each, theirs, ours) in enumerate(zip(pool.queries, label_grades(pool, own, rule), model, strict=True)):
        fill = 0 if unmatched_as_irrelevant and each.query.id in labelled else None
        for by_people, by_model in zip(theirs, ours, strict=True):
            grade = fill if by_people is None else by_people
            if grade is None or by_model is None:
                left_out += by_people is not None or each.query.id in labelled
                continue
            assumed += by_people is None
            judged.append((grade, by_model, number))
    table = np.array(judged, dtype=np.int64).reshape(-1, 3)
    found = agreement_of(*table.T, judge=judge, levels=levels, threshold=threshold, seed=seed, confidence=confidence)
    return replace(found, assumed=assumed, left_out=left_out)


def agreement_of(
    people: NDArray[np.int64],
    model: NDArray[np.int64],
    query: NDArray[np.int64],
    *,
    judge: str = "the model",
    levels: int = 4,
    threshold: int = 1,
    seed: int = 0,
    confidence: float = 0.95,
) -> Agreement:
    """Return how far two judges' grades agree: `agreement`, where both are at hand as arrays.

    Args:
        people: the first judge's grades, from 0, one a pair.
        model: the second judge's, below `levels`.
        query: the number of the query of each pair; pairs of one query are drawn together for the intervals.
        judge: the second judge's name.
        levels: how many grades the second judge chose from.
        threshold: the second judge's lowest grade that counts as relevant, and the first's where both grade on one
            scale; else the first's is 1.
        seed: of the resamples.
        confidence: how often intervals hold the true value.
    """
    grades = np.union1d(np.arange(levels), people).astype(np.int64)
    queries, number = np.unique(query, return_inverse=True)
    matrices = np.zeros((len(queries), len(grades), len(grades)), dtype=np.int64)
    np.add.at(matrices, (number, np.searchsorted(grades, people), np.searchsorted(grades, model)), 1)
    counts = Counts(matrices, seed, confidence)
    one_scale = _why_not_graded(people, levels)
    of_people = 1 if one_scale else threshold
    two = partial(relevant_or_not, first=grades >= of_people, second=grades >= threshold)
    one_class = _why_not_binary(people, of_people)
    return Agreement(
        judge=judge,
        pairs=len(people),
        queries=len(queries),
        grades=tuple(grades.tolist()),
        matrix=tuple(map(tuple, counts.total.tolist())),
        threshold=threshold,
        threshold_of_people=of_people,
        raw=counts.coefficient(lambda found: raw_agreement(two(found))),
        kappa=_unless(one_class, lambda: counts.coefficient(lambda found: kappa(two(found)))),
        same=_unless(one_scale, lambda: counts.coefficient(raw_agreement)),
        weighted=_unless(one_scale, lambda: counts.coefficient(lambda found: kappa(found, grades))),
        method=(
            f"{confidence_text(confidence)} intervals: percentiles over {RESAMPLES:,} resamples of questions, seed "
            f"{seed}"
        ),
    )


def _why_not_binary(people: NDArray[np.int64], threshold: int) -> str:
    """Return why relevant or not cannot be checked; empty if it can."""
    relevant = people >= threshold
    if not len(people) or (relevant.any() and not relevant.all()):
        return ""
    return f"people found {'every' if relevant.all() else 'no'} pair relevant: there is nothing to tell apart"


def _why_not_graded(people: NDArray[np.int64], levels: int) -> str:
    """Return why grades cannot be checked beyond relevant or not; empty if they can."""
    if not len(people):
        return ""
    if people.max() >= levels:
        return f"people's grades go to {people.max()} and the model's to {levels - 1}: not one scale"
    if len(np.unique(people[people > 0])) < 2:
        return "people gave no two positive grades: only relevant or not can be checked"
    return ""


def _unless(why: str, make: Callable[[], Coefficient]) -> Coefficient:
    return Coefficient(None, why=why) if why else make()


# Whether a model's labels rank systems in the same order as people's.


_FEWEST = 3
_DECIMALS = 12
"""Means that differ by less are the same."""


def system_agreement(
    evaluations: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation],
    people: Sequence[Query] | Dataset,
    model: Sequence[Query] | Dataset,
    *,
    metric: Metric | str = "ndcg@10",
    judge: str = "the model",
    seed: int = 0,
) -> SystemAgreement:
    """Return whether labels by a model put systems in the order in which people's put them.

    A system is a stage of an evaluation, as in `pool`. Each is scored under both sets of labels, on the queries that
    both labelled: a query that failed counts 0 in both.

    Args:
        evaluations: of the same queries.
        people: the labels of people, as queries; what a model labelled is not looked at.
        model: the model's labels, as queries.
        metric: what systems are ranked by; at most as deep as the runs.
        judge: the model's name.
        seed: of the resamples.

    Raises:
        ConfigurationError: an argument that cannot be used.
    """
    metric, seed = as_metric(metric), checked_integer("seed", seed, least=0)
    systems = systems_of(evaluations)
    own, theirs = [labels_of_people(query) for query in people], list(model)
    labelled = {query.id for query in own if query.is_labelled} & {query.id for query in theirs if query.is_labelled}
    values = [_values(systems, labels, labelled, metric) for labels in (own, theirs)]
    by_people, by_model = (_means(metric, each) for each in values)
    pairs = list(combinations(range(len(systems)), 2))
    order_by_people, order_by_model = _order(by_people, pairs), _order(by_model, pairs)
    why = _why_not(by_people, by_model, len(labelled))
    known = np.nan_to_num(values[0]), np.nan_to_num(values[1])
    return SystemAgreement(
        judge=judge,
        metric=title(metric),
        systems=tuple(systems),
        people=tuple(by_people.tolist()),
        model=tuple(by_model.tolist()),
        queries=len(labelled),
        kendall=None if why else float(kendall_tau(by_people[np.newaxis], by_model[np.newaxis])[0]),
        why=why,
        swapped=int(np.count_nonzero(order_by_people * order_by_model < 0)),
        compared=len(pairs),
        kendall_interval=None if why else correlation_interval(*known, seed=seed),
    )


def _values(
    systems: Mapping[str, tuple[Evaluation, int]], labels: Sequence[Query], labelled: AbstractSet[str], metric: Metric
) -> NDArray[np.float64]:
    """Return each system's values under some labels, a row each, for some queries."""
    scored: dict[int, Evaluation] = {}
    found = []
    for evaluation, stage in systems.values():
        if id(evaluation) not in scored:
            without_documents = replace(evaluation, dataset=replace(evaluation.dataset, documents=()))
            scored[id(evaluation)] = rescore(without_documents, metrics=(metric,), labels=labels)
        scores = scored[id(evaluation)].scores
        values = scores.of(scores.stages[stage], metric)
        found.append(values[[query_id in labelled for query_id in scores.query_ids]])
    return np.array(found, dtype=np.float64)


def _means(metric: Metric, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each row; NaN if there is no query."""
    means = [np.round(mean_of(metric, row), _DECIMALS) if len(row) else np.nan for row in values]
    return np.array(means, dtype=np.float64)


def _order(means: NDArray[np.float64], pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return for each pair of systems which one is better: 1, -1, or 0 for neither."""
    return np.array([np.sign(means[first] - means[second]) for first, second in pairs])


def _why_not(people: NDArray[np.float64], model: NDArray[np.float64], queries: int) -> str:
    """Return why orders cannot be correlated; empty if they can."""
    if not queries:
        return "no question that both labelled"
    if len(people) < _FEWEST:
        return f"{len(people)} of the {_FEWEST} systems that an order takes at least"
    if len(np.unique(people)) == 1 or len(np.unique(model)) == 1:
        return "all systems have one mean under one of the two"
    return ""
