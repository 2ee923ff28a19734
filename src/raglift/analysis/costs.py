"""What is known of the costs of systems, and which of them is cheaper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raglift.analysis.chunking import last_hits
from raglift.analysis.tradeoffs import check_known, context_tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation


SAME = 1.1
"""Costs whose ratio is less than this count as the same: timings and sizes vary by as much for no reason."""

LATENCY, RERANKERS, EMBEDDING, CONTEXT, CHARACTERS, INDEX = ORDER = (
    "latency_p50",
    "rerankers",
    "embedding",
    "context_tokens",
    "context_characters",
    "index_bytes",
)
"""The costs in the order in which they are looked at, after those that the user knows: the median seconds of a query,
how many rerankers there are, whether queries are embedded, what a prompt holds at the depth of the metric (characters
if tokens were not counted), and the size of the index. If latency was measured of all systems, rerankers and embedding
are in it, and not looked at."""

_BM25, _EMBEDS = re.compile(r"bm25", re.IGNORECASE), re.compile(r"(?:dense|hybrid) \(")
_IN_LATENCY = (RERANKERS, EMBEDDING)


def costs_of(comparison: Comparison, known: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return what is known of the costs of each system, by name, in the order in which they are looked at.

    Args:
        comparison: the systems.
        known: costs that the user knows, by name, then system.

    Raises:
        ConfigurationError: costs of a system that is not there, or that are not numbers.
    """
    check_known(comparison, known)
    found = {name: _of(comparison, name) for name in comparison.names}
    timed = all(LATENCY in of_one for of_one in found.values())
    left_out = {*(_IN_LATENCY if timed else ()), *((CHARACTERS,) if _all_have(found, CONTEXT) else ())}
    order = [*known, *(cost for cost in ORDER if cost not in (*left_out, *known))]
    for cost, by_system in known.items():
        for name, value in by_system.items():
            found[name][cost] = float(value)
    return {name: {cost: of_one[cost] for cost in order if cost in of_one} for name, of_one in found.items()}


def cheapest_first(costs: Mapping[str, Mapping[str, float]], means: Mapping[str, float]) -> list[str]:
    """Return systems from the cheapest to the dearest.

    The costs are looked at one after the other, each where it is known of all that are left: those that cost less than
    1.1 times the least stay, until one is left. Of several that cost the same, the highest mean comes first.

    Args:
        costs: of each system, in the order in which they are looked at.
        means: of each system.
    """
    left, ordered = dict(costs), []
    while left:
        ordered.append(_cheapest(left, means))
        del left[ordered[-1]]
    return ordered


def _cheapest(costs: Mapping[str, Mapping[str, float]], means: Mapping[str, float]) -> str:
    left = list(costs)
    for cost in next(iter(costs.values())):
        if len(left) > 1 and all(cost in costs[name] for name in left):
            least = min(costs[name][cost] for name in left)
            left = [name for name in left if _is_same(costs[name][cost], least)]
    return max(left, key=means.__getitem__)


def cheaper_in(costs: Mapping[str, float], others: Mapping[str, float]) -> str | None:
    """Return the first cost that two systems do not share, if the first system has less of it; else None."""
    for cost, value in costs.items():
        if cost in others and not _is_same(max(value, others[cost]), min(value, others[cost])):
            return cost if value < others[cost] else None
    return None


def _is_same(value: float, least: float) -> bool:
    return value <= least or value < SAME * least


def _all_have(found: Mapping[str, Mapping[str, float]], cost: str) -> bool:
    return all(cost in of_one for of_one in found.values())


def _of(comparison: Comparison, name: str) -> dict[str, float]:
    evaluation, primary = comparison.evaluation(name), comparison.primary
    found = {cost: of(evaluation) for cost, of in _MEASURED.items()}
    if primary.k is not None:
        found[CONTEXT] = context_tokens_of(comparison, name, primary)
        found[CHARACTERS] = _characters(evaluation, primary.k)
    return {cost: float(value) for cost, value in found.items() if value is not None}


def median_latency(evaluation: Evaluation) -> float | None:
    """Return the median seconds of one query through all stages; None if they were not measured."""
    cost = evaluation.run.cost
    return None if cost is None or cost.whole is None else cost.whole.p50


def _index_bytes(evaluation: Evaluation) -> float | None:
    cost = evaluation.run.cost
    return None if cost is None or cost.index is None else cost.index.bytes


def _embedding(evaluation: Evaluation) -> float | None:
    """Return 1 for a system that embeds queries, 0 for BM25; None where the name does not tell."""
    system = evaluation.run.stages[0].system
    return 0.0 if _BM25.match(system) else 1.0 if _EMBEDS.match(system) else None


def _characters(evaluation: Evaluation, k: int) -> float | None:
    """Return how many characters the first k hits of a query hold, on average."""
    lengths = [sum(len(hit.chunk.text) for hit in hits[:k]) for hits in last_hits(evaluation) if hits]
    return sum(lengths) / len(lengths) if lengths else None


_MEASURED: dict[str, Callable[[Evaluation], float | None]] = {
    LATENCY: median_latency,
    RERANKERS: lambda evaluation: float(len(evaluation.scores.stages) - 1),
    EMBEDDING: _embedding,
    INDEX: _index_bytes,
}
