"""Reranker lift: after minus before on the same candidates at the same k, and the queries that moved most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.comparison.cautions import few_queries, read_in_part
from raglift.comparison.statistics import (
    detectable,
    interval_of,
    mean_of,
    method_of,
    method_text,
    primary_of,
    verdict,
    within_reach,
)
from raglift.diagnosis.rejudged import judgements_of
from raglift.errors import ConfigurationError
from raglift.metrics import has_differences, mean_title
from raglift.metrics.satisfied import first_satisfactions
from raglift.result_records import Lifted, LiftRecord, Moved
from raglift.significance import TIED, paired_differences
from raglift.significance.arguments import checked_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric
    from raglift.result_records import EvaluationRecord, Method
    from raglift.significance import PairedDifference

__all__ = ["reranker_lift"]

_SHOWN = 5


def reranker_lift(
    evaluation: EvaluationRecord,
    *,
    primary: Metric | str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    moved: int = _SHOWN,
) -> LiftRecord:
    """Return what the stages after the first changed, with intervals, a test, and the queries that moved most.

    Args:
        evaluation: of a system with a reranker.
        primary: the metric that decides; every other is exploratory. By default NDCG@10 or, where that was not scored,
            NDCG at the deepest depth that was, else the first measure of quality at its deepest.
        seed: of the permutation tests.
        confidence: how often intervals hold the true value.
        moved: how many queries to name in each direction, at most.

    Raises:
        ConfigurationError: a system of one stage, a metric that was not scored, or an argument outside its range.
    """
    if len(evaluation.scores.stages) == 1:
        raise ConfigurationError(
            f"reranker_lift: found a system of one stage ({evaluation.before}); expected one with a reranker, as "
            "evaluate(system, dataset, reranker='late-interaction')"
        )
    method = method_of(seed, confidence)
    most = checked_integer("moved", moved, least=0)
    decides = primary_of(primary, evaluation.scores.metrics)
    metrics = (decides, *(each for each in evaluation.scores.metrics if each != decides and has_differences(each)))
    lifts = np.stack([evaluation.lift(metric) for metric in metrics], axis=1)
    described = paired_differences(lifts, seed=seed, confidence=confidence)
    rows = tuple(
        _lifted(evaluation, metric, difference, method) for metric, difference in zip(metrics, described, strict=True)
    )
    text = method_text([rows[0].difference], decides, "nothing to correct for: one comparison")
    up, down = _moved(evaluation, decides, lifts[:, 0], most)
    return LiftRecord(
        evaluation,
        decides,
        (_decided(rows[0], lifts[:, 0], method), *rows[1:]),
        up,
        down,
        replace(method, text=text),
        tuple(_warnings(evaluation, rows[0])),
    )


def _lifted(evaluation: EvaluationRecord, metric: Metric, difference: PairedDifference, method: Method) -> Lifted:
    before = evaluation.scores.of(evaluation.before, metric)
    after = evaluation.scores.of(evaluation.after, metric)
    is_fair = evaluation.has_fair_lift(metric)
    if is_fair:  # the same queries on both sides, also where a profile leaves one out of one side's mean
        both = ~np.isnan(before) & ~np.isnan(after)
        before, after = before[both], after[both]
    return Lifted(
        metric=metric,
        before=mean_of(metric, before),
        before_interval=interval_of(metric, before, method.confidence),
        after=mean_of(metric, after),
        after_interval=interval_of(metric, after, method.confidence),
        n=int(np.count_nonzero(~np.isnan(after))),
        difference=within_reach(metric, difference) if is_fair else None,
        truncated=not is_fair,
    )


def _decided(row: Lifted, lift: NDArray[np.float64], method: Method) -> Lifted:
    if row.difference is None or not row.difference.n:
        return replace(row, exploratory=False)
    said = verdict(row.difference, row.difference.p, method)
    return replace(row, detectable=detectable(lift, method, 1), verdict=said, exploratory=False)


def _warnings(evaluation: EvaluationRecord, row: Lifted) -> list[str]:
    cut = [stage for stage in evaluation.scores.stages if evaluation.is_truncated(stage, row.metric)]
    unfair = [
        f"no fair pair on {mean_title(row.metric)}: {stage} returns no more than {_hits(evaluation.truncated[stage])}, "
        "whatever is asked; choose a primary metric at a smaller depth"
        for stage in cut
        if row.truncated
    ]
    return [*few_queries(row.n), *unfair, *read_in_part(evaluation)]


def _hits(count: int) -> str:
    return "1 hit" if count == 1 else f"{count:,} hits"


def _moved(
    evaluation: EvaluationRecord, metric: Metric, lift: NDArray[np.float64], most: int
) -> tuple[tuple[Moved, ...], tuple[Moved, ...]]:
    """Return the queries that gained and lost most; of equal ones, the first in the dataset."""
    sizes = np.nan_to_num(lift)
    order = np.argsort(-np.abs(sizes), kind="stable")
    up = [int(place) for place in order if sizes[place] > TIED][:most]
    down = [int(place) for place in order if sizes[place] < -TIED][:most]
    if not up and not down:
        return (), ()
    judgements = judgements_of(evaluation)
    before, after = _first_ranks(judgements[0]), _first_ranks(judgements[-1])
    values = evaluation.scores.of(evaluation.before, metric), evaluation.scores.of(evaluation.after, metric)

    def one(place: int) -> Moved:
        query = evaluation.dataset.queries[place]
        return Moved(
            query_id=query.id,
            text=query.text,
            before=float(values[0][place]),
            after=float(values[1][place]),
            rank_before=before.get(place),
            rank_after=after.get(place),
        )

    return tuple(map(one, up)), tuple(map(one, down))


def _first_ranks(judged: Judgements) -> dict[int, int]:
    """Return the rank at which each query's first fact is satisfied, for the queries of which one is."""
    first = first_satisfactions(judged)
    places, rows = np.unique(first.query, return_index=True)  # sorted by query, then rank
    return dict(zip(places.tolist(), first.rank[rows].tolist(), strict=True))
