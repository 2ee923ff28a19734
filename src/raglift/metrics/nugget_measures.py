"""Recall of nuggets, as TREC's RAG track counts them: of all facts, of the vital ones, and weighted.

A fact is supported where a hit is evidence for it; in part, where only passages that are marked as partial are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.match import satisfying_matches
from raglift.metrics.custom import metric
from raglift.metrics.measure import Choice, depth, per_query, sum_by

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raglift.matching.matches import FactTable, MatchTable
    from raglift.records.metric import Metric


PARTIAL_SUPPORT = 0.5
"""What partial support is worth where it counts."""
SUPPORT = Choice("support", ("partial", "strict"))
"""Whether partial support counts half, or nothing."""
FACTS = Choice("facts", ("all", "vital", "weighted"))
"""Which facts count, and whether by their weights."""
_SOURCE = "Pradeep et al. 2024, TREC's RAG track"


@metric(
    "nugget_recall",
    title="NuggetRecall",
    formula="Σ support over facts / facts, with support 1, or 0.5 where it is partial",
    source=_SOURCE,
    settings=(SUPPORT,),
    vectorized=True,
)
def NuggetRecall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """NuggetRecall@k = Σ support of the query's facts by the first k hits / facts. Range [0, 1].

    A fact's support is 1 where a hit is evidence for it, 0.5 where all such evidence supports it only in part, and 0
    else; with support=strict, partial support counts 0. This is the track's All, and All strict.
    """
    return _recall(match_table, metric, "all")


@metric(
    "vital_recall",
    title="VitalRecall",
    formula="Σ support over vital facts / vital facts; 0 without any",
    source=_SOURCE,
    settings=(SUPPORT,),
    vectorized=True,
)
def VitalRecall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """VitalRecall@k = NuggetRecall@k of the vital facts alone; 0 for a query that has none. Range [0, 1].

    A fact is vital unless it is marked as okay. With support=strict this is V_strict, by which the track ranks systems.
    """
    return _recall(match_table, metric, "vital")


@metric(
    "weighted_recall",
    title="WeightedRecall",
    formula="Σ weight · support over facts / Σ weight; a vital fact weighs 1, an okay one 0.5",
    source=_SOURCE,
    settings=(SUPPORT,),
    vectorized=True,
)
def WeightedRecall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """WeightedRecall@k = Σ weight · support of the query's facts by the first k hits / Σ weight. Range [0, 1].

    The weight is the fact's own, or else 1 where it is vital and 0.5 where it is okay, as in the track's Weighted.
    """
    return _recall(match_table, metric, "weighted")


@metric(
    "context_coverage",
    title="ContextCoverage",
    formula="Σ weight · support of facts by the final context / Σ weight; facts=vital or all weigh each 1",
    source=_SOURCE,
    settings=(FACTS, SUPPORT),
    takes_k=False,
    is_conditional=True,
    is_by_call=True,
    vectorized=True,
)
def ContextCoverage(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """ContextCoverage = how far the final context of a session supports the facts. Range [0, 1].

    It is NuggetRecall of what reached the prompt; with facts=vital VitalRecall, with facts=weighted WeightedRecall. A
    session whose context is not known has no value. Where a system is asked once, its context is the first k hits, or
    those within a budget: take the other measures at that depth.
    """
    weight = _WEIGHTS[FACTS.of(metric)](match_table.facts)
    context, known = match_table.context, match_table.context_known
    if context is None or known is None:
        return np.full(match_table.queries, np.nan)
    return np.where(known, _share(context, metric, None, weight), np.nan)


_WEIGHTS: Mapping[str, Callable[[FactTable], NDArray[np.float64]]] = {
    "all": lambda facts: np.ones(len(facts.query)),
    "vital": lambda facts: facts.is_vital.astype(np.float64),
    "weighted": lambda facts: facts.weights,
}


def _recall(match_table: MatchTable, metric: Metric, facts: str) -> NDArray[np.float64]:
    return _share(match_table, metric, metric.k, _WEIGHTS[facts](match_table.facts))


def _share(match_table: MatchTable, metric: Metric, k: int | None, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the support of each query's facts, as a share of their weights."""
    query = match_table.facts.query
    supported = support_of_facts(match_table, k, is_strict=SUPPORT.of(metric) == "strict")
    return per_query(sum_by(query, weight * supported, match_table.queries), sum_by(query, weight, match_table.queries))


def support_of_facts(match_table: MatchTable, k: int | None, *, is_strict: bool) -> NDArray[np.float64]:
    """Return how far the first k hits support each fact: 1, 0.5 in part (0 if strict), or 0.

    Args:
        match_table: what matched.
        k: the depth; None for all hits.
        is_strict: whether partial support counts nothing.
    """
    found = satisfying_matches(match_table)
    found = found.take(found.rank <= depth(k))
    worth = np.where(
        match_table.passages.is_partial[match_table.passages.rows(found.fact, found.passage)],
        0.0 if is_strict else PARTIAL_SUPPORT,
        1.0,
    )
    support = np.zeros(len(match_table.facts.query))
    np.maximum.at(support, found.fact, worth)
    return support
