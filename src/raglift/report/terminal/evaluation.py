"""An evaluation and its reranker lift for a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import TOO_SKEWED, bound_of, is_quality, primary_of, within_reach
from raglift.analysis.upper_bound import headroom, match_tables_of, rule_of
from raglift.base.display import BEYOND, TRUNCATED, counted, excerpt
from raglift.metrics.computing import mean_title, title
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Cell, table_of
from raglift.report.format import (
    counts_text,
    decimals_of,
    difference_text,
    differing,
    effect_text,
    interval_text,
    labels_line,
    level,
    lifted,
    marks,
    p_text,
    table_metrics,
)
from raglift.report.sentences import (
    BEYOND_CANDIDATES,
    detectable_effect_sentence,
    failures_lines,
    over_candidates_sentence,
)
from raglift.report.terminal.analysis import cost_parts, failure_analysis_lines, headroom_line, over_k_lines
from raglift.report.terminal.rendering import WIDTH, as_text, write
from raglift.stats.paired_tests import paired_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from raglift.analysis.records import EvaluationRecord, LiftRecord, LiftRow, MovedQuery
    from raglift.records.metric import Metric
    from raglift.rendering.document import Part, Table


# Evaluations as tables for a terminal, and as plain text when piped.


def evaluation_text(evaluation: EvaluationRecord) -> str:
    """Return an evaluation as plain text: what was measured, the table, and the notes."""
    return as_text(evaluation_parts(evaluation), wrap=False, roomy=True)


def print_evaluation(evaluation: EvaluationRecord, console: Console) -> None:
    """Print an evaluation: what was measured, before | after | lift per metric and k with n, and the notes."""
    write(console, evaluation_parts(evaluation), wrap=False, roomy=True)


def evaluation_parts(evaluation: EvaluationRecord) -> Iterator[Part]:
    """Yield the lines and tables of an evaluation."""
    evaluation = replace(evaluation, match_table=match_tables_of(evaluation))  # matched once, for all that asks
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
    """Return the lift in the metric that decides, with its interval; nothing if there is none, or no fair pair."""
    known = evaluation.scores.metrics
    if not any(map(is_quality, known)):
        return []
    metric = primary_of(None, known, evaluation.depth_limit)
    if not evaluation.has_fair_lift(metric):
        return []
    lines = _lift_line(evaluation.lift(metric), metric, "", "; more: print(evaluation.reranker_lift())")
    over = evaluation.candidates
    if over is not None:
        lines += _lift_line(evaluation.lift(metric, over=over), metric, f" over {over}", "")
    return lines


def _lift_line(lift: NDArray[np.float64], metric: Metric, over: str, more: str) -> list[str]:
    difference = within_reach(metric, paired_difference(lift, seed=0, bound=bound_of(metric)))
    if not difference.n:
        return []
    undecided = f", {TOO_SKEWED}" if difference.too_skewed else ""
    found_p = f"p {p_text(difference.p)} (n = {difference.n:,}){undecided}"
    return [f"Lift in {mean_title(metric)}{over} {difference_text(difference)}, {found_p}{more}"]


def _diagnosis(evaluation: EvaluationRecord) -> list[str]:
    """Return where recall was lost, and what a perfect reranker could make of the candidates."""
    losses = failure_analysis(evaluation)
    if not losses.facts:
        return []
    return ["", *failure_analysis_lines(losses), headroom_line(headroom(evaluation)), ""]


def _foot(evaluation: EvaluationRecord) -> list[str]:
    """Return what the reader of the figures should know."""
    notes = [*failures_lines(evaluation), *(f"! {note}" for note in evaluation.notes)]
    scores = evaluation.scores
    deeper = [metric for metric in scores.metrics if any(evaluation.is_truncated(s, metric) for s in scores.stages)]
    if any(metric.budget is None for metric in deeper):
        notes.append(f"{TRUNCATED} k is deeper than the stage returned")
    if any(metric.budget is not None for metric in deeper):
        notes.append(f"{TRUNCATED} the budget has more tokens than the hits that the stage returned")
    if evaluation.beyond_candidates:
        notes.append(f"{BEYOND} {BEYOND_CANDIDATES}")
    return notes


def evaluation_table(evaluation: EvaluationRecord) -> Table:
    """Return before | after | lift, a row per metric, with n."""
    scores = evaluation.scores
    titles = _stage_titles(evaluation)
    lifts = _lifts_over(evaluation)
    rows: list[tuple[str | Cell, ...]] = []
    family = None
    for metric in table_metrics(scores.metrics):
        if family is not None and metric.name != family:
            rows.append(())
        family = metric.name
        cells = [_cell(evaluation, stage, metric) for stage in scores.stages]
        lift = [_lift_cell(evaluation, metric, over) for over in lifts]
        # A profile may leave a query out of one stage's mean and not of another's
        counts = dict.fromkeys(f"{scores.n(stage, metric):,}" for stage in scores.stages)
        rows.append((mean_title(metric), *cells, *lift, "/".join(counts)))
    return table_of(("metric", *titles, *lifts.values(), "n"), rows)


def _lifts_over(evaluation: EvaluationRecord) -> dict[str, str]:
    """Return the stages that lifts are over, with the titles of their columns."""
    if len(evaluation.scores.stages) == 1:
        return {}
    lifts = {evaluation.before: "lift"}
    return lifts if evaluation.candidates is None else {**lifts, evaluation.candidates: f"over {evaluation.candidates}"}


def _stage_titles(evaluation: EvaluationRecord) -> list[str]:
    stages = evaluation.scores.stages
    if len(stages) == 1:
        return [stages[0]]
    return [f"before ({stages[0]})", *stages[1:-1], f"after ({stages[-1]})"]


def _cell(evaluation: EvaluationRecord, stage: str, metric: Metric) -> str:
    mark = marks(evaluation, stage, metric)
    if evaluation.scores.n(stage, metric) == 0:
        return "–"
    mean = evaluation.scores.mean(stage, metric)
    return (f"{mean:,.1f}" if MEASURES[metric.name].is_cost else f"{mean:.4f}") + mark


def _lift_cell(evaluation: EvaluationRecord, metric: Metric, over: str) -> Cell:
    lift = evaluation.mean_lift(metric, over=over)
    if lift is None:
        return Cell("–")
    if MEASURES[metric.name].is_cost:
        return Cell(f"{lift:+,.1f}")
    counts = not MEASURES[metric.name].is_neutral
    return lifted(f"{lift:+.4f}".replace("-0.0000", "+0.0000"), lift, counts=counts)


# Reranker lift as a table, with the queries that changed most.


_BESIDE = 30
"""Columns that the figures and gaps take next to a query's id and question."""
_LEAST = 20


