"""Whether a model's labels rank systems as people's do."""

from __future__ import annotations

import importlib
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from raglift.evaluation import rescore
from raglift.judging.agreement.pairs import labels_by_people
from raglift.judging.agreement.records import SystemAgreement
from raglift.judging.pooling.pool import systems_of
from raglift.metrics import as_metric, mean_of, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from raglift.records import Dataset, Metric, Query
    from raglift.results import Evaluation

__all__ = ["system_agreement"]

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

    Raises:
        ConfigurationError: an argument that cannot be used.
    """
    metric = as_metric(metric)
    systems = systems_of(evaluations)
    own, theirs = labels_by_people(tuple(people)), list(model)
    labelled = {query.id for query in own if query.is_labelled} & {query.id for query in theirs if query.is_labelled}
    by_people, by_model = (_means(systems, labels, labelled, metric) for labels in (own, theirs))
    pairs = list(combinations(range(len(systems)), 2))
    order_by_people, order_by_model = _order(by_people, pairs), _order(by_model, pairs)
    why = _why_not(by_people, by_model, len(labelled))
    return SystemAgreement(
        judge=judge,
        metric=title(metric),
        systems=tuple(systems),
        people=tuple(by_people.tolist()),
        model=tuple(by_model.tolist()),
        queries=len(labelled),
        kendall=None if why else _correlation("kendalltau", by_people, by_model),
        spearman=None if why else _correlation("spearmanr", by_people, by_model),
        why=why,
        swapped=int(np.count_nonzero(order_by_people * order_by_model < 0)),
        compared=len(pairs),
    )


def _means(
    systems: Mapping[str, tuple[Evaluation, int]], labels: Sequence[Query], labelled: AbstractSet[str], metric: Metric
) -> NDArray[np.float64]:
    """Return each system's mean under some labels, over some queries; NaN where there is none."""
    scored: dict[int, Evaluation] = {}
    means = []
    for evaluation, stage in systems.values():
        if id(evaluation) not in scored:
            without_documents = replace(evaluation, dataset=replace(evaluation.dataset, documents=()))
            scored[id(evaluation)] = rescore(without_documents, metrics=(metric,), labels=labels)
        scores = scored[id(evaluation)].scores
        values = scores.of(scores.stages[stage], metric)
        counted = values[[query_id in labelled for query_id in scores.query_ids]]
        means.append(np.round(mean_of(metric, counted), _DECIMALS) if len(counted) else np.nan)
    return np.array(means, dtype=np.float64)


def _order(means: NDArray[np.float64], pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return for each pair of systems which one is better: 1, -1, or 0 for neither."""
    return np.array([np.sign(means[first] - means[second]) for first, second in pairs])


def _correlation(name: str, people: NDArray[np.float64], model: NDArray[np.float64]) -> float:
    """Return one of scipy's rank correlations; of Kendall's the one that minds ties, tau-b."""
    correlate = getattr(importlib.import_module("scipy.stats"), name)
    return float(correlate(people, model).statistic)


def _why_not(people: NDArray[np.float64], model: NDArray[np.float64], queries: int) -> str:
    """Return why orders cannot be correlated; empty where they can."""
    if not queries:
        return "no query that both labelled"
    if len(people) < _FEWEST:
        return f"{len(people)} of the {_FEWEST} systems that an order takes at least"
    if len(np.unique(people)) == 1 or len(np.unique(model)) == 1:
        return "all systems have one mean under one of the two"
    return ""
