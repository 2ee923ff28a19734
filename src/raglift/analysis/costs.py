"""The costs of systems: what is known of them, which is cheaper, and quality against cost, with the Pareto front."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from raglift.analysis.chunking import last_hits
from raglift.analysis.paired_statistics import scored
from raglift.analysis.records import SystemCost, Tradeoff
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric
    from raglift.types.rankings import Cost


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
        found[CHARACTERS] = characters_of_hits(evaluation, primary.k) or None
    return {cost: float(value) for cost, value in found.items() if value is not None}


def median_latency(evaluation: Evaluation) -> float | None:
    """Return the median seconds of one query through all stages; None if they were not measured."""
    cost = evaluation.run.cost
    return None if cost is None or cost.whole is None else cost.whole.p50


def index_bytes(evaluation: Evaluation) -> float | None:
    """Return the size of the index in bytes; None if it is not known."""
    cost = evaluation.run.cost
    return None if cost is None or cost.index is None else cost.index.bytes


def _embedding(evaluation: Evaluation) -> float | None:
    """Return 1 for a system that embeds queries, 0 for BM25; None if the name does not tell."""
    system = evaluation.run.stages[0].system
    return 0.0 if _BM25.match(system) else 1.0 if _EMBEDS.match(system) else None


def characters_of_hits(evaluation: Evaluation, k: int | None) -> float:
    """Return how many characters the first k hits of a query hold, on average; all hits for None, 0 without any."""
    lengths = [sum(len(hit.chunk.text) for hit in hits[:k]) for hits in last_hits(evaluation)]
    return sum(lengths) / len(lengths) if lengths else 0.0


_MEASURED: dict[str, Callable[[Evaluation], float | None]] = {
    LATENCY: median_latency,
    RERANKERS: lambda evaluation: float(len(evaluation.scores.stages) - 1),
    EMBEDDING: _embedding,
    INDEX: index_bytes,
}


# The Pareto front: the rows that no other row dominates.


def beats(rows: ArrayLike) -> NDArray[np.bool_]:
    """Return which row beats which: it is as good in every column, and better in one.

    The Pareto front is the rows that none beats: `~beats(rows).any(axis=0)`. Equal rows do not beat each other.

    Args:
        rows: rows × columns of finite numbers; more is better in every column, so costs go in negated.

    Returns:
        Shape (rows, rows): whether the row of the first axis beats that of the second.
    """
    values = np.asarray(rows, dtype=np.float64)
    winner, loser = values[:, np.newaxis, :], values[np.newaxis, :, :]
    return np.logical_and((winner >= loser).all(axis=2), (winner > loser).any(axis=2))


# Cost against quality: the known costs of each system, and the Pareto front.


_CONTEXT = "context_tokens"
_USUAL = ("latency_p50", _CONTEXT)


def _whole(name: str) -> Callable[[Cost], float | None]:
    return lambda cost: None if cost.whole is None else getattr(cost.whole, name)


def _index(name: str) -> Callable[[Cost], float | None]:
    return lambda cost: None if cost.index is None else getattr(cost.index, name)


_COSTS: dict[str, Callable[[Cost], float | None]] = {
    "latency_p50": _whole("p50"),
    "latency_p95": _whole("p95"),
    "index_seconds": _index("seconds"),
    "index_bytes": _index("bytes"),
    "chunks": _index("chunks"),
}
"""What a run says of its cost, by name."""


def tradeoff(
    comparison: Comparison,
    quality: Metric | str | None = None,
    costs: Sequence[str] | None = None,
    *,
    known: Mapping[str, Mapping[str, float]] | None = None,
) -> Tradeoff:
    """Return cost against quality, and the systems that no other beats in all: see `Comparison.pareto`.

    A system of which a cost is not known, or whose quality is truncated, takes no part in the front.
    """
    known = {} if known is None else known
    metric = scored(comparison.primary if quality is None else quality, comparison.metrics, "quality")
    check_known(comparison, known)
    found = {name: _costs_of(comparison, name, metric, known) for name in comparison.names}
    chosen = _chosen(costs, found, known)
    rows = []
    for name in comparison.names:
        row = comparison.row(name, metric)
        missing = [cost for cost in chosen if cost not in found[name]]
        reason = f"not known: {', '.join(missing)}" if missing else None
        if row.truncated or math.isnan(row.mean):
            reason = f"no comparable {metric}"
        rows.append(
            SystemCost(
                name, row.mean, {cost: found[name][cost] for cost in chosen if cost not in missing}, left_out=reason
            )
        )
    return Tradeoff(metric, chosen, tuple(_with_winners(rows, chosen)), comparison.label_sources)


def has_costs(comparison: Comparison) -> bool:
    """Return whether latency or context tokens are known of some system, so that there is a tradeoff to show."""
    found = [_costs_of(comparison, name, comparison.primary, {}) for name in comparison.names]
    return any(cost in of_one for of_one in found for cost in _USUAL)


def _with_winners(rows: Sequence[SystemCost], costs: Sequence[str]) -> list[SystemCost]:
    taking_part = [row for row in rows if row.left_out is None]
    table = [[row.quality, *(-row.costs[cost] for cost in costs)] for row in taking_part]
    winners = beats(table).tolist() if table else []
    beaten_by = {
        loser.system: tuple(taking_part[place].system for place in range(len(taking_part)) if winners[place][number])
        for number, loser in enumerate(taking_part)
    }
    return [SystemCost(row.system, row.quality, row.costs, beaten_by.get(row.system, ()), row.left_out) for row in rows]


def _costs_of(
    comparison: Comparison, name: str, metric: Metric, known: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Return what is known of one system's costs."""
    evaluation = comparison.evaluation(name)
    cost: Cost | None = evaluation.run.cost
    found = {label: of(cost) for label, of in _COSTS.items()} if cost is not None else {}
    found[_CONTEXT] = context_tokens_of(comparison, name, metric)
    found |= {label: by_system.get(name) for label, by_system in known.items()}
    return {label: float(value) for label, value in found.items() if value is not None and not math.isnan(value)}


