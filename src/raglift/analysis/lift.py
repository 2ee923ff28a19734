"""The effect of reranking, overall, by query and by tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.paired_statistics import (
    Method,
    bound_of,
    interval_of,
    method_of,
    method_text,
    minimum_detectable_effect,
    primary_of,
    scored,
    verdict,
    within_reach,
)
from raglift.analysis.records import Lift, LiftRow, MovedQuery, TagSlice, TagSlices
from raglift.analysis.upper_bound import match_tables_of
from raglift.analysis.warnings import (
    few_queries,
    new_evidence,
    not_read,
    too_skewed_note,
    wins_against_means,
)
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_of, mean_title
from raglift.metrics.measure import first_satisfactions
from raglift.stats.intervals import CONFIDENCE, TIED, checked_integer
from raglift.stats.paired_tests import PairedDifference, paired_differences

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


# Reranker lift: after minus before on the same candidates at the same k, and the queries that changed most.


_SHOWN = 5


def reranker_lift(
    evaluation: Evaluation,
    *,
    primary: Metric | str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    moved: int = _SHOWN,
) -> Lift:
    """Return what the stages after the first changed: see `Evaluation.reranker_lift`."""
    if len(evaluation.scores.stages) == 1:
        raise ConfigurationError(
            f"reranker_lift: found a system of one stage ({evaluation.before}); expected one with a reranker, as "
            "evaluate(system, dataset, reranker='cross-encoder')"
        )
    method = method_of(seed, confidence)
    most = checked_integer("moved", moved, least=0)
    decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    rows = _rows(evaluation, decides, evaluation.before, method)
    over_candidates = () if evaluation.candidates is None else _rows(evaluation, decides, evaluation.candidates, method)
    text = method_text([rows[0].difference], decides, "nothing to correct for: one comparison")
    lift = evaluation.lift(decides)
    decided = _decided(rows[0], lift, method)
    up, down = _moved(evaluation, decides, lift, most)
    return Lift(
        evaluation,
        decides,
        (decided, *rows[1:]),
        up,
        down,
        replace(method, text=text),
        tuple(_warnings(evaluation, decided)),
        over_candidates,
    )


def lift_rows(evaluation: Evaluation) -> tuple[LiftRow, ...]:
    """Return each metric before and after reranking, the primary one with its verdict; nothing without a reranker."""
    if len(evaluation.scores.stages) == 1:
        return ()
    try:
        return reranker_lift(evaluation, moved=0).rows
    except ConfigurationError:  # no measure of quality was scored that could decide
        return _rows(evaluation, None, evaluation.before, method_of(0, CONFIDENCE))


def _rows(evaluation: Evaluation, first: Metric | None, over: str, method: Method) -> tuple[LiftRow, ...]:
    """Return each metric after the last stage and after the one that the lift is over, computed once."""
    key = ("lift", over, method.seed, method.confidence)
    rows = evaluation.once(key, lambda: _tested(evaluation, over, method))
    return tuple(sorted(rows, key=lambda row: row.metric != first))


def _tested(evaluation: Evaluation, over: str, method: Method) -> tuple[LiftRow, ...]:
    metrics = evaluation.scores.metrics
    lifts = np.stack([evaluation.lift(metric, over=over) for metric in metrics], axis=1)
    bounds = [bound_of(metric) for metric in metrics]
    described = paired_differences(lifts, seed=method.seed, confidence=method.confidence, bounds=bounds)
    return tuple(
        _lifted(evaluation, metric, over, difference, method)
        for metric, difference in zip(metrics, described, strict=True)
    )


def _lifted(evaluation: Evaluation, metric: Metric, over: str, difference: PairedDifference, method: Method) -> LiftRow:
    before = evaluation.scores.of(over, metric)
    after = evaluation.scores.of(evaluation.after, metric)
    is_fair = evaluation.has_fair_lift(metric, over=over)
    if is_fair:  # the same queries on both sides, also where a profile leaves one out of one side's mean
        both = ~np.isnan(before) & ~np.isnan(after)
        before, after = before[both], after[both]
    return LiftRow(
        metric=metric,
        before=mean_of(metric, before),
        before_interval=interval_of(metric, before, method.confidence),
        after=mean_of(metric, after),
        after_interval=interval_of(metric, after, method.confidence),
        n=int(np.count_nonzero(~np.isnan(after))),
        difference=within_reach(metric, difference) if is_fair else None,
        truncated=any(evaluation.is_truncated(stage, metric) for stage in evaluation.scores.stages) and not is_fair,
        beyond_candidates=evaluation.beyond_candidates.get(str(metric), 0),
    )


def _decided(row: LiftRow, lift: NDArray[np.float64], method: Method) -> LiftRow:
    if row.difference is None or not row.difference.n:
        return replace(row, exploratory=False)
    decision = verdict(row.difference, row.difference.p, method)
    return replace(
        row, minimum_detectable_effect=minimum_detectable_effect(lift, method, 1), verdict=decision, exploratory=False
    )


def _warnings(evaluation: Evaluation, row: LiftRow) -> list[str]:
    cut = [stage for stage in evaluation.scores.stages if evaluation.is_truncated(stage, row.metric)]
    unfair = [
        f"no lift in {mean_title(row.metric)}: {evaluation.truncation(stage)}; choose a primary metric at a "
        "smaller depth"
        for stage in cut
        if row.truncated
    ]
    opposed = wins_against_means(row, evaluation.after, evaluation.before)
    skewed = too_skewed_note(row, evaluation.after, evaluation.before)
    return [*few_queries(row.n), *unfair, *opposed, *skewed, *new_evidence(evaluation), *not_read(evaluation)]


def _moved(
    evaluation: Evaluation, metric: Metric, lift: NDArray[np.float64], most: int
) -> tuple[tuple[MovedQuery, ...], tuple[MovedQuery, ...]]:
    """Return the queries that gained and lost most; of equal ones, the first in the dataset."""
    sizes = np.nan_to_num(lift)
    order = np.argsort(-np.abs(sizes), kind="stable")
    up = [int(place) for place in order if sizes[place] > TIED][:most]
    down = [int(place) for place in order if sizes[place] < -TIED][:most]
    if not up and not down:
        return (), ()
    match_table = match_tables_of(evaluation)
    before, after = _first_ranks(match_table[0]), _first_ranks(match_table[-1])
    values = evaluation.scores.of(evaluation.before, metric), evaluation.scores.of(evaluation.after, metric)

    def one(place: int) -> MovedQuery:
        query = evaluation.dataset.queries[place]
        return MovedQuery(
            query_id=query.id,
            text=query.text,
            before=float(values[0][place]),
            after=float(values[1][place]),
            rank_before=before.get(place),
            rank_after=after.get(place),
        )

    return tuple(map(one, up)), tuple(map(one, down))


def _first_ranks(judged: MatchTable) -> dict[int, int]:
    """Return the rank at which each query's first fact is satisfied, for the queries of which one is."""
    first = first_satisfactions(judged)
    places, rows = np.unique(first.query, return_index=True)  # sorted by query, then rank
    return dict(zip(places.tolist(), first.rank[rows].tolist(), strict=True))


