"""The charts of pages, each with a text alternative."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.analysis.explanation import has_curve
from raglift.analysis.explanation import over_k as curve
from raglift.analysis.prompt_curves import prompt_curves
from raglift.analysis.tradeoffs import tradeoff as costs_beside_quality
from raglift.base.display import counted
from raglift.metrics.computing import mean_title, title
from raglift.metrics.prompt_measures import NAMED_BUDGETS, PromptRecall
from raglift.metrics.registry import MEASURES
from raglift.records.metric import Metric, Tokens
from raglift.rendering.document import Cell, Figure, Table, row_of, table_of
from raglift.report.cells import mean_cell
from raglift.report.charts.plots import ComparisonPlots, EvaluationPlots, session_chart, session_curve
from raglift.report.format import (
    cost_text,
    cost_title,
    decimals_of,
    difference_text,
    interval_text,
    level,
    number_text,
    outcome_text,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from raglift.analysis.outcomes import FailureAnalysis
    from raglift.analysis.records import ComparisonRecord, EvaluationRecord, Lift, TagSlices
    from raglift.analysis.sessions import SessionAnalysis


_MANY = 12
"""Of more systems than these a description names the first only."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_DEPTHS = 50
_FEWEST_DEPTHS = 3
_CALLS_SHOWN = 10
_TOKENS_SHOWN = 6


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Return a block a value, from ▁ at `low` to █ at `high`; NaN is a gap."""
    step = (high - low) / (len(_BLOCKS) - 1)
    return "".join(
        " " if math.isnan(value) else _BLOCKS[round((value - low) / step) if step > 0 else 0] for value in values
    )


def over_k_table(evaluation: EvaluationRecord) -> Table | None:
    """Return NDCG, or else the first measure, over k: a row per stage, on one scale; None if there is none.

    At most 50 depths are taken, evenly from 1 to the number of candidates. Next to the blocks are the values at the
    first depth and at the last one that the stage could return.
    """
    measure = _first_measure(evaluation)
    candidates = int(evaluation.run.spec["candidates"])
    if measure is None or candidates < _FEWEST_DEPTHS:
        return None
    means_by_depth = curve(evaluation, measure, range(1, candidates + 1, math.ceil(candidates / _MOST_DEPTHS)))
    depths = means_by_depth["k"].tolist()
    means = {stage: means_by_depth[stage].tolist() for stage in evaluation.scores.stages}
    known = [value for values in means.values() for value in values if not math.isnan(value)]
    if not known:
        return None
    rows: list[tuple[str, ...]] = []
    for stage, values in means.items():
        until = max((place for place, value in enumerate(values) if not math.isnan(value)), default=None)
        if until is None:
            continue
        last = number_text(values[until]) + (f" at {depths[until]}" if until < len(values) - 1 else "")
        blocks = sparkline(values[: until + 1], min(known), max(known))
        rows.append((stage, number_text(values[0]), blocks, last))
    title = f"{mean_title(measure)} over k, 1 to {depths[-1]}"
    return table_of(("stage", "k = 1", "", f"k = {depths[-1]}"), rows, left=(0, 2), caption=title)


def _first_measure(evaluation: EvaluationRecord) -> Metric | None:
    """Return NDCG where it was scored at a number of hits, else the first measure that was; None if none was."""
    measures = [
        Metric(metric.name, None, metric.parameters)
        for metric in evaluation.scores.metrics
        if metric.k is not None and has_curve(metric) and not MEASURES[metric.name].is_neutral
    ]
    return min(measures, key=lambda measure: measure.name != "ndcg", default=None)


def over_k(evaluation: EvaluationRecord, metric: Metric) -> Figure:
    """Return a metric's mean over k, after each stage."""
    measure = replace(metric, depth=None)
    name = mean_title(measure)
    frame = curve(evaluation, measure)
    said = [f"{stage}: {_course(frame, stage)}" for stage in evaluation.scores.stages if stage in frame]
    return Figure(
        f"{name} over k",
        f"{name} at each depth. {'. '.join(said)}.",
        partial(EvaluationPlots(evaluation).over_k, measure),
        "Each line is a stage; the gap between two at one k is the lift at that depth.",
    )


def over_k_together(comparison: ComparisonRecord, metric: Metric) -> Figure:
    """Return a metric's mean over k, of each system after its last stage."""
    measure = replace(metric, depth=None)
    said = []
    for system, evaluation in zip(comparison.names[:_MANY], comparison.evaluations, strict=False):
        said.append(f"{system}: {_course(curve(evaluation, measure), evaluation.after)}")
    return Figure(
        f"{mean_title(measure)} over k",
        f"{mean_title(measure)} at each depth after the last stage. {'. '.join(said)}.",
        partial(ComparisonPlots(comparison).over_k, measure),
        "Each line is a system, after its last stage.",
    )