def lift_text(lift: LiftRecord) -> str:
    """Return what reranking changed, as plain text."""
    return as_text(lift_parts(lift))


def lift_parts(lift: LiftRecord) -> Iterator[Part]:
    """Yield the lines and tables of a reranker lift: the primary metric, the others, and the queries that moved."""
    evaluation = lift.evaluation
    scored = f", {lift.row().n:,} of them scored" if lift.row().n < len(evaluation.dataset) else ""
    queries = f"{counted(len(evaluation.dataset), 'query')}{scored}"
    yield f"{evaluation.dataset.name}: {queries}, match by {rule_of(evaluation)}"
    yield from (f"  {stage.name}: {stage.system}" for stage in evaluation.run.stages)
    yield from labels_line(lift.label_sources)
    yield ""
    yield from _sentences(lift)
    yield ""
    before = "before" if not lift.over_candidates else evaluation.before
    yield _lift_table(lift, lift.rows, before)
    if lift.over_candidates and evaluation.candidates is not None:
        yield ""
        yield _lift_table(lift, lift.over_candidates, evaluation.candidates)
    yield f"{mean_title(lift.primary)} decides; the other metrics are exploratory, and their p-values not corrected."
    if any(row.truncated for row in lift.rows):
        yield f"{TRUNCATED} k is deeper than a stage returned: there is no fair pair"
    if any(row.beyond_candidates for row in lift.rows):
        yield f"{BEYOND} {BEYOND_CANDIDATES}"
    yield ""
    found = lift.row().difference
    if found is not None:
        yield from _moved(lift, "up", lift.up, found.wins)
        yield from _moved(lift, "down", lift.down, found.losses)
    yield from (f"! {warning}" for warning in lift.warnings)
    yield f"Method: {lift.method.text}; seed {lift.method.seed}."