# Means and differences on the queries of each tag.


@dataclass(frozen=True, eq=False)
class _System:
    """One system's values of one metric."""

    name: str
    values: NDArray[np.float64]
    """One a query."""
    baseline: NDArray[np.float64] | None
    """What they are compared with; None for the baseline itself."""
    is_fair: bool
    """Whether a difference means something."""


def comparison_by_tag(comparison: Comparison, metric: Metric | str | None = None) -> TagSlices:
    """Return each system compared with the baseline on the queries of each tag.

    Raises:
        ConfigurationError: the metric was not compared.
    """
    wanted = scored(comparison.primary if metric is None else metric, comparison.metrics, "metric")
    queries = [comparison.evaluation(comparison.baseline).dataset.query_by_id[key] for key in comparison.query_ids]
    values = {name: comparison.evaluation(name).last_values(wanted, comparison.query_ids) for name in comparison.names}
    cut = {row.system: row.truncated for row in comparison.of(wanted)}
    baseline = comparison.baseline
    systems = [
        _System(
            name,
            values[name],
            None if name == baseline else values[baseline],
            is_fair=not cut[name] and not cut[baseline],
        )
        for name in comparison.names
    ]
    slices = _slices(queries, systems, wanted, comparison.method)
    return TagSlices(wanted, baseline, slices, comparison.method, comparison.label_sources)


