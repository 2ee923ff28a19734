"""Evaluations as tables for a terminal, and as plain text when piped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.comparison.statistics import within_reach
from raglift.diagnosis import headroom, loss_breakdown
from raglift.diagnosis.rejudged import judgements_of, rule_of
from raglift.metrics import MEASURES, mean_title
from raglift.printable import TRUNCATED, counted
from raglift.rendering.document import Cell, table_of
from raglift.report.failing import failures_lines
from raglift.report.format import difference_text, labels_line, lifted, p_text
from raglift.report.terminal.cost import cost_parts
from raglift.report.terminal.curves import over_k_lines
from raglift.report.terminal.diagnosis import headroom_line, loss_lines
from raglift.report.terminal.rendering import as_text, write
from raglift.significance import paired_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from raglift.records import Metric
    from raglift.rendering.document import Part, Table
    from raglift.result_records import EvaluationRecord

__all__ = ["evaluation_parts", "evaluation_table", "evaluation_text", "print_evaluation"]


def evaluation_text(evaluation: EvaluationRecord) -> str:
    """Return an evaluation as plain text: what was measured, the table, and the notes."""
    return as_text(evaluation_parts(evaluation), wrap=False, roomy=True)


def print_evaluation(evaluation: EvaluationRecord, console: Console) -> None:
    """Print an evaluation: what was measured, before | after | lift per metric and k with n, and the notes."""
    write(console, evaluation_parts(evaluation), wrap=False, roomy=True)


def evaluation_parts(evaluation: EvaluationRecord) -> Iterator[Part]:
    """Yield the lines and tables of an evaluation."""
    evaluation = replace(evaluation, judgements=judgements_of(evaluation))  # matched once, for all that asks
    yield from _head(evaluation)
    yield evaluation_table(evaluation)
    yield from _primary_lift(evaluation)
    curve = over_k_lines(evaluation)
    yield from ["", *curve] if curve else []
    yield from _diagnosis(evaluation)
    yield from cost_parts(evaluation)
    yield from _foot(evaluation)


def _head(evaluation: EvaluationRecord) -> list[str]:
    """Return what was measured."""
    run = evaluation.run
    profile = "" if evaluation.profile == "default" else f", {evaluation.profile} conventions"
    asked = f"{counted(len(evaluation.dataset), 'query')}, {counted(run.spec['candidates'], 'candidate')}"
    first = f"{evaluation.dataset.name}: {asked}, match by {rule_of(evaluation)}{profile}"
    stages = (f"  {stage.name}: {stage.system}" for stage in run.stages)
    return [first, *stages, *labels_line(evaluation.label_sources)]


def _primary_lift(evaluation: EvaluationRecord) -> list[str]:
    """Return the lift in NDCG with its interval, at the deepest k that has a fair pair; nothing where none has."""
    found = [each for each in evaluation.scores.metrics if each.name == "ndcg" and each.k is not None]
    fair = [(each.k or 0, not each.parameters, each) for each in found if evaluation.has_fair_lift(each)]
    if not fair:
        return []
    metric = max(fair)[2]
    lift = evaluation.lift(metric)
    difference = within_reach(metric, paired_difference(lift, seed=0))
    if not difference.n:
        return []
    asked = "" if str(metric) == "ndcg@10" else repr(str(metric))
    found_p = f"p {p_text(difference.p)} (n = {difference.n:,})"
    more = f"print(evaluation.reranker_lift({asked}))"
    return [f"Lift in {mean_title(metric)} {difference_text(difference)}, {found_p}; more: {more}"]


def _diagnosis(evaluation: EvaluationRecord) -> list[str]:
    """Return where recall was lost, and what a perfect reranker could make of the candidates."""
    losses = loss_breakdown(evaluation)
    if not losses.facts:
        return []
    return ["", *loss_lines(losses), headroom_line(headroom(evaluation)), ""]


def _foot(evaluation: EvaluationRecord) -> list[str]:
    """Return what the reader of the figures should know."""
    notes = [*failures_lines(evaluation), *(f"! {note}" for note in evaluation.notes)]
    scores = evaluation.scores
    deeper = [metric for metric in scores.metrics if any(evaluation.is_truncated(s, metric) for s in scores.stages)]
    if any(metric.budget is None for metric in deeper):
        notes.append(f"{TRUNCATED} k is deeper than the stage returned")
    if any(metric.budget is not None for metric in deeper):
        notes.append(f"{TRUNCATED} the budget has more tokens than the hits that the stage returned")
    return notes


def evaluation_table(evaluation: EvaluationRecord) -> Table:
    """Return before | after | lift, a row a metric, with n."""
    scores = evaluation.scores
    titles = _stage_titles(evaluation)
    one_stage = len(titles) == 1
    rows: list[tuple[str | Cell, ...]] = []
    family = None
    for metric in scores.metrics:
        if family is not None and metric.name != family:
            rows.append(())
        family = metric.name
        cells = [_cell(evaluation, stage, metric) for stage in scores.stages]
        lift = [] if one_stage else [_lift_cell(evaluation, metric)]
        # A profile may leave a query out of one stage's mean and not of another's
        counts = dict.fromkeys(f"{scores.n(stage, metric):,}" for stage in scores.stages)
        rows.append((mean_title(metric), *cells, *lift, "/".join(counts)))
    return table_of(("metric", *titles, *([] if one_stage else ["lift"]), "n"), rows)


def _stage_titles(evaluation: EvaluationRecord) -> list[str]:
    stages = evaluation.scores.stages
    if len(stages) == 1:
        return [stages[0]]
    return [f"before ({stages[0]})", *stages[1:-1], f"after ({stages[-1]})"]


def _cell(evaluation: EvaluationRecord, stage: str, metric: Metric) -> str:
    mark = TRUNCATED if evaluation.is_truncated(stage, metric) else ""
    if evaluation.scores.n(stage, metric) == 0:
        return "–"
    mean = evaluation.scores.mean(stage, metric)
    return (f"{mean:,.1f}" if MEASURES[metric.name].is_cost else f"{mean:.4f}") + mark


def _lift_cell(evaluation: EvaluationRecord, metric: Metric) -> Cell:
    lift = evaluation.mean_lift(metric)
    if lift is None:
        return Cell("–")
    if MEASURES[metric.name].is_cost:
        return Cell(f"{lift:+,.1f}")
    counts = not MEASURES[metric.name].is_neutral
    return lifted(f"{lift:+.4f}".replace("-0.0000", "+0.0000"), lift, counts=counts)
