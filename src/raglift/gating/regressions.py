"""Regressions: a run compared with a baseline per query, significant drops, and the regressed queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.paired_statistics import (
    NOT_COMPARABLE,
    TOO_SKEWED,
    Method,
    method_text,
    minimum_detectable_effect,
    outweighed_text,
    verdict,
)
from raglift.analysis.upper_bound import match_tables_of
from raglift.gating.records import ROUNDING, RegressedQuery, Regression
from raglift.metrics.computing import mean_title
from raglift.metrics.prompt_measures import RecallArea
from raglift.report.format import number_text
from raglift.report.sentences import comparison_sentence
from raglift.results.comparison import Comparison, compare
from raglift.stats.paired_tests import RESAMPLES, holm
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


BASELINE = "baseline"


@dataclass(frozen=True)
class Regressions:
    """The outcome of each metric, and warnings."""

    found: tuple[Regression, ...]
    method: Method
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    says_unjudged: bool = False
    """Whether a warning says what share of the hits nobody judged."""


def regressions_of(
    evaluation: Evaluation,
    baseline: Evaluation,
    metrics: Sequence[Metric],
    *,
    margin: float,
    seed: int,
    confidence: float,
    name: str,
    budget: int | None = None,
) -> Regressions:
    """Compare a run with its baseline on the metrics that must not be worse, at the last stage of each.

    Where the two have different chunks, recall up to a budget of tokens must not be worse either.

    Raises:
        ConfigurationError: no fair pair: no query in common, other labels, another match rule or profile.
    """
    first = BASELINE if name != BASELINE else f"the {BASELINE}"
    systems = {first: _with_only(baseline, metrics), name: _with_only(evaluation, metrics)}
    compared = partial(compare, systems, baseline=first, seed=seed, confidence=confidence, budget=budget)
    comparison = compared(primary=metrics[0])
    undecided = []
    if (area := _area_to_check(comparison, metrics)) is not None:
        by_size = compared(primary=area)
        if by_size.deciding(name).verdict == NOT_COMPARABLE:
            undecided = [f"{mean_title(area)} is not checked. {comparison_sentence(by_size)}"]
        else:
            metrics = (*metrics, area)
    rows = [comparison.row(name, metric) for metric in metrics]
    p_values = [math.nan if row.difference is None or not row.difference.n else row.difference.p for row in rows]
    corrected = holm(p_values).tolist()
    correction = f"Holm over {len(metrics)} metrics" if len(metrics) > 1 else "nothing to correct for: one comparison"
    method = replace(comparison.method, text=method_text([row.difference for row in rows], None, correction))
    sides = (_Side.of(comparison.evaluation(first)), _Side.of(comparison.evaluation(name)))  # by the rule that decides
    found = tuple(
        _regression(comparison, metric, p, margin, sides, len(metrics))
        for metric, p in zip(metrics, corrected, strict=True)
    )
    notes = (*_of_other_chunks(comparison, first, name), *comparison.notes)
    warnings = (*_powerless(found, method), *_undecided(found), *undecided, *comparison.warnings)
    return Regressions(found, method, warnings, notes, says_unjudged=comparison.unjudged is not None)


def _area_to_check(comparison: Comparison, metrics: Sequence[Metric]) -> Metric | None:
    """Return recall up to the budget where chunks differ; None where they do not, or one such metric was named."""
    if comparison.fairness is None or any(metric.name == RecallArea.name for metric in metrics):
        return None
    return comparison.fairness.area


def _of_other_chunks(comparison: Comparison, first: str, name: str) -> list[str]:
    """Say by which rule runs of different chunks were matched, and what containment makes of them."""
    found = comparison.fairness
    if found is None or found.containment is None or found.in_hits is None:
        return []
    before, after = found.containment[first], found.containment[name]
    means = f"{mean_title(found.in_hits)} is {number_text(before)} → {number_text(after)}"
    return [f"the run has other chunks than the baseline, so both are matched by coverage; by containment, {means}"]


def _powerless(found: Sequence[Regression], method: Method) -> list[str]:
    """Warn if no drop, however large, could come out as real: of few queries, or of a level that draws cannot reach."""
    counts = [one.difference.n for one in found if one.difference is not None]
    # All signs alike is one of 2ⁿ assignments, and one on the other side is as far from 0; of those drawn, one counts
    if not counts or max(2.0 ** (1 - min(counts)), 1 / (RESAMPLES + 1)) * len(found) <= method.alpha:
        return []
    queries = counted(min(counts), "question")
    return [f"with {queries} no drop can have p ≤ {method.alpha:.2g}, however large: no regression can fail this gate"]


def _undecided(found: Sequence[Regression]) -> list[str]:
    """Say of each drop that is too skewed to decide why it does not fail the gate."""
    return [
        f"{mean_title(one.metric)} dropped, but the difference is {TOO_SKEWED}, so it fails no gate: "
        f"{outweighed_text(one.difference)}"
        for one in found
        if one.too_skewed and one.difference is not None
    ]


@dataclass(frozen=True, eq=False)
class _Side:
    """The baseline or the run: its values by query, and what matched."""

    evaluation: Evaluation
    place: dict[str, int]
    judged: MatchTable

    @classmethod
    def of(cls, evaluation: Evaluation) -> _Side:
        place = {query_id: number for number, query_id in enumerate(evaluation.scores.query_ids)}
        return cls(evaluation, place, match_tables_of(evaluation)[-1])

    def matched(self, query_id: str, most: int) -> tuple[int, ...]:
        """Return the ranks of a query's hits that match, down to a depth."""
        matches = self.judged.matches
        begin, end = np.searchsorted(matches.query, (self.place[query_id], self.place[query_id] + 1))
        return tuple(rank for rank in np.unique(matches.rank[begin:end]).tolist() if rank <= most)