def prompt_curve(comparison: ComparisonRecord) -> Figure | None:
    """Return recall of each system by how much of a prompt is read; None where nothing came back, or of agents alone.

    Its table has the sizes at which recall is shown everywhere, as far as prompts go; systems come in their order.
    """
    curves = prompt_curves(comparison)
    if not curves:
        return None
    most = max(curve.end for curve in curves.values())
    sizes = [size for size in NAMED_BUDGETS if size <= most] or [most]
    rows, said = [], []
    for name, found in curves.items():
        at = [found.at(size) for size in sizes if size <= found.end]
        cells = [mean_cell(PromptRecall @ Tokens(one.tokens), one.recall, one.interval) for one in at]
        rows.append(row_of((name, *cells, *[Cell("–", "muted")] * (len(sizes) - len(at)))))
        said.append(f"{name}: {', '.join(f'{one.recall:.3f} at {one.tokens:,}' for one in at)}")
    return Figure(
        "Recall by prompt size",
        f"Mean recall where so many tokens of hits are read. {'; '.join(said[:_MANY])}.",
        ComparisonPlots(comparison).by_prompt_size,
        "The share of a query's facts that are found in the first tokens of the prompt; each band holds the true mean "
        f"{level(comparison.method)} of the time. A line ends where half of the prompts of its system have ended.",
        Table("Recall by tokens read", ("system", *(f"{size:,}" for size in sizes)), tuple(rows)),
    )


def lift(found: Lift) -> Figure:
    """Return the lift of each query, sorted."""
    difference = found.row().difference
    assert difference is not None  # noqa: S101 — the caller shows it only where there is a fair pair
    name = title(found.primary)
    ends = [
        f"the largest {word} is {signed(one.after - one.before)} of {one.query_id}"
        for word, moved in (("gain", found.up[:1]), ("loss", found.down[:1]))
        for one in moved
    ]
    gained = f"{counted(difference.wins, 'query')} gained"
    counts = f"{gained}, {difference.ties:,} stayed the same, {difference.losses:,} lost"
    return Figure(
        f"Lift in {name}, query by query",
        f"One bar a query, sorted: {'; '.join([counts, *ends])}.",
        partial(EvaluationPlots(found.evaluation).lift, found.primary),
        "Each bar is one query: up where reranking helped, down where it hurt.",
    )


def pair_lift(comparison: ComparisonRecord, system: str) -> Figure:
    """Return the difference of one system to the baseline on each query, sorted."""
    difference = comparison.row(system).difference
    assert difference is not None  # noqa: S101 — as above
    return Figure(
        f"{system} minus {comparison.baseline} in {title(comparison.primary)}, query by query",
        f"One bar a query, sorted: {system} is better on {counted(difference.wins, 'query')}, as good on "
        f"{difference.ties:,}, worse on {difference.losses:,}.",
        partial(ComparisonPlots(comparison).lift, system),
        f"Each bar is one query: up where {system} is better, down where {comparison.baseline} is.",
    )


def outcomes(evaluation: EvaluationRecord, losses: FailureAnalysis) -> Figure:
    """Return what became of the facts."""
    parts = [f"{each.facts:,} {outcome_text(each, losses.k)}" for each in losses.losses if each.facts]
    return Figure(
        "What became of the facts",
        f"Of {counted(losses.facts, 'fact')}: {'; '.join(parts)}.",
        partial(EvaluationPlots(evaluation).failure_analysis, losses.k),
        "A bar is as long as there are facts of an outcome.",
    )


def tags(evaluation: EvaluationRecord, slices: TagSlices) -> Figure:
    """Return a metric by tag."""
    decimals = decimals_of(slices.metric)
    said = [
        f"{one.tag or 'no tag'}: {interval_text(one.mean, one.interval, decimals)} on {one.n:,}"
        for one in slices.slices
    ]
    return Figure(
        f"{mean_title(slices.metric)} by tag",
        f"{'; '.join(said[:_MANY])}.",
        partial(EvaluationPlots(evaluation).tags, slices.metric),
    )


def intervals(comparison: ComparisonRecord) -> Figure:
    """Return the mean of each system with its interval."""
    metric = comparison.primary
    rows = [row for row in comparison.of(metric) if row.n]
    said = [f"{row.system} {interval_text(row.mean, row.interval, decimals_of(metric))}" for row in rows[:_MANY]]
    return Figure(
        f"{mean_title(metric)} of each system",
        f"{'; '.join(said)}.",
        partial(ComparisonPlots(comparison).intervals, metric),
        f"Each interval holds the true mean {level(comparison.method)} of the time. That two overlap does not mean "
        "that the systems are alike: the differences are paired, query by query.",
    )


