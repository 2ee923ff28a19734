"""Holes in the labels: between what a metric lies for the hits that nobody judged, and measures that pass over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.paired_statistics import primary_of
from raglift.analysis.unjudged_hits import RankShares, Side, of_hits, usual_grade, values_with
from raglift.analysis.upper_bound import match_tables_of
from raglift.errors import ConfigurationError
from raglift.matching.condensing import condensed
from raglift.metrics.computing import compute, mean_of
from raglift.metrics.graded_measures import RBP, RBPResidual
from raglift.metrics.judged_measures import Bpref, InfAP
from raglift.metrics.measure import unjudged_hits
from raglift.metrics.parsing import as_metric
from raglift.metrics.registry import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.records.metric import Metric


PERSISTENCE = 0.8
"""Of RBP and its residual, which must be of one persistence to add up."""


@dataclass(frozen=True)
class RankShare:
    """The hits of the labelled queries at one rank."""

    rank: int
    hits: int
    judged: int
    relevant: int
    share: float | None
    """Which share of the unjudged ones is taken to be relevant; None where nothing is known of it."""


@dataclass(frozen=True)
class HolesRecord:
    """Between what a metric lies for the hits that nobody judged, and measures that pass over these."""

    metric: Metric
    """The metric that is looked at."""
    stage: str
    """The stage whose ranking it is of: the last."""
    queries: int
    """The queries that its mean is over."""
    hits: int
    """The hits of the labelled queries, down to the metric's depth."""
    unjudged: int
    """How many of them nobody judged."""
    irrelevant: float
    """The mean where every unjudged hit is irrelevant: as it is counted."""
    as_judged: float | None
    """The mean where unjudged hits are relevant as often as the judged ones at their rank; None where no hit was judged
    irrelevant, so that nothing is known of how often that is."""
    relevant: float
    """The mean where every unjudged hit is relevant."""
    condensed: float | None
    """The mean over the condensed lists: only judged hits, moved up; None, here and in the next two, where the labels
    say of nothing that it is irrelevant."""
    bpref: float | None
    """The mean of Bpref over the whole ranking."""
    inf_ap: float | None
    """Likewise of InfAP."""
    rbp: float
    """The mean of RBP at the metric's depth, with p = 0.8."""
    rbp_residual: float
    """How much higher it could be."""
    ranks: tuple[RankShare, ...] = ()
    """The hits at each rank down to the metric's depth."""

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest of the means for unjudged hits that are irrelevant, as the judged, or relevant."""
        means = [mean for mean in (self.irrelevant, self.as_judged, self.relevant) if mean is not None]
        return min(means), max(means)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rank: `rank`, `hits`, `judged`, `relevant`, and the `share` taken to be relevant."""
        import pandas as pd

        return pd.DataFrame([vars(each) for each in self.ranks], columns=list(RankShare.__dataclass_fields__))


def holes(evaluation: EvaluationRecord, metric: Metric | str | None = None) -> HolesRecord:
    """Return what the hits that nobody judged can do to a metric after the last stage.

    Each unjudged hit that is taken to be relevant is a fact of its own, of the grade that relevant hits have on
    average, so that recall and ideal rankings grow with it.

    Args:
        evaluation: the evaluation.
        metric: one that was scored; by default as in `reranker_lift`.

    Raises:
        ConfigurationError: the metric was not scored, or does not look at hits; or each query was run several times.
    """
    chosen = (
        primary_of(None, evaluation.scores.metrics, evaluation.depth_limit) if metric is None else as_metric(metric)
    )
    scores = evaluation.scores.of(evaluation.after, chosen)  # raises if it was not scored
    if not has_holes(evaluation, chosen):
        raise ConfigurationError(
            f"holes: found {chosen}, of several runs of a query, of no hits, or not installed; expected a metric of "
            "one ranking a query"
        )
    side = Side.of(evaluation, chosen, None)
    shares = RankShares.of([side])
    query, rank = side.first_unjudged()
    grade = usual_grade({"": side}, of_hits(chosen).k)
    table = match_tables_of(evaluation)[-1]
    says_irrelevant = bool(table.judged_irrelevant.any())
    return HolesRecord(
        metric=chosen,
        stage=evaluation.after,
        queries=int(np.count_nonzero(~np.isnan(scores))),
        hits=side.hits,
        unjudged=len(side.unjudged[0]),
        irrelevant=mean_of(chosen, scores),
        as_judged=_mean(side, chosen, [(query[of], rank[of]) for of in shares.draws(rank)], grade)
        if shares.says_something
        else None,
        relevant=_mean(side, chosen, [(query, rank)], grade),
        condensed=_mean_of(evaluation, condensed_to_judged(table), chosen, scores) if says_irrelevant else None,
        bpref=_mean_of(evaluation, table, Bpref, scores) if says_irrelevant else None,
        inf_ap=_mean_of(evaluation, table, InfAP, scores) if says_irrelevant else None,
        rbp=_mean_of(evaluation, table, _at(RBP(p=PERSISTENCE), chosen), scores),
        rbp_residual=_mean_of(evaluation, table, _at(RBPResidual(p=PERSISTENCE), chosen), scores),
        ranks=tuple(_ranks(shares, side)),
    )


def has_holes(evaluation: EvaluationRecord, metric: Metric) -> bool:
    """Return whether a metric can be computed here and is of one ranking a query, whose unjudged hits are known."""
    measure = MEASURES[metric.name]
    repeated = any(trace.repetitions for trace in evaluation.run.traces)
    is_of_hits = not measure.needs_budget and (measure.takes_k or not measure.is_by_call)
    return measure.is_installed and not repeated and is_of_hits


def condensed_to_judged(table: MatchTable) -> MatchTable:
    """Return the matches of the condensed lists: what nobody judged is taken out, and the rest moved up."""
    query, rank = unjudged_hits(table, None)
    keep = np.ones(int(table.hits.sum()), dtype=np.bool_)
    keep[(np.cumsum(table.hits) - table.hits)[query] + rank - 1] = False
    return condensed(table, keep)


def _at(measure: Metric, metric: Metric) -> Metric:
    depth = of_hits(metric).depth
    return measure if depth is None else measure @ depth


def _mean(
    side: Side, metric: Metric, draws: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], grade: int
) -> float:
    """Return the mean of a metric over draws of hits, by query and rank, that are relevant."""
    values = np.mean([values_with(side, metric, query, rank, grade) for query, rank in draws], axis=0)
    return mean_of(metric, values[side.places])


def _mean_of(evaluation: EvaluationRecord, table: MatchTable, metric: Metric, scores: NDArray[np.float64]) -> float:
    """Return the mean over the queries that the looked at metric counts."""
    values = compute(table, metric, evaluation.profile)
    return mean_of(metric, np.where(np.isnan(scores), np.nan, np.nan_to_num(values)))


def _ranks(shares: RankShares, side: Side) -> Iterator[RankShare]:
    hits = side.counted_hits[side.looked_at]
    smoothed = shares.smoothed.tolist() if shares.says_something else [None] * len(shares.judged)
    for place, (judged, relevant, share) in enumerate(
        zip(shares.judged.tolist(), shares.relevant.tolist(), smoothed, strict=True)
    ):
        yield RankShare(place + 1, int(np.count_nonzero(hits > place)), judged, relevant, share)