def evaluation_by_tag(
    evaluation: Evaluation, metric: Metric | str | None, *, seed: int = 0, confidence: float = 0.95
) -> TagSlices:
    """Return the means on the queries of each tag after the last stage, next to the first where there is a reranker.

    Raises:
        ConfigurationError: the metric was not scored, or an argument is outside its range.
    """
    method = method_of(seed, confidence)
    known = evaluation.scores.metrics
    wanted = primary_of(None, known, evaluation.depth_limit) if metric is None else scored(metric, known, "metric")
    after = evaluation.scores.of(evaluation.after, wanted)
    before = None if evaluation.before == evaluation.after else evaluation.scores.of(evaluation.before, wanted)
    system = _System(evaluation.after, after, before, is_fair=evaluation.has_fair_lift(wanted))
    baseline = None if before is None else evaluation.before
    slices = _slices(evaluation.dataset.queries, [system], wanted, method)
    return TagSlices(wanted, baseline, slices, method, evaluation.label_sources)


def _slices(
    queries: Sequence[Query], systems: Sequence[_System], metric: Metric, method: Method
) -> tuple[TagSlice, ...]:
    """Return a slice for each tag of a labelled query, most queries first, and each system."""
    members = _members(queries)
    slices = []
    for system in systems:
        described = {}
        if system.baseline is not None and system.is_fair and members:
            differences = system.values - system.baseline
            within = np.stack([np.where(member, differences, np.nan) for member in members.values()], axis=1)
            bounds = [bound_of(metric)] * len(members)
            found = paired_differences(within, seed=method.seed, confidence=method.confidence, bounds=bounds)
            described = {tag: within_reach(metric, one) for tag, one in zip(members, found, strict=True)}
        for tag, member in members.items():
            values, baseline = system.values[member], None
            if system.baseline is not None:
                both = ~np.isnan(values) & ~np.isnan(system.baseline[member])
                values, baseline = values[both], system.baseline[member][both]
            slices.append(
                TagSlice(
                    tag=tag,
                    system=system.name,
                    n=int(np.count_nonzero(~np.isnan(values))),
                    mean=mean_of(metric, values),
                    interval=interval_of(metric, values, method.confidence),
                    baseline_mean=None if baseline is None else mean_of(metric, baseline),
                    difference=described.get(tag),
                )
            )
    place = {tag: number for number, tag in enumerate(members)}
    return tuple(sorted(slices, key=lambda one: place[one.tag]))  # stable: the systems keep their order


def _members(queries: Sequence[Query]) -> dict[str | None, NDArray[np.bool_]]:
    """Return, for each tag of a labelled query, which queries have it; the most frequent first, None last."""
    labelled = [query for query in queries if query.is_labelled]
    frequency = Counter(tag for query in labelled for tag in set(query.tags))
    tags: list[str | None] = [tag for tag, _ in sorted(frequency.items(), key=lambda item: (-item[1], item[0]))]
    if any(not query.tags for query in labelled):
        tags.append(None)
    return {
        tag: np.array([tag in query.tags if tag is not None else not query.tags for query in queries], dtype=np.bool_)
        for tag in tags
    }
