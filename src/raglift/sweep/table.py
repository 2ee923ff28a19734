"""The table of the cells of a sweep, the best first: means, differences to the best, verdicts and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.analysis.costs import CONTEXT
from raglift.analysis.paired_statistics import NOT_SIGNIFICANT, interval_of
from raglift.analysis.truncation import CUT
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Table, table_from
from raglift.report.cells import change_cell, mean_cell
from raglift.report.fairness import beside_of
from raglift.report.format import confidence_text, p_text
from raglift.report.format import marks as marks_of
from raglift.report.views.comparison import at_k
from raglift.report.views.parts import (
    beside_columns,
    cost_columns,
    definition_of,
    mean_after,
    named_columns,
    setting_columns,
)
from raglift.stats.intervals import CONFIDENCE
from raglift.sweep.charts import short_names
from raglift.types.metric import Metric

if TYPE_CHECKING:
    from raglift.analysis.recommendation import Contender, Recommendation
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult


@dataclass(frozen=True)
class _Row:
    """A measured cell, and what the recommendation says of it."""

    entry: CellResult
    evaluation: Evaluation
    name: str
    contender: Contender | None
    """None where it cannot be compared."""
    verdict: str
    """`recommended`, `as good`, `not significant`, `best`, `worse`, or empty."""


def cells_table(result: SweepResult, advised: Recommendation | None) -> Table:
    """Return a row for each measured cell, best first: its mean, the difference to the best, and what it costs."""
    called = short_names(result)
    rows = [
        _row(entry, entry.evaluation, called[entry.cell.name], advised)
        for entry in result.ranked
        if entry.evaluation is not None
    ]
    costs = _cost_columns(result, rows)
    columns = [*_means(result, rows, advised), *costs]
    context = Metric(CONTEXT, at_k(result).depth)  # has a column among the costs
    shown = {result.primary, context, *beside_of(result.fairness)}
    named = dict.fromkeys(metric for row in rows for metric in row.evaluation.named_metrics(result.primary))
    columns += named_columns([metric for metric in named if metric not in shown], _named_mean)
    columns += beside_columns(
        result.fairness,
        lambda one: one != result.primary and all(one in row.evaluation.scores.metrics for row in rows),
        lambda row, one: mean_after(row.evaluation, one),
    )
    percent = confidence_text(CONFIDENCE if advised is None else advised.method.confidence)
    return table_from(columns, rows, "Every measured configuration, the best first", sortable=True, confidence=percent)


def _row(entry: CellResult, evaluation: Evaluation, name: str, advised: Recommendation | None) -> _Row:
    if advised is None:
        return _Row(entry, evaluation, name, None, "")
    known = {one.system: one for one in (*advised.equals, *advised.beaten)}
    one = known.get(entry.cell.name)
    verdict = "" if one is None else NOT_SIGNIFICANT if one.may_be_best else "worse"
    if one is not None and one.system == advised.best:
        verdict = "best"
    if one is not None and one.is_shown:
        verdict = "recommended" if one.system == advised.recommended else "as good"
    return _Row(entry, evaluation, name, one, verdict)


def _means(result: SweepResult, rows: Sequence[_Row], advised: Recommendation | None) -> Iterator[Column[_Row]]:
    """Yield the settings, the mean, the difference to the best and what it is worth."""
    metric = result.primary
    settings = setting_columns(rows, lambda row: row.entry.cell.to_dict())
    yield from settings or [Column("configuration", lambda row: row.name, words=True)]
    if any(row.entry.is_truncated for row in rows):
        yield Column(
            "cut off",
            lambda row: row.entry.truncation.mark.removeprefix(CUT).strip(),
            definition="The share of chunks truncated by the embedding model or reranker; scores include the effect",
        )
    yield Column(mean_title(metric), partial(_mean, metric), definition=definition_of(metric))
    if advised is not None:
        yield Column(
            "gap to best",
            partial(_to_the_best, best=advised.best),
            definition="Question by question, this minus the one with the highest mean; intervals are not adjusted",
        )
        yield Column(
            "p",
            lambda row: (
                "" if row.contender is None or row.contender.system == advised.best else p_text(row.contender.p)
            ),
            value=lambda row: None if row.contender is None else row.contender.p,
            definition="Of being the best of all configurations, corrected for their number",
        )
        yield Column(
            "verdict",
            _verdict,
            words=True,
            definition=f"recommended, as good: shown within {advised.margin:g} of every other configuration; not "
            "significant: none is significantly better; worse: another is",
        )
    if len({row.evaluation.scores.n(row.evaluation.after, metric) for row in rows}) > 1:
        yield Column("questions", lambda row: f"{row.evaluation.scores.n(row.evaluation.after, metric):,}")


def _mean(metric: Metric, row: _Row) -> Cell:
    evaluation = row.evaluation
    interval = interval_of(metric, evaluation.scores.of(evaluation.after, metric), CONFIDENCE)
    marks = marks_of(evaluation, evaluation.after, metric)
    return mean_cell(metric, evaluation.scores.mean(evaluation.after, metric), interval, marks, drawn=False)


def _named_mean(row: _Row, metric: Metric) -> Cell:
    known = metric in row.evaluation.scores.metrics
    return replace(_mean(metric, row), interval="") if known else Cell("–", "muted")


def _to_the_best(row: _Row, best: str | None) -> Cell:
    one = row.contender
    if one is None:
        return Cell("–", "muted")
    if one.system == best or one.difference is None:
        return Cell("best", "muted", value=0.0)
    return change_cell(one.difference, emphasis="" if one.may_be_best else "worse")


def _verdict(row: _Row) -> Cell:
    emphasis = {"recommended": "better", "worse": "worse"}.get(row.verdict, "muted")
    return Cell(row.verdict, emphasis if row.verdict else "")


def _cost_columns(result: SweepResult, rows: Sequence[_Row]) -> list[Column[_Row]]:
    """Return the columns of costs that are known of some cell."""
    return cost_columns(
        rows,
        at_k(result),
        lambda row, metric: mean_after(row.evaluation, metric),
        lambda row: row.evaluation,
        beside_budget=bool(beside_of(result.fairness)),
    )
