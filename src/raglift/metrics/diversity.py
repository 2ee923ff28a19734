"""A metric that asks for many facts early, and pays less for the same fact again: AlphaNDCG (Clarke et al. 2008)."""

from __future__ import annotations

import heapq
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.faults import shown
from raglift.metrics.custom import metric
from raglift.metrics.satisfied import depth, per_query, sum_by
from raglift.metrics.settings import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.matching import FactTable, Judgements, PassageTable
    from raglift.records import Metric

__all__ = ["ALPHA", "AlphaNDCG"]

ALPHA = Number("alpha", 0, 1, default=0.5)
"""How much less a fact is worth each time that it comes again."""


def require_chunk_ids(metric: Metric, _: FactTable, passages: PassageTable) -> None:
    """Check that all labels are chunk ids.

    Raises:
        ConfigurationError: one is not.
    """
    text = next((text for text in passages.texts if text is not None), None)
    if text is not None:
        raise ConfigurationError(
            f"{metric}: found a label that is a text, {shown(text)}; expected chunk ids alone, which say how many "
            "facts each chunk holds and so what the ideal ranking is; ndcg takes texts, and credits each fact once"
        )


@metric(
    "alpha_ndcg",
    title="AlphaNDCG",
    formula="Σ (1 − alpha)^(hits before that held the fact) / log2(rank + 1), / that of the greedy ranking",
    source="Clarke et al. 2008",
    settings=(ALPHA,),
    aliases=("alphandcg",),
    check=require_chunk_ids,
    vectorized=True,
)
def AlphaNDCG(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """AlphaNDCG@k = Σ over ranks i ≤ k of gain_i / log2(i + 1), / that of the ideal ranking. Range [0, 1].

    A hit gains (1 − alpha)^r for each fact that it holds, where r earlier hits held that fact too; after Clarke et al.
    2008, whose nuggets the facts are. alpha is 0.5 unless given. Grades do not count. A chunk id that is a label of
    several facts is one document with several nuggets; one that comes back twice gains nothing the second time.

    The ideal is greedy, as ndeval's: of the chunks that are left, each time the one that gains most; of equals, the
    one whose id comes last in the alphabet. The best ranking is not always found so. A ranking that beats the greedy
    one is the ideal itself, and counts 1, where ndeval prints a value above 1.

    Raises:
        ConfigurationError: a label is a text: chunks that hold it are told only where they were retrieved, so there is
            no ideal.
    """
    alpha = ALPHA.of(metric) or 0.0
    best = _discounted(_ideal(judgements.facts, judgements.passages, alpha), metric.k, judgements.queries)
    return np.minimum(per_query(_discounted(_gained(judgements, alpha), metric.k, judgements.queries), best), 1.0)


_Gains = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]"]
"""Query, rank and gain, one row each."""


def _discounted(gains: _Gains, k: int | None, queries: int) -> NDArray[np.float64]:
    query, rank, gain = gains
    within = rank <= depth(k)
    return sum_by(query[within], gain[within] / np.log2(rank[within] + 1), queries)


def _gained(judgements: Judgements, alpha: float) -> _Gains:
    """Return what each hit gains with each fact that it holds."""
    matches = judgements.matches
    held = np.stack((matches.fact, matches.rank))[:, ~matches.repeated]
    fact, rank = np.unique(held, axis=1)  # two alternatives of one fact may be one chunk
    seen = np.arange(len(fact)) - np.searchsorted(fact, fact)
    return judgements.facts.query[fact], rank, (1.0 - alpha) ** seen


@lru_cache(maxsize=4)  # it is the same at all depths and stages of an evaluation
def _ideal(facts: FactTable, passages: PassageTable, alpha: float) -> _Gains:
    """Return what the greedy ranking gains at each rank."""
    if passages.ids is None:  # each passage is a chunk of its own
        return facts.query, np.arange(len(facts.query)) - np.searchsorted(facts.query, facts.query) + 1, _ones(facts)
    query: list[int] = []
    rank: list[int] = []
    gain: list[float] = []
    for number, held in _facts_held(facts, passages.ids):
        gains = list(_greedy(held, alpha))
        query += [number] * len(gains)
        rank += range(1, len(gains) + 1)
        gain += gains
    return np.array(query, dtype=np.int64), np.array(rank, dtype=np.int64), np.array(gain, dtype=np.float64)


def _ones(facts: FactTable) -> NDArray[np.float64]:
    return np.ones(len(facts.query))


def _facts_held(facts: FactTable, ids: Sequence[str | None]) -> Iterator[tuple[int, Mapping[str, list[int]]]]:
    """Yield each query with its chunks, and which facts each of them holds, in order."""
    held: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    owner = np.repeat(np.arange(len(facts.query)), facts.passages)
    for query, fact, name in zip(facts.query[owner].tolist(), owner.tolist(), ids, strict=True):
        of_chunk = held[query][name or ""]
        if fact not in of_chunk[-1:]:
            of_chunk.append(fact)
    yield from held.items()


def _greedy(held: Mapping[str, Iterable[int]], alpha: float) -> Iterator[float]:
    """Yield what each chunk gains where always the one comes next that gains most.

    A chunk never gains more later than it would now, so only the one that looked best is looked at again.
    """
    worth: dict[int, float] = defaultdict(lambda: 1.0)
    chunks = [held[name] for name in sorted(held, reverse=True)]
    waiting = [(-float("inf"), place) for place in range(len(chunks))]
    while waiting:
        bound, place = heapq.heappop(waiting)
        gain = sum(worth[fact] for fact in chunks[place])
        if -bound > gain:
            heapq.heappush(waiting, (-gain, place))
            continue
        yield gain
        for fact in chunks[place]:
            worth[fact] *= 1.0 - alpha
