"""What a perfect reranker could make of the same candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.diagnosis.attainable import best_facts
from raglift.diagnosis.rejudged import depth_of, judgements_of, pieces_by_query, rule_of
from raglift.diagnosis.requirements import requirements_of
from raglift.matching import judge
from raglift.metrics import NDCG, compute
from raglift.records import PEOPLE, LabelSources, Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.diagnosis.attainable import Alternative
    from raglift.records import Query
    from raglift.result_records import EvaluationRecord

__all__ = ["HeadroomRecord", "headroom"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class HeadroomRecord:
    """Recall and NDCG of a perfect reranker over the candidates that the first stage returned."""

    k: int
    """The depth."""
    recall: NDArray[np.float64]
    """For each query in dataset order; NaN for one without labels, 0 for one that failed."""
    ndcg: NDArray[np.float64]
    """Likewise, with linear gain against all labels."""
    exact: NDArray[np.bool_]
    """Whether both are exact for the query; else they are upper bounds, shown as ≤."""
    label_sources: LabelSources = PEOPLE
    """Who gave the labels that it rests on."""

    @property
    def mean_recall(self) -> float:
        """The mean over labelled queries."""
        return _mean(self.recall)

    @property
    def mean_ndcg(self) -> float:
        """The mean over labelled queries."""
        return _mean(self.ndcg)

    @property
    def is_exact(self) -> bool:
        """Whether both means are exact; else they are upper bounds."""
        return bool(self.exact.all())


def headroom(evaluation: EvaluationRecord, k: int | None = None) -> HeadroomRecord:
    """Return recall and NDCG of a perfect reranker over the same candidates.

    Recall@k is that of the k candidates that satisfy most facts. NDCG@k is bounded by placing each fact with its best
    grade at the earliest free position at which enough candidates can have come before, better grades first. A ranking
    is made in that order and scored; where it reaches the bound, as it does when each candidate proves one fact, the
    bound is exact.

    Args:
        evaluation: what was measured.
        k: the depth; by default the deepest that was scored.

    Raises:
        ConfigurationError: k is not a depth of the run.
    """
    k = depth_of(evaluation, k)
    pieces = pieces_by_query(judgements_of(evaluation)[0])
    rule, queries = rule_of(evaluation), evaluation.dataset.queries
    recall, ndcg = np.full(len(queries), np.nan), np.full(len(queries), np.nan)
    exact = np.ones(len(queries), dtype=np.bool_)
    rankings = []
    for number, (query, trace) in enumerate(zip(queries, evaluation.run.traces, strict=True)):
        failed = trace.error is not None
        candidates = Ranking() if failed or not trace.stages else trace.stages[0].ranking
        order: list[int] = []
        if query.is_labelled:
            needs = requirements_of(query, {} if failed else pieces.get(number, {}), rule)
            best = best_facts(needs, k)
            recall[number], exact[number] = best.facts / len(query.facts), best.exact
            ndcg[number], order = _best_ndcg(query, needs, k)
        rankings.append(Ranking.of((candidates[rank - 1].chunk, None) for rank in order))
    (judged,) = judge(queries, [rankings], rule)
    reached = compute(judged, NDCG @ k)
    exact &= np.isnan(ndcg) | (reached >= ndcg - _TOLERANCE)
    return HeadroomRecord(k, recall, ndcg, exact, evaluation.label_sources)


def _best_ndcg(query: Query, needs: list[list[Alternative]], k: int) -> tuple[float, list[int]]:
    """Return a bound of NDCG@k, and the ranks of the candidates in the order in which it places their facts."""
    possible = [ways for place, of_fact in enumerate(needs) if (ways := _ways(query, place, of_fact))]
    # The best grade, and the fewest candidates that satisfy the fact at all: at least as good as any one alternative
    placed = sorted(
        ((max(grade for grade, _ in ways), min(len(c) for _, c in ways), ways) for ways in possible),
        key=lambda fact: (-fact[0], fact[1]),
    )
    free = list(range(1, k + 1))
    gained, order = 0.0, dict[int, None]()
    for grade, earliest, ways in placed:
        position = next((place for place in free if place >= earliest), None)
        if position is not None:
            free.remove(position)
            gained += grade / np.log2(position + 1)
        order |= dict.fromkeys(max(ways, key=lambda way: (way[0], -len(way[1])))[1])
    ideals = sorted((fact.ideal_grade for fact in query.facts), reverse=True)[:k]
    ideal = sum(grade / np.log2(position + 1) for position, grade in enumerate(ideals, start=1))
    return float(gained / ideal), list(order)


def _ways(query: Query, place: int, alternatives: list[Alternative]) -> list[tuple[int, list[int]]]:
    """Return the grade and the fewest candidates of each alternative that the candidates satisfy."""
    ways = []
    for passage, alternative in zip(query.facts[place].passages, alternatives, strict=True):
        longest = sorted(alternative.covers, key=lambda cover: cover[1] - cover[2])
        many = len(longest)
        fewest = next((n for n in range(1, many + 1) if best_facts([[alternative]], n).facts), None)
        if fewest is not None:
            ways.append((passage.grade, [rank for rank, _, _ in longest[:fewest]]))
    return ways


def _mean(values: NDArray[np.float64]) -> float:
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if len(counted) else float("nan")
