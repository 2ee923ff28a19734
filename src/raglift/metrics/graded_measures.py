"""Measures of graded gain, of diversity, and of a reader who stops."""

from __future__ import annotations

import heapq
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.metrics.custom import metric
from raglift.metrics.measure import (
    Choice,
    Number,
    depth,
    first_satisfactions,
    per_query,
    relevant_hits,
    sum_by,
)
from raglift.metrics.registry import function_of
from raglift.utilities.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.matching.matches import FactTable, MatchTable, PassageTable
    from raglift.types.metric import Metric


# Graded, rank-aware metrics: DCG, IDCG, NDCG (Järvelin and Kekäläinen 2002). Each fact is credited once, so duplicated
# or overlapping chunks cannot raise a score above 1. Facts satisfied at the same rank are spread over consecutive
# positions, because an ideal ranking has one fact per position.


GAIN = Choice("gain", ("linear", "exponential"))
"""What a grade is worth."""
_SOURCE = "Järvelin and Kekäläinen 2002"


@metric(
    "dcg",
    title="DCG",
    formula="Σ gain / log2(position + 1), each fact once",
    source=_SOURCE,
    settings=(GAIN,),
    is_bounded=False,
    vectorized=True,
)
def DCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """DCG@k = Σ gain_j / log2(p_j + 1) over positions p_j ≤ k. Range [0, IDCG@k].

    The satisfied facts are ordered by rank (ties: higher gain first, then label order); fact j gets the position
    p_j = max(its rank, p_{j−1} + 1). A better alternative of the same fact found later adds the difference at
    max(that rank, p_j). The gain is the grade, or 2^grade − 1 with `gain="exponential"`.
    """
    first = first_satisfactions(match_table)
    position = positions(first.query, first.rank)
    position_of_fact = np.zeros(len(match_table.facts.query), dtype=np.int64)
    position_of_fact[first.fact] = position
    satisfied = match_table.satisfied
    gain = gain_of(satisfied.grade, metric)
    same_fact = np.zeros(len(gain), dtype=bool)
    same_fact[1:] = satisfied.fact[1:] == satisfied.fact[:-1]
    added = gain.copy()
    added[same_fact] -= gain[:-1][same_fact[1:]]
    at = np.maximum(satisfied.rank, position_of_fact[satisfied.fact])
    return discounted_sum(match_table.facts.query[satisfied.fact], at, added, metric.k, match_table.queries)


@metric(
    "idcg",
    title="IDCG",
    formula="the DCG of the best possible ranking",
    source=_SOURCE,
    settings=(GAIN,),
    aliases=("ideal_dcg",),
    is_earned=False,
    is_bounded=False,
    vectorized=True,
)
def IDCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """IDCG@k = the facts by ideal gain, best first, one a position, cut at k. Range [0, ∞)."""
    facts = match_table.facts
    order = np.lexsort((-facts.ideal_grade, facts.query))
    query = facts.query[order]
    position = np.arange(len(query)) - np.searchsorted(query, query) + 1
    return discounted_sum(query, position, gain_of(facts.ideal_grade[order], metric), metric.k, match_table.queries)


@metric("ndcg", title="NDCG", formula="DCG@k / IDCG@k", source=_SOURCE, settings=(GAIN,), vectorized=True)
def NDCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """NDCG@k = DCG@k / IDCG@k; 0 if nothing is relevant. Range [0, 1], without clipping."""
    return per_query(function_of(DCG)(match_table, metric), function_of(IDCG)(match_table, metric))


