"""The values that trec_eval prints, for each query and for all: those of raglift's metrics, and what it has besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching import judge_ids
from raglift.metrics import AP, compute
from raglift.metrics.satisfied import count_by_query, per_query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.run_files.reading import FileRankings
    from raglift.run_files.scoring.trec_names import Column

    Values = NDArray[np.float64]

__all__ = ["Judged", "summary", "values_of"]

_LEAST_AP = 1e-5
"""What trec_eval takes an average precision of 0 for, so that the geometric mean is not 0."""
_COUNTS = ("num_ret", "num_rel", "num_rel_ret")


@dataclass(frozen=True, eq=False)
class Judged:
    """A run and its labels, matched."""

    queries: tuple[str, ...]
    """All queries of the qrels, in their order."""
    answered: NDArray[np.bool_]
    """Which of them have hits."""
    judgements: Judgements
    """What matched."""
    judged_irrelevant: Values
    """How many ids were judged irrelevant for each; what has a negative grade was not judged."""

    @classmethod
    def of(cls, rankings: FileRankings, labels: Mapping[str, Mapping[str, int]]) -> Judged:
        """Match a run's ids with those of the labels."""
        pooled = {
            query: {id_: grade for id_, grade in of_query.items() if grade >= 0} for query, of_query in labels.items()
        }
        judgements = judge_ids(rankings, pooled)
        irrelevant = [sum(grade == 0 for grade in of_query.values()) for of_query in pooled.values()]
        return cls(tuple(labels), judgements.hits > 0, judgements, np.array(irrelevant, dtype=np.float64))

    @property
    def relevant(self) -> Values:
        """How many ids are relevant for each query."""
        return count_by_query(self.judgements.facts.query, self.judgements)

    @property
    def found(self) -> Values:
        """How many of them came back."""
        return count_by_query(self.judgements.matches.query, self.judgements)


def values_of(column: Column, judged: Judged) -> Values:
    """Return a column's value for each query, in the order of the labels."""
    if column.metric is not None:
        return compute(judged.judgements, column.metric)
    if column.family == "iprec_at_recall":
        return _interpolated_precision(judged, column.cut or 0.0)
    return _FAMILIES[column.family](judged)


def summary(column: Column, values: Values, judged: Judged, *, complete: bool) -> float:
    """Return a column's value for all queries: a sum, a mean or a geometric mean.

    Args:
        column: what is printed.
        values: its value for each query.
        judged: the queries.
        complete: whether a query without hits counts, as with `trec_eval -c`.
    """
    counted = np.ones_like(judged.answered) if complete else judged.answered
    n = int(np.count_nonzero(counted))
    if column.family == "num_q":
        return float(n)
    if column.family in _COUNTS:
        return float(values[counted if column.family == "num_rel" else judged.answered].sum())
    # one after the other in the order of trec_eval, whose sums have the same last bits then
    order = sorted(np.flatnonzero(judged.answered).tolist(), key=judged.queries.__getitem__)
    if column.family == "gm_map":
        logs = np.log(np.maximum(values[order], _LEAST_AP))
        return float(np.exp((np.cumsum(logs)[-1] + (n - len(order)) * np.log(_LEAST_AP)) / n))
    return float(np.cumsum(values[order])[-1] / n)


def _bpref(judged: Judged) -> Values:
    """Mean over relevant ids of 1 − (irrelevant ones before it, at most R) / min(R, irrelevant ones); Buckley 2004."""
    matches, irrelevant = judged.judgements.matches, judged.judgements.irrelevant
    relevant, span = judged.relevant, int(judged.judgements.hits.max(initial=0)) + 1
    before = np.searchsorted(irrelevant.query * span + irrelevant.rank, matches.query * span + matches.rank)
    before -= np.searchsorted(irrelevant.query * span, matches.query * span)
    most = relevant[matches.query]
    least = np.minimum(most, judged.judged_irrelevant[matches.query])
    terms = 1 - per_query(np.minimum(before, most), least)
    sums = np.bincount(matches.query, weights=terms, minlength=judged.judgements.queries).astype(np.float64)
    return per_query(sums, relevant)


def _interpolated_precision(judged: Judged, share: float) -> Values:
    """Highest precision at any rank from which a share of the relevant ids has come back.

    The number of ids is share · R rounded as in trec_eval 9, which adds 0.9 and cuts.
    """
    matches = judged.judgements.matches
    wanted = np.maximum((share * judged.relevant + 0.9).astype(np.int64), 1)
    ends = np.cumsum(judged.found).astype(np.int64)
    values = np.zeros(judged.judgements.queries)
    for query in np.flatnonzero(judged.found >= wanted).tolist():
        begin = int(ends[query] - judged.found[query])
        ranks = matches.rank[begin : ends[query]]
        precision = np.arange(1, len(ranks) + 1) / ranks
        values[query] = precision[wanted[query] - 1 :].max()
    return values


def _set_f(judged: Judged) -> Values:
    precision, recall = per_query(judged.found, _hits(judged)), per_query(judged.found, judged.relevant)
    return per_query(2 * precision * recall, precision + recall)


def _hits(judged: Judged) -> Values:
    return judged.judgements.hits.astype(np.float64)


_FAMILIES: dict[str, Callable[[Judged], Values]] = {
    "num_q": lambda judged: np.ones(len(judged.queries)),
    "num_ret": _hits,
    "num_rel": lambda judged: judged.relevant,
    "num_rel_ret": lambda judged: judged.found,
    "gm_map": lambda judged: compute(judged.judgements, AP),
    "bpref": _bpref,
    "set_P": lambda judged: per_query(judged.found, _hits(judged)),
    "set_F": _set_f,
}
