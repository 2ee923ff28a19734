"""Plans and results of sweeps as text for a terminal."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from raglift.analysis.truncation import CUT
from raglift.analysis.upper_bound import rule_of
from raglift.analysis.warnings import few_queries, new_evidence
from raglift.base.display import BEYOND, counted
from raglift.llm.providers import dollars_of
from raglift.metrics.computing import mean_title
from raglift.records.metric import Metric
from raglift.rendering.document import Cell, table_of
from raglift.report.format import decimals_of, labels_line, lifted, seconds_text, signed
from raglift.report.recommendation import recommendation_parts
from raglift.report.sentences import BEYOND_CANDIDATES, failures_lines
from raglift.report.terminal.rendering import as_text, write
from raglift.sweep.effects import effects_lines
from raglift.sweep.fairness import means_beside, sweep_sentences
from raglift.sweep.specification.cells import NO_RERANKER, PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from raglift.rendering.document import Part, Table
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.planning import ChunkingPlan, EmbeddingPlan, Plan, RerankingPlan
    from raglift.sweep.records import CellResult, SweepResultRecord


_WIDTH = 160
_CONTEXT = "context_tokens"
_FEW_CELLS = 2
"""The better of two is what a comparison says; the best of more is partly the luckiest."""


def plan_text(plan: Plan) -> str:
    """Return a plan as plain text."""
    return as_text(_plan_lines(plan), width=_WIDTH, wrap=False)


def result_text(result: SweepResultRecord) -> str:
    """Return the result of a sweep as plain text, as wide as it needs to be."""
    return as_text(result_parts(result), width=_WIDTH, wrap=False)


def print_plan(plan: Plan, console: Console) -> None:
    """Print what a sweep has to do: chunks, texts to embed, pairs to score, and what the cache has already."""
    write(console, _plan_lines(plan), wrap=False)


def print_result(result: SweepResultRecord, console: Console) -> None:
    """Print the cells of a sweep, best first, then what failed and warnings.

    Args:
        result: what a sweep found.
        console: where.
    """
    write(console, result_parts(result), wrap=False)


def result_parts(result: SweepResultRecord) -> Iterator[Part]:
    """Yield what is recommended and why, then the lines and the table of the cells of a sweep."""
    held_out = False
    if result.compared is not None:
        advised = result.recommend()
        held_out = advised.confirmation is not None
        yield from recommendation_parts(advised)
        yield ""
    yield result_head(result)
    yield from labels_line(result.label_sources)
    yield from sweep_sentences(result)
    if result.finished:
        yield result_table(result)
        yield from effects_lines(result)
    yield from result_foot(result, held_out=held_out)


def result_head(result: SweepResultRecord) -> str:
    """Return what was swept over, how much of it is measured, and what all cells have in common."""
    counts = f"{len(result.finished)} of {len(result.results)} cells measured"
    head = f"{result.title}: {counts}, by {mean_title(result.primary)}"
    measured = [entry.evaluation for entry in result.finished if entry.evaluation is not None]
    if not measured:
        return head
    return f"{head}, match by {rule_of(measured[0])}{f'; {told}' if (told := alike_text(result)) else ''}"


def _plan_lines(plan: Plan) -> Iterator[str]:
    asked = counted(plan.queries, "query") + (f" and {counted(plan.documents, 'document')}" if plan.documents else "")
    told = [f"{plan.excluded:,} excluded"] if plan.excluded else []
    told += [f"{plan.finished:,} finished already"] if plan.finished else []
    aside = f" ({', '.join(told)})" if told else ""
    yield (
        f"{plan.title}: {counted(len(plan.cells), 'cell')}{aside} over {asked} of {plan.dataset}, "
        f"{plan.candidates:,} candidates"
    )
    named = [entry.chunker for entry in plan.chunkings] + [entry.model for entry in plan.embeddings]
    width = max(map(len, [*named, *(entry.reranker for entry in plan.rerankings)]), default=0)
    yield from _section("split", [(entry.chunker, _chunking(entry)) for entry in plan.chunkings], width)
    yield from _section("embed", [(entry.model, _embedding(entry)) for entry in plan.embeddings], width)
    if plan.sources:
        yield f"  retrieve  {counted(len(plan.sources), 'ranking')} of {counted(plan.queries, 'query')}"
    yield from _section("rerank", [(entry.reranker, _reranking(entry)) for entry in plan.rerankings], width)
    if plan.occupied:
        yield f"! {plan.occupied}: to run this one, choose another folder (--output)"


def _section(verb: str, entries: list[tuple[str, str]], width: int) -> Iterator[str]:
    for number, (name, what) in enumerate(entries):
        yield f"  {verb if number == 0 else '':8}  {name:{width}}  {what}"


def _chunking(entry: ChunkingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    return f"{entry.chunks:,} chunks, {entry.distinct:,} of them distinct"


def _embedding(entry: EmbeddingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    if entry.missing is None or entry.missing_queries is None:
        return f"{entry.texts:,} texts and {entry.queries:,} queries; what the cache has shows when the model is here"
    told = _to_do(entry.texts, entry.missing, "texts", "to embed")
    told += "; " + _to_do(entry.queries, entry.missing_queries, "queries", "to embed")
    if entry.tokens:
        price = "price not known" if entry.dollars is None else f"US$ {entry.dollars:.4f}"
        told += f"; about {entry.tokens:,} tokens, {price}"
    return told


def _reranking(entry: RerankingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    if not entry.is_exact or entry.missing is None:
        return f"at most {entry.pairs:,} pairs; exactly how many shows when the candidates are known"
    return _to_do(entry.pairs, entry.missing, "pairs", "to score")


def _to_do(total: int, missing: int, unit: str, verb: str) -> str:
    if not missing:
        return f"{total:,} {unit}, all in the cache"
    if missing == total:
        return f"{total:,} {unit} {verb}"
    return f"{total:,} {unit}, {total - missing:,} in the cache, {missing:,} {verb}"


def result_table(result: SweepResultRecord) -> Table:
    """Return a row a measured cell, best first: the parts in which cells differ, and the figures."""
    parts, columns, beside = varying_parts(result), _columns(result), means_beside(result)
    rows = []
    for entry in result.ranked:
        if entry.evaluation is not None:
            told = entry.cell.to_dict()
            names = [told.get(part, "–") for part in parts]
            names[0] = " ".join(filter(None, [names[0], entry.truncation.mark]))
            means = [Cell(of_cell.get(entry.cell.name, "–"), "muted") for of_cell in beside.values()]
            rows.append([*names, *(of(entry.evaluation) for of in columns.values()), *means])
    return table_of((*parts, *columns, *beside), rows, left=range(len(parts)))


def varying_parts(result: SweepResultRecord) -> list[str]:
    """Return the parts in which the measured cells differ; where there is one cell, all that it has."""
    told = [entry.cell.to_dict() for entry in result.finished]
    named = [part for part in PARTS if any(part in parts for parts in told)]
    return [part for part in named if len({parts.get(part) for parts in told}) > 1] or named


def alike_text(result: SweepResultRecord) -> str:
    """Return what all measured cells have in common, for the line above the table."""
    varying, told = varying_parts(result), result.finished[0].cell.to_dict()
    alike = {part: value for part, value in told.items() if part not in varying}
    without = alike.get("reranker") == NO_RERANKER and bool(alike.pop("reranker"))
    named = f"all with {', '.join(alike.values())}" if alike else ""
    return ", ".join(filter(None, [named, "all without a reranker" if without else ""]))


def _columns(result: SweepResultRecord) -> dict[str, Callable[[Evaluation], str | Cell]]:
    """Return what is shown of each cell, by title; costs where they are known of some cell."""
    metric = result.primary
    measured = [entry.evaluation for entry in result.finished if entry.evaluation is not None]
    columns: dict[str, Callable[[Evaluation], str | Cell]] = {"retrieved": lambda one: _mean(one, one.before, metric)}
    if any(len(one.scores.stages) > 1 for one in measured):
        columns["reranked"] = lambda one: _if_reranked(one, _mean(one, one.after, metric))
        columns["lift"] = lambda one: _lift(one, metric)
    if len({one.scores.n(one.after, metric) for one in measured}) > 1:
        columns["n"] = lambda one: f"{one.scores.n(one.after, metric):,}"
    fair = result.fairness
    context = Metric(_CONTEXT, metric.depth if fair is None or fair.unbudgeted is None else fair.unbudgeted.depth)
    if any(context in one.scores.metrics for one in measured):
        columns["tokens"] = lambda one: _number(one.scores.mean(one.after, context))
    if any(_p50(one) is not None for one in measured):
        columns["p50"] = lambda one: "–" if (p50 := _p50(one)) is None else seconds_text(p50)
    return columns


def _mean(evaluation: Evaluation, stage: str, metric: Metric) -> str:
    mean = evaluation.scores.mean(stage, metric)
    return "–" if math.isnan(mean) else f"{mean:.3f}" + BEYOND * evaluation.is_beyond_candidates(stage, metric)


def _if_reranked(evaluation: Evaluation, figure: str) -> str:
    return figure if len(evaluation.scores.stages) > 1 else ""


def _lift(evaluation: Evaluation, metric: Metric) -> Cell:
    lift = evaluation.mean_lift(metric)
    if lift is None:
        return Cell(_if_reranked(evaluation, "–"))
    return lifted(signed(lift), lift)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f}"


def _p50(evaluation: Evaluation) -> float | None:
    """Return the median seconds of one query through all stages; None if it was not measured."""
    cost = evaluation.run.cost
    return None if cost is None or cost.whole is None else cost.whole.p50


def result_foot(result: SweepResultRecord, *, held_out: bool = False) -> Iterator[str]:
    """Yield the best cell, what was billed, what failed, and warnings.

    Args:
        result: what a sweep found.
        held_out: the best was measured on queries that had no part in the choice, next to this.
    """
    yield from _best(result, held_out=held_out)
    for model, tokens in result.billed.items():
        dollars = dollars_of(model.partition(":")[2], tokens)
        price = "" if dollars is None else f", US$ {dollars:.4f} at list price"
        yield f"billed for {model}: {tokens:,} tokens{price}"
    yield from (f"! {warning}" for warning in changed_models(result))
    waiting = [entry for entry in result.results if entry.evaluation is None and entry.error is None]
    if waiting:
        yield f"! {counted(len(waiting), 'cell')} not measured yet: go on with --resume"
    yield from (f"! {warning}" for warning in _new_hits(result))
    measured = [entry.evaluation for entry in result.finished if entry.evaluation is not None]
    if any(one.is_beyond_candidates(one.after, result.primary) for one in measured):
        yield f"{BEYOND} {BEYOND_CANDIDATES}"
    for reason, names in failed_by_reason(result).items():
        yield f"! {counted(len(names), 'cell')} failed: {reason}"
        yield f"    {_several(names)}"
    for entry in result.finished:
        if entry.evaluation is None:
            continue
        traces = entry.evaluation.run.traces
        if errors := [trace.error for trace in traces if trace.error]:
            counts = "counts" if len(errors) == 1 else "count"
            failed = f"{counted(len(errors), 'query')} failed and {counts} 0"
            yield f"! {entry.cell.name}: {failed}; the first: {errors[0]}"
            yield from (f"    {line}" for line in failures_lines(entry.evaluation)[1:])
    if len(result.finished) > 1:
        runs, primary = f"{shlex.quote(str(result.folder))}/cells/*", shlex.quote(str(result.primary))
        yield f"every cell against a baseline: raglift compare {runs} --primary {primary} --hold-out"


def _cutters(cut: Sequence[CellResult]) -> str:
    """Return who reads chunks only in part in these cells, with its verb."""
    models = "the embedding model" if any(entry.read_in_part for entry in cut) else ""
    rerankers = "the reranker" if any(entry.candidates_read_in_part for entry in cut) else ""
    return " or ".join(filter(None, [models, rerankers])) + " reads"


def best_lines_of(result: SweepResultRecord) -> Iterator[str]:
    """Yield which cell is the best and, where that is another one, which is the best without truncation."""
    best, whole = result.best(), result.best(without_truncation=True)
    for what, entry in (("best", best), ("best without truncation", whole)):
        if entry is not None and (what == "best" or entry is not best):
            value = f"{entry.value(result.primary):.{decimals_of(result.primary)}f}"
            yield f"{what}: {entry.marked_name}, {mean_title(result.primary)} {value}"
    if result.finished and best is None:
        counts = any(not math.isnan(entry.value(result.primary)) for entry in result.finished)
        why = f"no cell returns as many hits as {mean_title(result.primary)} looks at" if counts else "no query counts"
        yield f"best: none, because {why}"
    if best is not None and best.is_truncated and whole is None:
        yield "best without truncation: none, because every cell truncates some chunks"


def _best(result: SweepResultRecord, *, held_out: bool) -> Iterator[str]:
    """Name the best cell, and print warnings."""
    cut = [entry for entry in result.finished if entry.is_truncated]
    best = result.best()
    yield from best_lines_of(result)
    if cut:
        yield f"{CUT} {_cutters(cut)} this share of the chunks only in part, so these cells measure the cut as well"
    if best is None or best.evaluation is None:
        return
    if len(result.finished) > _FEW_CELLS and not held_out:
        yield (
            f"! the best of {len(result.finished):,} on the queries that it was chosen on, so its lead is likely too "
            "large: --hold-out (hold_out=True) of the comparison chooses on one half of them and measures on the other"
        )
    for warning in few_queries(best.evaluation.scores.n(best.evaluation.after, result.primary)):
        yield f"! {warning}"


def changed_models(result: SweepResultRecord) -> list[str]:
    """Warn of names that was for more than one model while the sweep was stopped and gone on with."""
    return [
        f"{name} changed while the sweep was stopped, so its cells cannot be compared: {' and '.join(identities)}; "
        "sweep again into another folder"
        for name, identities in result.mixed_models.items()
    ]


def _new_hits(result: SweepResultRecord) -> list[str]:
    """Say which cells have hits that were not candidates of their rerankers, each distinct note once."""
    cells: dict[str, list[str]] = {}
    for entry in result.finished:
        for note in [] if entry.evaluation is None else new_evidence(entry.evaluation):
            cells.setdefault(note, []).append(entry.cell.name)
    return [f"{_several(names)}: {note}" for note, names in cells.items()]


def _several(names: Sequence[str]) -> str:
    return "; ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def failed_by_reason(result: SweepResultRecord) -> dict[str, list[str]]:
    """Return the names of the cells that failed, by reason."""
    reasons: dict[str, list[str]] = {}
    for entry in result.failed:
        reasons.setdefault(str(entry.error), []).append(entry.cell.name)
    return reasons
