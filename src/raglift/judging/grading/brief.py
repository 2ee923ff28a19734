"""A model's grades in short: how many of each, the systems under them, and what is without a grade."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.judging.agreement.records import brief_of
from raglift.printable import counted
from raglift.rendering.document import Document, Section, Table, row_of
from raglift.report.terminal.rendering import as_text, write
from raglift.validation import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from raglift.judging.grading.graded import Graded
    from raglift.judging.grading.summary import GradedSystem, GradingSummary
    from raglift.rendering.document import Part

__all__ = ["grading_brief", "grading_parts", "grading_text", "print_grading"]

_SHOWN = 20


def grading_text(summary: GradingSummary) -> str:
    """Return a summary as plain text."""
    return as_text(grading_parts(summary))


def print_grading(summary: GradingSummary, console: Console) -> None:
    """Print a summary."""
    write(console, grading_parts(summary))


def grading_parts(summary: GradingSummary) -> Iterator[Part]:
    """Yield the lines and tables of a summary, as a terminal shows them."""
    document = grading_brief(summary)
    yield from (document.title, document.lead, "")
    yield document.headline
    for section in document.sections:
        yield from ("", section.heading)
        for number, table in enumerate(section.tables):
            yield from (("", table) if number else (table,))
        yield from section.paragraphs
    yield ""
    yield from (f"{name}: {value}" for name, value in document.measured)
    yield from document.notes
    yield from (f"! {warning}" for warning in document.warnings)


def grading_brief(summary: GradingSummary) -> Document:
    """Return a model's grades in short."""
    graded = summary.graded
    return Document(
        title=f"{graded.pool.name}: {counted(len(graded.pool), 'pair')} graded by {graded.annotator.model}",
        lead=(
            f"The first {graded.pool.depth} hits of {counted(len(graded.pool.systems), 'ranking')} of "
            f"{counted(len(graded.pool.queries), 'query')}, on a scale from 0 to {graded.scale}."
        ),
        headline=_grades(graded),
        measured=_measured(graded),
        warnings=tuple(_warnings(summary)),
        notes=tuple(_notes(summary)),
        sections=tuple(_sections(summary)),
    )


def _grades(graded: Graded) -> Table:
    """Return how many pairs have each grade, the best first."""
    total = max(len(graded.pool), 1)
    rows = [(str(grade), count) for grade, count in sorted(graded.counts.items(), reverse=True)]
    rows += [("none", len(graded.not_graded))] if graded.not_graded else []
    cells = tuple(row_of((name, f"{count:,}", f"{count / total:.1%}")) for name, count in rows)
    return Table("Pairs of each grade", ("grade", "pairs", "share"), cells)


def _sections(summary: GradingSummary) -> Iterator[Section]:
    graded = summary.graded
    yield Section("Systems", tables=(_systems(summary.systems, graded.pool.depth),))
    for found in (summary.agreement, summary.order):
        if found is not None:
            brief = brief_of(found)
            tables = [table for section in brief.sections for table in section.tables]
            yield Section(brief.title, tuple(filter(None, (brief.lead, *brief.notes))), (*tables, brief.headline))
    if graded.not_graded:
        rows = tuple(
            row_of((each.query.id, quoted(each.pooled.chunk.text), each.reason)) for each in graded.not_graded[:_SHOWN]
        )
        more = len(graded.not_graded) - len(rows)
        said = (f"and {more:,} more",) if more else ()
        table = Table("Pairs without a grade", ("query", "chunk", "why"), rows, words=(0, 1, 2))
        yield Section(f"Without a grade: {len(graded.not_graded):,}", said, (table,))


def _systems(systems: Sequence[GradedSystem], depth: int) -> Table:
    columns: tuple[str, ...] = ("system", f"mean grade of {depth}", "graded")
    k = next((each.k for each in systems), None)
    columns += (f"NDCG@{k}", f"Judged@{k}", "queries") if k is not None else ()
    rows = []
    for each in systems:
        cells = [each.name, _figure(each.mean_grade), f"{each.n:,}"]
        if k is not None:
            cells += [_figure(each.ndcg), _figure(each.judged), f"{each.queries or 0:,}"]
        rows.append(row_of(cells))
    return Table("Systems under these grades", columns, tuple(rows))


def _figure(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def _measured(graded: Graded) -> tuple[tuple[str, str], ...]:
    usage = graded.usage
    cost = "not known" if graded.dollars is None else f"${graded.dollars:,.4f}"
    tokens = f"{usage.input:,} tokens in, {usage.output:,} out, cost {cost}"
    kept = f", {counted(graded.cached, 'answer')} from the cache" if graded.cached else ""
    asked = f"{counted(graded.asked, 'prompt')}{kept}; {tokens}"
    return (("judge", str(graded.annotator)), ("asked", asked))


def _warnings(summary: GradingSummary) -> Iterator[str]:
    graded, model = summary.graded, summary.graded.annotator.model
    if summary.filled:
        yield f"{summary.labels.label_sources}: figures under them are nobody's alone"
    else:
        yield f"all of these labels are by {model}: no person has seen them"
    if graded.not_graded:
        yield f"{counted(len(graded.not_graded), 'pair')} without a grade: no labels, and unjudged in every figure"
    if summary.answered_after_all:
        yield (
            f"marked as unanswerable, but with chunks that answer (grade {summary.answers_from} or more), so look at "
            f"them; they stay unanswerable, without facts: {_listed(summary.answered_after_all)}"
        )
    if summary.read_otherwise:
        yield (
            f"matching gives {counted(summary.read_otherwise, 'pair')} another grade than the model did: the chunk "
            "contains, or lies in, one with another grade"
        )


def _notes(summary: GradingSummary) -> Iterator[str]:
    labels = summary.labels
    facts = sum(len(query.facts) for query in labels)
    passages = sum(len(fact.passages) for query in labels for fact in query.facts)
    irrelevant = sum(len(query.judged_irrelevant) for query in labels)
    yield (
        f"labels: {counted(facts, 'fact')} with {counted(passages, 'passage')} (grade {summary.relevant_from} or more) "
        f"and {irrelevant:,} judged irrelevant"
    )
    if summary.without_facts:
        yield f"no chunk found relevant, so left out of every mean: {_listed(summary.without_facts)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