def _sentences(lift: LiftRecord) -> Iterator[str]:
    """Say what was found on the primary metric."""
    row, evaluation = lift.row(), lift.evaluation
    name = mean_title(lift.primary)
    if row.difference is None or not row.difference.n:
        yield f"{name}: no fair pair, so nothing is said about the lift."
        return
    yield (
        f"{name} is {interval_text(row.before, row.before_interval)} before ({evaluation.before}) and "
        f"{interval_text(row.after, row.after_interval)} after ({evaluation.after})."
    )
    yield (
        f"Lift {difference_text(row.difference)} at {level(lift.method)}, p {p_text(row.difference.p)}: {row.verdict}."
    )
    found = row.difference
    yield (
        f"{counted(found.wins, 'query')} won, {found.ties:,} tied, {found.losses:,} lost; effect size "
        f"{effect_text(found.effect_size)}."
    )
    if row.minimum_detectable_effect is not None:
        yield detectable_effect_sentence(f"{row.minimum_detectable_effect:.3f}", mean_title(lift.primary))
    yield from filter(None, [over_candidates_sentence(lift)])


def _lift_table(lift: LiftRecord, found: Sequence[LiftRow], before: str) -> Table:
    """Return a row per metric, and an empty one between families; the primary metric comes first."""
    columns = ("metric", before, "after", f"lift [{level(lift.method)}]", "p", "win/tie/loss")
    rows: list[tuple[str | Cell, ...]] = [_row(found[0], lift.method.alpha)]
    family = None
    shown = table_metrics([row.metric for row in found])
    for row in found[1:]:
        if row.metric not in shown:
            continue
        if row.metric.name != family:
            rows.append(())
        family = row.metric.name
        rows.append(_row(row, lift.method.alpha))
    return table_of(columns, rows)


def _row(row: LiftRow, alpha: float) -> tuple[str | Cell, ...]:
    mark = TRUNCATED * row.truncated + BEYOND * bool(row.beyond_candidates)
    decimals = decimals_of(row.metric)
    means = (interval_text(row.before, None, decimals), interval_text(row.after, None, decimals) + mark)
    found = row.difference
    if found is None or not found.n:
        return (mean_title(row.metric), *means, "–", "–", "–")
    return (
        mean_title(row.metric),
        *means,
        differing(found, row.metric, alpha),
        p_text(found.p),
        counts_text(row.metric, found),
    )


def _moved(lift: LiftRecord, where: str, queries: tuple[MovedQuery, ...], moved: int) -> Iterator[Part]:
    """Yield the queries that moved most in one direction, of so many that did."""
    if not moved:
        yield f"No query moved {where} in {title(lift.primary)}."
    if not queries:
        return
    rows = [
        (
            one.query_id,
            f"{one.before:.3f} → {one.after:.3f}",
            f"{_rank(one.rank_before)} → {_rank(one.rank_after)}",
            _short(one.text, WIDTH - _BESIDE - max(len(other.query_id) for other in queries)),
        )
        for one in queries
    ]
    yield table_of((f"moved {where} most", title(lift.primary), "first fact", "question"), rows, left=(0, 3))
    yield ""


def _rank(rank: int | None) -> str:
    return "none" if rank is None else str(rank)


def _short(text: str, room: int) -> str:
    """Return as much of a question as fits in one line, and some of it in any case."""
    return excerpt(text, max(room, _LEAST))