def _with_only(evaluation: Evaluation, metrics: Sequence[Metric]) -> Evaluation:
    """Return an evaluation with some of its metrics, so that nothing else is tested, and matched once for all."""
    return replace(evaluation, scores=evaluation.scores.only(metrics), match_table=match_tables_of(evaluation))


def _regression(
    comparison: Comparison, metric: Metric, p: float, margin: float, sides: tuple[_Side, _Side], tests: int
) -> Regression:
    row = comparison.row(comparison.others[0], metric)
    before, after = (side.evaluation.last_values(metric, comparison.query_ids) for side in sides)
    change = after - before
    difference = row.difference
    note = ""
    if difference is None:
        shallow = [name for name in comparison.names if comparison.row(name, metric).truncated]
        note = (
            f"no fair pair: {' and '.join(shallow)} returned fewer hits than {metric} looks at: "
            "compare at a smaller depth"
        )
    elif not difference.n:
        note = "no fair pair: no question has labels that count in both"
    decision, beyond = "", False
    if difference is not None:
        decision, beyond = verdict(difference, p, comparison.method), -difference.mean > margin + ROUNDING
    return Regression(
        metric,
        difference if not note else None,
        margin,
        passed=not (decision == "worse" and beyond) and not note,
        regressed=_regressed(comparison.query_ids, metric, (before, after), sides),
        before=row.baseline_mean,
        after=row.mean,
        p_holm=p,
        minimum_detectable_effect=None if note else minimum_detectable_effect(change, comparison.method, tests),
        note=note,
        too_skewed=decision == TOO_SKEWED and beyond,
    )


def _regressed(
    query_ids: Sequence[str],
    metric: Metric,
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    sides: tuple[_Side, _Side],
) -> tuple[RegressedQuery, ...]:
    """Return the queries that did worse, the largest drop first; of equal ones, the first in the baseline."""
    before, after = values
    drops = np.nan_to_num(after - before)
    worse = [place for place in np.argsort(drops, kind="stable").tolist() if drops[place] < -ROUNDING]
    return tuple(_flip(query_ids[place], metric, (float(before[place]), float(after[place])), sides) for place in worse)


def _flip(query_id: str, metric: Metric, values: tuple[float, float], sides: tuple[_Side, _Side]) -> RegressedQuery:
    before, after = sides
    rankings = [side.judged.rankings[side.place[query_id]].hits for side in sides]
    depth = metric.k if metric.k is not None else max(map(len, rankings))
    return RegressedQuery(
        query_id,
        before.evaluation.dataset.query_by_id[query_id].text,
        *values,
        hits_before=rankings[0][:depth],
        hits_after=rankings[1][:depth],
        matched_before=before.matched(query_id, depth),
        matched_after=after.matched(query_id, depth),
        error=after.evaluation.run.traces[after.place[query_id]].error,
    )