def context_tokens_of(comparison: Comparison, name: str, metric: Metric) -> float | None:
    """Return the mean tokens of the hits that the quality looks at; None if they were not counted."""
    for row in comparison.rows:
        if row.system == name and row.metric.name == _CONTEXT and row.metric.depth == metric.depth:
            return row.mean
    return None


def _chosen(
    costs: Sequence[str] | None, found: Mapping[str, Mapping[str, float]], known: Mapping[str, Mapping[str, float]]
) -> tuple[str, ...]:
    """Return the costs to look at, each known of at least one system."""
    somewhere = {cost for of_one in found.values() for cost in of_one}
    if costs is None:
        chosen = tuple(cost for cost in (*_USUAL, *known) if cost in somewhere)
        if not chosen:
            raise ConfigurationError(f"pareto: found no cost of any system; expected at least one: {_HOW}")
        return chosen
    chosen = (costs,) if isinstance(costs, str) else tuple(dict.fromkeys(costs))
    possible = [*_COSTS, _CONTEXT, *known]
    for cost in chosen:
        if cost not in possible:
            raise ConfigurationError(f"costs: found {cost!r}; expected one of {', '.join(possible)}")
        if cost not in somewhere:
            raise ConfigurationError(f"costs: found no {cost} of any system; expected it of at least one: {_HOW}")
    if not chosen:
        raise ConfigurationError(f"costs: found none; expected one or more of {', '.join(possible)}")
    return chosen


_HOW = (
    "evaluate(..., latency=20) measures latency and the index, the metric context_tokens the tokens, and "
    "known={'dollars': {'dense': 0.4}} says what you know"
)


def check_known(comparison: Comparison, known: Mapping[str, Mapping[str, float]]) -> None:
    """Check costs that the caller knows."""
    for cost, by_system in known.items():
        for name, value in by_system.items():
            if name not in comparison.names:
                names = ", ".join(map(repr, comparison.names))
                raise ConfigurationError(f"known[{cost!r}]: found {name!r}; expected one of {names}")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise ConfigurationError(f"known[{cost!r}][{name!r}]: found {value!r}; expected a number")