def positions(query: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return p_j = max(rank_j, p_{j−1} + 1) within each query, for rows sorted by query and rank.

    p_j − j is the running maximum of rank_j − j; lifting each query above all before it keeps them apart.
    """
    if not len(rank):
        return rank
    place = np.arange(len(query)) - np.searchsorted(query, query)
    span = int(rank.max()) + len(rank) + 1
    lifted = np.maximum.accumulate(rank - place + query * span)
    return np.asarray(lifted - query * span + place, dtype=np.int64)


def gain_of(grade: NDArray[np.int64], metric: Metric) -> NDArray[np.float64]:
    """Return the gain of each grade: the grade itself, or 2^grade − 1 with `gain="exponential"`."""
    if GAIN.of(metric) == "exponential":
        return np.exp2(grade.astype(np.float64)) - 1
    return grade.astype(np.float64)


def discounted_sum(
    query: NDArray[np.int64],
    position: NDArray[np.int64],
    gain: NDArray[np.float64],
    k: int | None,
    queries: int,
) -> NDArray[np.float64]:
    """Return, for each query, Σ gain / log2(position + 1) over positions up to k."""
    within = position <= depth(k)
    terms = gain[within] / np.log2(position[within] + 1)
    return sum_by(query[within], terms, queries)


# AlphaNDCG (Clarke et al. 2008), a diversity metric that discounts repeated facts.


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
def AlphaNDCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
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
    best = _discounted(_ideal(match_table.facts, match_table.passages, alpha), metric.k, match_table.queries)
    return np.minimum(per_query(_discounted(_gained(match_table, alpha), metric.k, match_table.queries), best), 1.0)


_Gains = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]"]
"""Query, rank and gain, one row each."""


def _discounted(gains: _Gains, k: int | None, queries: int) -> NDArray[np.float64]:
    query, rank, gain = gains
    within = rank <= depth(k)
    return sum_by(query[within], gain[within] / np.log2(rank[within] + 1), queries)


def _gained(match_table: MatchTable, alpha: float) -> _Gains:
    """Return what each hit gains with each fact that it holds."""
    matches = match_table.matches
    held = np.stack((matches.fact, matches.rank))[:, ~matches.repeated]
    fact, rank = np.unique(held, axis=1)  # two alternatives of one fact may be one chunk
    seen = np.arange(len(fact)) - np.searchsorted(fact, fact)
    return match_table.facts.query[fact], rank, (1.0 - alpha) ** seen


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


def _greedy(facts_of_hit: Mapping[str, Iterable[int]], alpha: float) -> Iterator[float]:
    """Yield what each chunk gains where always the one comes next that gains most.

    A chunk never gains more later than it would now, so only the one that looked best is looked at again.
    """
    worth: dict[int, float] = defaultdict(lambda: 1.0)
    chunks = [facts_of_hit[name] for name in sorted(facts_of_hit, reverse=True)]
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


# Metrics of a user model that may stop at any hit: ERR and RBP.


HIGHEST_GRADE = Number("gmax", 1, 1000, is_whole=True)
"""The top of the scale of grades; by default the highest grade of the dataset."""
PERSISTENCE = Number("p", 0, 1, default=0.8, is_open=True)
"""How likely the reader is to look at the next hit."""
UTILITY = Choice("gain", ("binary", "graded"))
"""What a relevant hit is worth: 1, or its grade / the highest grade of the query's labels."""


def require_grades(metric: Metric, facts: FactTable, _: PassageTable) -> None:
    """Check that no label has a higher grade than the scale has.

    Raises:
        ConfigurationError: one has.
    """
    stated, highest = HIGHEST_GRADE.of(metric), int(facts.ideal_grade.max(initial=0))
    if stated is not None and highest > stated:
        raise ConfigurationError(
            f"{metric}: found a label of the grade {highest}; expected none above gmax, which is {stated:g}: choose "
            f"gmax={highest} or more"
        )


@metric(
    "err",
    title="ERR",
    formula="Σ 1/rank · P · Π over hits before of (1 − P), with P = (2^grade − 1) / 2^gmax",
    source="Chapelle et al. 2009",
    settings=(HIGHEST_GRADE,),
    check=require_grades,
    vectorized=True,
)
def ERR(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """ERR@k = Σ over ranks i ≤ k of 1/i · P_i · Π over j < i of (1 − P_j), with P = (2^g − 1) / 2^gmax. Range [0, 1).

    The expected 1/rank at which a reader stops who goes down the ranking and stops at a hit with probability P, after
    Chapelle et al. 2009. g is the highest grade that the hit matches, 0 where it matches nothing.

    gmax is the highest grade of all labelled queries of the dataset, so a query's value does not depend on which other
    queries it is shown with: slices by tag, held-out halves and token budgets are of the same scale. Another dataset
    has another scale, and so has a part of one that is evaluated alone (`Dataset.only`, `Dataset.sample`): name it to
    compare them, as `err(gmax=3)@10`. gdeval's is 4.
    """
    query, rank, grade = relevant_hits(match_table, metric.k)
    highest = HIGHEST_GRADE.of(metric)
    top = match_table.highest_grade if highest is None else highest
    stops = np.exp2(grade - top) - np.exp2(-float(top))  # (2^g − 1) / 2^gmax, where 2^g may be no float
    values, reaches = np.zeros(match_table.queries), np.ones(match_table.queries)
    for rows in _one_after_the_other(query):
        of = query[rows]
        values[of] += reaches[of] * stops[rows] / rank[rows]
        reaches[of] *= 1 - stops[rows]
    return values


@metric(
    "rbp",
    title="RBP",
    formula="(1 − p) Σ over relevant hits of p^(rank − 1)",
    source="Moffat and Zobel 2008",
    settings=(PERSISTENCE, UTILITY),
    vectorized=True,
)
def RBP(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """RBP(p)@k = (1 − p) Σ over relevant hits at ranks i ≤ k of p^(i − 1). Range [0, 1).

    The share of relevant hits among those that a reader looks at who goes on to the next hit with probability p, after
    Moffat and Zobel 2008; p is 0.8 unless given, as `rbp(p=0.95)@10`. A hit is relevant or not: grades do not count,
    unless gain=graded makes a hit worth its grade / the highest grade of the query's labels. trec_eval 10's rbp is
    `rbp(gain=graded,p=0.9)`. The weights of the first k ranks add up to 1 − p^k, which is the most that RBP@k can be.
    """
    persistence = PERSISTENCE.of(metric) or 0.0
    query, rank, grade = relevant_hits(match_table, metric.k)
    weight = np.power(persistence, rank - 1, dtype=np.float64)
    if UTILITY.of(metric) == "graded":
        highest = np.ones(match_table.queries)
        np.maximum.at(highest, match_table.facts.query, match_table.facts.ideal_grade)
        weight *= grade / highest[query]
    return (1 - persistence) * sum_by(query, weight, match_table.queries)


def _one_after_the_other(query: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows that are first of their query, then those that are second, and so on; `query` is ascending."""
    place = np.arange(len(query)) - np.searchsorted(query, query)
    order = np.argsort(place, kind="stable")
    return np.split(order, np.cumsum(np.bincount(place))[:-1]) if len(place) else []
