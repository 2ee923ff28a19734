"""What trec_eval makes of the values of queries: raglift's metrics and counts, summed up as it sums them up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching import judge_ids
from raglift.metrics import MEASURES, compute
from raglift.metrics.measure import LEAST
from raglift.metrics.satisfied import count_by_query, irrelevant_hits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.run_files.reading import FileRankings
    from raglift.run_files.scoring.trec_names import Column, Version

    Values = NDArray[np.float64]

__all__ = ["COUNTS", "TrecValues", "values_of"]

COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
"""What is counted, and printed as a whole number."""


@dataclass(frozen=True, eq=False)
class TrecValues:
    """The value of each column for each query, and which queries are printed and counted."""

    queries: tuple[str, ...]
    """All queries of the qrels, in their order."""
    printed: tuple[int, ...]
    """The numbers of those that are evaluated, in the order in which trec_eval prints them and sums them up."""
    counted: int
    """How many queries the means are over: those that are not evaluated count 0."""
    values: Mapping[Column, Values]
    """For each column, one value a query."""
    relevant: int
    """How many documents are relevant to the queries that count."""

    def summary(self, column: Column) -> float:
        """Return a column's value for all queries: a count, a mean or a geometric mean.

        Values are added one after the other in trec_eval's order, whose sums have the same last bits then.
        """
        if column.family == "num_q":
            return float(self.counted)
        if column.family == "num_rel":
            return float(self.relevant)
        values = self.values[column][list(self.printed)]
        if column.metric is None:
            return float(values.sum())
        if MEASURES[column.metric.name].mean == "geometric":
            logs = np.cumsum(np.log(np.maximum(values, LEAST)))
            return float(np.exp((logs[-1] + (self.counted - len(values)) * np.log(LEAST)) / self.counted))
        return float(np.cumsum(values)[-1] / self.counted)


def values_of(
    columns: Sequence[Column],
    rankings: FileRankings,
    labels: Mapping[str, Mapping[str, int]],
    *,
    complete: bool,
    version: Version,
) -> TrecValues:
    """Return what trec_eval computes of a run and qrels.

    Args:
        columns: what is asked for.
        rankings: the run.
        labels: the qrels.
        complete: whether queries without a ranking count, as with `-c`. Version 10 then evaluates and prints them too.
        version: trec_eval's.
    """
    judgements = judge_ids(rankings, labels)
    queries = tuple(labels)
    answered = judgements.hits > 0
    counted = np.ones_like(answered) if complete else answered
    evaluated = counted if version >= 10 else answered
    wanted = count_by_query(judgements.facts.query, judgements)
    return TrecValues(
        queries=queries,
        printed=tuple(sorted(np.flatnonzero(evaluated).tolist(), key=queries.__getitem__)),
        counted=int(np.count_nonzero(counted)),
        values={column: _values(column, judgements) for column in columns if column.family != "runid"},
        relevant=int(wanted[counted].sum()),
    )


def _values(column: Column, judgements: Judgements) -> Values:
    if column.metric is not None:
        return compute(judgements, column.metric)
    match column.family:
        case "num_ret":
            return judgements.hits.astype(np.float64)
        case "num_rel":
            return count_by_query(judgements.facts.query, judgements)
        case "num_rel_ret":
            return count_by_query(judgements.matches.query, judgements)
        case "num_nonrel_judged_ret":
            return count_by_query(irrelevant_hits(judgements, None).query, judgements)
    return np.ones(judgements.queries)
