"""Evaluations as tables for a terminal, and as plain text when piped."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES, mean_title
from raglift.printable import printable
from raglift.report.terminal.cost import print_cost
from raglift.report.terminal.diagnosis import headroom_text, loss_text
from raglift.report.terminal.figures import difference_text, p_text
from raglift.significance import paired_difference

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from raglift.records import Evaluation, Metric

__all__ = ["evaluation_text", "print_evaluation"]

_TRUNCATED = "†"
_WIDTH = 100


def evaluation_text(evaluation: Evaluation) -> str:
    """Return an evaluation as plain text: what was measured, the table, and the notes."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, force_terminal=False)
    print_evaluation(evaluation, console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print an evaluation: what was measured, before | after | lift per metric and k with n, and the notes."""
    from rich.text import Text

    for line in _head(evaluation):
        console.print(Text(printable(line)), soft_wrap=True)
    console.print(_table(evaluation))
    for line in _primary_lift(evaluation):
        console.print(Text(line), soft_wrap=True)
    for line in _diagnosis(evaluation):
        console.print(Text(line), soft_wrap=True)
    print_cost(evaluation, console)
    for line in _foot(evaluation):
        console.print(Text(printable(line)), soft_wrap=True)


def _head(evaluation: Evaluation) -> list[str]:
    """Return what was measured."""
    run = evaluation.run
    spec = run.spec
    profile = "" if evaluation.profile == "default" else f", {evaluation.profile} conventions"
    asked = f"{len(evaluation.dataset):,} queries, {spec['candidates']} candidates"
    threshold = spec["match"].get("threshold")
    match = f"{spec['match']['mode']}" + ("" if threshold is None else f" (threshold {threshold:g})")
    first = f"{evaluation.dataset.name}: {asked}, match by {match}{profile}"
    return [first, *(f"  {stage.name}: {stage.system}" for stage in run.stages)]


def _primary_lift(evaluation: Evaluation) -> list[str]:
    """Return the lift in NDCG with its interval, at the deepest k that has a fair pair; nothing where none has."""
    found = [each for each in evaluation.scores.metrics if each.name == "ndcg" and each.k is not None]
    fair = [(each.k or 0, not each.parameters, each) for each in found if evaluation.has_fair_lift(each)]
    if not fair:
        return []
    metric = max(fair)[2]
    lift = evaluation.lift(metric)
    difference = paired_difference(lift, seed=0)
    if not difference.n:
        return []
    asked = "" if str(metric) == "ndcg@10" else repr(str(metric))
    found_p = f"p {p_text(difference.p)} (n = {difference.n:,})"
    more = f"print(evaluation.reranker_lift({asked}))"
    return [f"Lift in {mean_title(metric)} {difference_text(difference)}, {found_p}; more: {more}"]


def _diagnosis(evaluation: Evaluation) -> list[str]:
    """Return where recall was lost, and what a perfect reranker could make of the candidates."""
    losses = evaluation.loss()
    if not losses.facts:
        return []
    return ["", *loss_text(losses).splitlines(), headroom_text(evaluation.headroom()), ""]


def _foot(evaluation: Evaluation) -> list[str]:
    """Return what the reader of the figures should know."""
    notes = [f"! {note}" for note in evaluation.notes]
    scores = evaluation.scores
    deeper = [metric for metric in scores.metrics if any(evaluation.is_truncated(s, metric) for s in scores.stages)]
    if any(metric.budget is None for metric in deeper):
        notes.append(f"{_TRUNCATED} k is deeper than the stage returned")
    if any(metric.budget is not None for metric in deeper):
        notes.append(f"{_TRUNCATED} the budget has more tokens than the hits that the stage returned")
    return notes


def _table(evaluation: Evaluation) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    scores = evaluation.scores
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("metric")
    titles = _stage_titles(evaluation)
    for stage_title in titles:
        table.add_column(Text(printable(stage_title)), justify="right")
    if len(titles) > 1:
        table.add_column("lift", justify="right")
    table.add_column("n", justify="right")
    family = None
    for metric in scores.metrics:
        if family is not None and metric.name != family:
            table.add_section()
        family = metric.name
        cells = [Text(_cell(evaluation, stage, metric)) for stage in scores.stages]
        if len(titles) > 1:
            cells.append(_lift_cell(evaluation, metric))
        # A profile may leave a query out of one stage's mean and not of another's
        counts = dict.fromkeys(f"{scores.n(stage, metric):,}" for stage in scores.stages)
        table.add_row(Text(mean_title(metric)), *cells, "/".join(counts))
    return table


def _stage_titles(evaluation: Evaluation) -> list[str]:
    stages = evaluation.scores.stages
    if len(stages) == 1:
        return [stages[0]]
    return [f"before ({stages[0]})", *stages[1:-1], f"after ({stages[-1]})"]


def _cell(evaluation: Evaluation, stage: str, metric: Metric) -> str:
    mark = _TRUNCATED if evaluation.is_truncated(stage, metric) else ""
    if evaluation.scores.n(stage, metric) == 0:
        return "–"
    mean = evaluation.scores.mean(stage, metric)
    return (f"{mean:,.1f}" if MEASURES[metric.name].is_cost else f"{mean:.4f}") + mark


def _lift_cell(evaluation: Evaluation, metric: Metric) -> Text:
    from rich.text import Text

    lift = evaluation.mean_lift(metric)
    if lift is None:
        return Text("–")
    if MEASURES[metric.name].is_cost:  # neither more nor less of it is better by itself
        return Text(f"{lift:+,.1f}")
    told = f"{lift:+.4f}".replace("-0.0000", "+0.0000")
    return Text(told, style="green" if lift > 0 else "red" if lift < 0 else "dim")