def differences(comparison: ComparisonRecord) -> Figure:
    """Return each system minus the baseline, with its interval."""
    metric = comparison.primary
    decimals = decimals_of(metric)
    told = [row for row in comparison.of(metric) if row.difference is not None]
    said = [f"{row.system} {difference_text(row.difference, decimals)}" for row in told[:_MANY]]
    return Figure(
        f"{mean_title(metric)} minus that of {comparison.baseline}",
        f"{'; '.join(said)}.",
        partial(ComparisonPlots(comparison).differences, metric),
        f"Query by query, so these intervals are narrower than those of the means. Each holds the true difference "
        f"{level(comparison.method)} of the time; none is adjusted for their number.",
    )


def tradeoff(comparison: ComparisonRecord, cost: str) -> Figure:
    """Return quality against one cost, with the systems that no other beats in both."""
    found, name = costs_beside_quality(comparison, costs=[cost]), cost_title(cost)
    said = [f"{one.system}: {one.quality:.3f} at {cost_text(one, cost)}" for one in found.systems]
    return Figure(
        f"{mean_title(found.quality)} against {name}",
        f"{'; '.join(said[:_MANY])}. Pareto-optimal: {', '.join(found.front) or 'none'}.",
        partial(ComparisonPlots(comparison).tradeoff, cost=cost),
        "The line joins the Pareto-optimal systems: no other beats them in one of the two without losing in the other.",
    )


def session_figures(analyses: Mapping[str, SessionAnalysis], baseline: str = "") -> tuple[Figure, ...]:
    """Return recall of sessions after each call and after so many tokens, a line for each agent; none without calls."""
    figures: list[Figure] = []
    if all(not one.recall_after or not one.facts for one in analyses.values()):
        return ()
    for in_tokens, table in ((False, calls_table(analyses)), (True, tokens_table(analyses))):
        if table is not None:
            title, description = session_curve(analyses, in_tokens=in_tokens)
            chart = partial(session_chart, analyses, baseline, in_tokens=in_tokens)
            caption = "The share of a query's facts that the hits so far hold, mean over queries and their runs."
            figures.append(Figure(title, description, chart, caption, table))
    return tuple(figures)


def calls_table(analyses: Mapping[str, SessionAnalysis]) -> Table:
    """Return recall after each call: a row for each number of calls, the last one too if there are many."""
    longest = max((len(one.recall_after) for one in analyses.values()), default=0)
    numbers = list(range(1, longest + 1))
    if longest > _CALLS_SHOWN:
        numbers = [*numbers[: _CALLS_SHOWN - 1], longest]
    alone = analyses.get("")
    rows = []
    for number in numbers:
        cells = [_share_cell(one.recall_after[min(number, len(one.recall_after)) - 1]) for one in analyses.values()]
        sessions = [f"{alone.still_searching[number - 1]:,}"] if alone is not None else []
        rows.append(row_of((str(number), *cells, *sessions)))
    columns = ("recall", "sessions with so many calls") if alone is not None else tuple(analyses)
    return Table("Recall after each call", ("after call", *columns), tuple(rows))


def tokens_table(analyses: Mapping[str, SessionAnalysis]) -> Table | None:
    """Return recall after a few round numbers of tokens, the same for all agents; None if nothing was found."""
    most = max((one.recall_after_tokens[-1][0] for one in analyses.values() if one.recall_after_tokens), default=0)
    if not most:
        return None
    numbers = list(dict.fromkeys([*_early(most), most]))
    rows = tuple(
        row_of((f"{number:,}", *(_share_cell(one.recall_within(number)) for one in analyses.values())))
        for number in numbers
    )
    names = ("recall",) if "" in analyses else tuple(analyses)
    return Table("Recall after so many tokens", ("after tokens", *names), rows)


def _early(most: int) -> list[int]:
    """Return round numbers below the largest, each about twice the one before: early tokens find most."""
    found = [factor * 10**power for power in range(len(str(most))) for factor in (1, 2, 5) if factor * 10**power < most]
    return found[-(_TOKENS_SHOWN - 1) :]


def _share_cell(recall: float) -> Cell:
    if math.isnan(recall):
        return Cell(number_text(recall))
    return Cell(number_text(recall), low=0.0, middle=recall, high=recall, value=recall)


def _course(frame: pd.DataFrame, column: str) -> str:
    """Return a curve at its beginning, its middle and its end."""
    known = frame[["k", column]].dropna()
    if not len(known):
        return "no value"
    places: Sequence[int] = sorted({0, min(9, len(known) - 1), len(known) - 1})
    values = [(int(known["k"].iloc[place]), float(known[column].iloc[place])) for place in places]
    return ", ".join(f"{value:.3f} at k = {k}" for k, value in values if not math.isnan(value))
