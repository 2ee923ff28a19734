"""Means and differences on the queries of each tag."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.comparison.statistics import interval_of, mean_of, method_of, primary_of, scored, within_reach
from raglift.result_records import TagSlice, TagSlicesRecord
from raglift.significance import paired_differences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.records import Metric, Query
    from raglift.result_records import ComparisonRecord, EvaluationRecord, Method

__all__ = ["comparison_by_tag", "evaluation_by_tag"]


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


def comparison_by_tag(comparison: ComparisonRecord, metric: Metric | str | None = None) -> TagSlicesRecord:
    """Return each system beside the baseline on the queries of each tag.

    Raises:
        ConfigurationError: the metric was not compared.
    """
    wanted = scored(comparison.primary if metric is None else metric, comparison.metrics, "metric")
    queries = [comparison.evaluation(comparison.baseline).dataset.query_by_id[key] for key in comparison.query_ids]
    values = {name: _values(comparison.evaluation(name), wanted, comparison.query_ids) for name in comparison.names}
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
    return TagSlicesRecord(wanted, baseline, slices, comparison.method, comparison.label_sources)


def evaluation_by_tag(
    evaluation: EvaluationRecord, metric: Metric | str | None, *, seed: int = 0, confidence: float = 0.95
) -> TagSlicesRecord:
    """Return the means on the queries of each tag after the last stage, beside the first where there is a reranker.

    Raises:
        ConfigurationError: the metric was not scored, or an argument is outside its range.
    """
    method = method_of(seed, confidence)
    known = evaluation.scores.metrics
    wanted = primary_of(None, known) if metric is None else scored(metric, known, "metric")
    after = evaluation.scores.of(evaluation.after, wanted)
    before = None if evaluation.before == evaluation.after else evaluation.scores.of(evaluation.before, wanted)
    system = _System(evaluation.after, after, before, is_fair=evaluation.has_fair_lift(wanted))
    baseline = None if before is None else evaluation.before
    slices = _slices(evaluation.dataset.queries, [system], wanted, method)
    return TagSlicesRecord(wanted, baseline, slices, method, evaluation.label_sources)


def _values(evaluation: EvaluationRecord, metric: Metric, query_ids: Sequence[str]) -> NDArray[np.float64]:
    place = {query_id: number for number, query_id in enumerate(evaluation.scores.query_ids)}
    values = evaluation.scores.of(evaluation.after, metric)
    return values[np.array([place[query_id] for query_id in query_ids], dtype=np.intp)]


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
            found = paired_differences(within, seed=method.seed, confidence=method.confidence)
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
