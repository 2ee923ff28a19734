"""Context precision as text, Markdown and notebooks show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.faults import quoted
from raglift.integrations.prices import dollars_in_short
from raglift.judging.agreement.brief import coefficient_text
from raglift.judging.usefulness.records import MEASURES
from raglift.records import Metric
from raglift.rendering.document import Document, Section, Table, row_of
from raglift.report.terminal.figures import counted, differing, interval_text, write
from raglift.significance import FEW_QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from raglift.judging.agreement import Agreement
    from raglift.judging.usefulness.records import ContextPrecision
    from raglift.report.terminal.figures import Part

__all__ = ["precision_brief", "precision_parts", "print_precision"]

_SHOWN = 20


def print_precision(found: ContextPrecision, console: Console) -> None:
    """Print the figures."""
    write(console, precision_parts(found))


def precision_parts(found: ContextPrecision) -> Iterator[Part]:
    """Yield lines and tables, as a terminal shows them."""
    document = precision_brief(found)
    yield from (document.title, document.lead, "", document.headline)
    for section in document.sections:
        yield from ("", section.heading, *section.paragraphs)
        yield from section.tables
    yield ""
    yield from (f"! {warning}" for warning in document.warnings)
    yield from document.notes


def precision_brief(found: ContextPrecision) -> Document:
    """Return context precision in short, with who judged and how far that agrees with people."""
    return Document(
        title=f"{found.pool.name}: context precision without labels, as {found.judge.model} judges",
        lead=(
            f"Of the first k chunks those count that help to answer, in the eyes of {found.judge.model} "
            f"({found.judge.prompt}). "
            "What was not retrieved costs nothing here: recall needs labels. The judge against people: "
            f"{_checked(found.agreement)}."
        ),
        headline=_means(found),
        measured=(),
        warnings=tuple(_warnings(found)),
        notes=(*found.notes, f"AP@k: how early the useful of the first k come; intervals at 95 %; {_cost(found)}"),
        sections=tuple(_sections(found)),
    )


def _means(found: ContextPrecision) -> Table:
    """Return each system's means at each depth."""
    rows = [
        row_of(
            (
                system if not number else "",
                str(k),
                *(_mean(found, system, measure, k) for measure in MEASURES),
                f"{found.n(system, k):,}",
                f"{len(found.pool.queries) - found.n(system, k):,}",
            )
        )
        for system in found.systems
        for number, k in enumerate(found.ks)
    ]
    lines = tuple(range(len(found.ks), len(rows), len(found.ks)))
    columns = ("system", "k", *MEASURES.values(), "queries", "left out")
    return Table(f"Means as {found.judge.model} judges", columns, tuple(rows), sections=lines)


def _mean(found: ContextPrecision, system: str, measure: str, k: int) -> str:
    mean = found.mean(system, measure, k)
    return "–" if mean is None else interval_text(mean, found.interval(system, measure, k))


def _sections(found: ContextPrecision) -> Iterator[Section]:
    if found.lifts:
        rows = [
            row_of(
                (
                    lift.system or "the system",
                    str(lift.k),
                    *(differing(each, Metric("precision", lift.k), 0.05) for each in (lift.precision, lift.ap)),
                    f"{lift.ap.n:,}",
                )
            )
            for lift in found.lifts
        ]
        columns = ("run", "k", *MEASURES.values(), "queries")
        table = Table("After the last stage minus after the first", columns, tuple(rows))
        yield Section("What reranking changed", (), (table,))
    if found.unanswered:
        shown = found.unanswered[:_SHOWN]
        rows = [row_of((each.query.id, quoted(each.pooled.chunk.text), each.reason)) for each in shown]
        table = Table("Pairs without a verdict", ("query", "chunk", "why"), tuple(rows), words=(0, 1, 2))
        more = len(found.unanswered) - len(shown)
        said = (f"and {more:,} more (all of them with --json, or in .unanswered)",) if more else ()
        yield Section(f"Without a verdict: {counted(len(found.unanswered), 'pair')}", said, (table,), folded=True)


def _warnings(found: ContextPrecision) -> Iterator[str]:
    if found.unanswered:
        ids = {each.query.id for each in found.unanswered}
        yield (
            f"{counted(len(found.unanswered), 'pair')} of {counted(len(ids), 'query')} without a verdict: a query is "
            "left out where one of its first k hits is among them; the same call asks for them again"
        )


def _checked(found: Agreement) -> str:
    if not found.pairs:
        return "no labels to check the judge against"
    pairs = f"{counted(found.pairs, 'pair')} of {counted(found.queries, 'query')}"
    assumed = f", {found.assumed:,} of them matching no label and so irrelevant" if found.assumed else ""
    kappa, raw = coefficient_text(found.kappa), coefficient_text(found.raw)
    why = f" ({found.kappa.why})" if found.kappa.value is None else ""
    few = f" (of fewer than {FEW_QUERIES} queries the intervals are too narrow)" if found.queries < FEW_QUERIES else ""
    return f"Cohen's kappa {kappa}{why}, the same verdict {raw}, on {pairs}{assumed}{few}"


def _cost(found: ContextPrecision) -> str:
    pairs = f"{counted(len(found.judged), 'pair')} of {counted(len(found.pool.queries), 'query')} judged"
    if not found.asked:
        return f"{pairs}, all verdicts from the cache"
    dollars = "" if found.dollars is None else f", US$ {dollars_in_short(found.dollars)}"
    return f"{pairs}, {counted(found.asked, 'prompt')} asked now{dollars}"
