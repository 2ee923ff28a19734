"""The charts of pages, and the tables that stand for them elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.analysis.explanation import has_curve
from raglift.analysis.explanation import over_k as curve
from raglift.analysis.prompt_curves import prompt_curves
from raglift.metrics.computing import mean_title, title
from raglift.metrics.prompt_measures import NAMED_BUDGETS, PromptRecall
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Cell, Figure, Table, row_of, table_of
from raglift.report.cells import mean_cell
from raglift.report.charts.plots import ComparisonPlots, EvaluationPlots, session_chart, session_title
from raglift.report.format import cost_title, level, number_text
from raglift.types.metric import Metric, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.analysis.outcomes import FailureAnalysis
    from raglift.analysis.records import ComparisonRecord, EvaluationRecord, Lift
    from raglift.analysis.sessions import SessionAnalysis


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


def over_k(evaluation: EvaluationRecord, metric: Metric, table: Table | None) -> Figure:
    """Return a metric's mean over k, after each stage; `table` stands for it where no chart is shown."""
    measure = replace(metric, depth=None)
    return Figure(
        f"{mean_title(measure)} over k",
        partial(EvaluationPlots(evaluation).over_k, measure),
        "Each line is a stage; the gap between two at one k is the lift at that depth.",
        table,
    )


def over_k_together(comparison: ComparisonRecord, metric: Metric) -> Figure:
    """Return a metric's mean over k, of each system after its last stage."""
    measure = replace(metric, depth=None)
    chart = partial(ComparisonPlots(comparison).over_k, measure)
    return Figure(f"{mean_title(measure)} over k", chart, "Each line is a system, after its last stage.")


def prompt_curve(comparison: ComparisonRecord) -> Figure | None:
    """Return recall of each system by how much of a prompt is read; None where nothing came back, or of agents alone.

    Its table has the sizes at which recall is shown everywhere, as far as prompts go; systems come in their order.
    """
    curves = prompt_curves(comparison)
    if not curves:
        return None
    most = max(curve.end for curve in curves.values())
    sizes = [size for size in NAMED_BUDGETS if size <= most] or [most]
    rows = []
    for name, found in curves.items():
        at = [found.at(size) for size in sizes if size <= found.end]
        cells = [mean_cell(PromptRecall @ Tokens(one.tokens), one.recall, one.interval) for one in at]
        rows.append(row_of((name, *cells, *[Cell("–", "muted")] * (len(sizes) - len(at)))))
    return Figure(
        "Recall by prompt size",
        ComparisonPlots(comparison).by_prompt_size,
        "The share of a query's facts that are found in the first tokens of the prompt; each band holds the true mean "
        f"{level(comparison.method)} of the time. A line ends where half of the prompts of its system have ended.",
        Table("Recall by tokens read", ("system", *(f"{size:,}" for size in sizes)), tuple(rows)),
    )


def lift(found: Lift) -> Figure:
    """Return the lift of each query, sorted."""
    return Figure(
        f"Lift in {title(found.primary)}, query by query",
        partial(EvaluationPlots(found.evaluation).lift, found.primary),
        "Each bar is one query: up where reranking helped, down where it hurt.",
    )


def pair_lift(comparison: ComparisonRecord, system: str) -> Figure:
    """Return the difference of one system to the baseline on each query, sorted."""
    return Figure(
        f"{system} minus {comparison.baseline} in {title(comparison.primary)}, query by query",
        partial(ComparisonPlots(comparison).lift, system),
        f"Each bar is one query: up where {system} is better, down where {comparison.baseline} is.",
    )


def outcomes(evaluation: EvaluationRecord, losses: FailureAnalysis) -> Figure:
    """Return what became of the facts."""
    chart = partial(EvaluationPlots(evaluation).failure_analysis, losses.k)
    return Figure("What became of the facts", chart, "A bar is as long as there are facts of an outcome.")


def intervals(comparison: ComparisonRecord) -> Figure:
    """Return the mean of each system with its interval."""
    return Figure(
        f"{mean_title(comparison.primary)} of each system",
        partial(ComparisonPlots(comparison).intervals, comparison.primary),
        f"Each interval holds the true mean {level(comparison.method)} of the time. That two overlap does not mean "
        "that the systems are alike: the differences are paired, query by query.",
    )


def differences(comparison: ComparisonRecord) -> Figure:
    """Return each system minus the baseline, with its interval."""
    return Figure(
        f"{mean_title(comparison.primary)} minus that of {comparison.baseline}",
        partial(ComparisonPlots(comparison).differences, comparison.primary),
        f"Query by query, so these intervals are narrower than those of the means. Each holds the true difference "
        f"{level(comparison.method)} of the time; none is adjusted for their number.",
    )


def tradeoff(comparison: ComparisonRecord, cost: str) -> Figure:
    """Return quality against one cost, with the systems that no other beats in both."""
    return Figure(
        f"{mean_title(comparison.primary)} against {cost_title(cost)}",
        partial(ComparisonPlots(comparison).tradeoff, cost=cost),
        "The line joins the Pareto-optimal systems: no other beats them in one of the two without losing in the other.",
    )


def session_figures(analyses: Mapping[str, SessionAnalysis], baseline: str = "") -> tuple[Figure, ...]:
    """Return recall of sessions after each call and after so many tokens, a line for each agent; none without calls."""
    if all(not one.recall_after or not one.facts for one in analyses.values()):
        return ()
    caption = "The share of a query's facts that the hits so far hold, mean over queries and their runs."
    return tuple(
        Figure(
            session_title(analyses, in_tokens=in_tokens),
            partial(session_chart, analyses, baseline, in_tokens=in_tokens),
            caption,
            table,
        )
        for in_tokens, table in ((False, calls_table(analyses)), (True, tokens_table(analyses)))
        if table is not None
    )


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
