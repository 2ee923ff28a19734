"""What is shown of an index: the facts and hits that it loses, and its build time, bytes and speed beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.exact_comparison import COMPRESSION, INDEX, TOGETHER, exact_ranks, index_losses
from raglift.base.display import counted
from raglift.rendering.document import Cell, Column, Document, Section, table_from
from raglift.report.format import (
    bytes_text,
    confidence_text,
    difference_text,
    p_equation,
    p_text,
    percent_text,
    seconds_text,
    verdict_emphasis,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.exact_comparison import IndexLosses, IndexStep
    from raglift.analysis.records import EvaluationRecord
    from raglift.records.rankings import IndexCost
    from raglift.rendering.document import Table


_STEPS = {COMPRESSION: "compression", INDEX: "the index", TOGETHER: "together"}
_SOURCES = {
    "own": "",
    "read out": "Exact search is over the vectors that were read out of the store.",
    "embedded again": "The store does not give out its vectors: exact search is over its chunks, embedded again by its "
    "own embedding model, so compression and the index are counted together.",
}


def index_section(evaluation: EvaluationRecord, seed: int, confidence: float) -> Section | None:
    """Return what the index of an evaluation loses; None where exact search was not asked."""
    if exact_ranks(evaluation) is None:
        return None
    found = index_losses(evaluation, seed=seed, confidence=confidence)
    if not found.facts:
        return None
    said = (_lead(found), *_beside(found))
    return Section("What the index loses", said, (losses_table(found),))


def index_losses_view(found: IndexLosses) -> Document:
    """Return what an index loses."""
    return Document(
        f"{found.index} against exact search, at k = {found.k}",
        _lead(found),
        losses_table(found),
        (("Method", f"{found.method.text}; seed {found.method.seed}"),),
        notes=tuple(_beside(found)),
        labels=str(found.label_sources),
    )


def losses_table(found: IndexLosses) -> Table:
    """Return a row for each step from exact search to the index."""
    percent = confidence_text(found.method.confidence)
    columns: list[Column[IndexStep]] = [
        Column("step", lambda one: _STEPS[one.step], words=True),
        Column(
            "facts lost",
            lambda one: Cell(f"{one.lost:,}", value=one.lost),
            definition=f"Facts that are found by rank {found.k} before the step and not after it",
        ),
        Column("facts gained", lambda one: Cell(f"{one.gained:,}", value=one.gained)),
        Column("found", lambda one: f"{one.before:,} → {one.after:,}"),
        Column(
            "hits lost",
            lambda one: Cell(
                f"{one.hits_lost:,} of {one.hits:,} ({percent_text(one.hits_lost / one.hits)})" if one.hits else "–",
                value=one.hits_lost,
            ),
            definition=f"Of the first {found.k} hits before the step, those that are not among the first after it",
        ),
        Column(
            f"recall [{percent}]",
            lambda one: Cell(difference_text(one.difference), verdict_emphasis(one.verdict), value=one.difference.mean),
            definition="The mean difference of recall in facts, query by query",
        ),
        Column("p (corrected)", lambda one: p_text(one.p)),
    ]
    return table_from(columns, found.steps, "What is lost between exact search and the index")


def _lead(found: IndexLosses) -> str:
    """Return what is lost, in one or two sentences."""
    together, compression, index = (found.step(name) for name in (TOGETHER, COMPRESSION, INDEX))
    first = (
        f"Exact search over the model's own vectors finds {together.before:,} of {counted(found.facts, 'fact')} by "
        f"rank {found.k}, {found.index} {together.after:,}"
    )
    if not (compression.lost or index.lost):
        return f"{first}: no fact is lost, and {percent_text(together.overlap)} of the hits are the same."
    lost = [
        f"{counted(step.lost, 'fact')} lost by {name}"
        for step, name in ((compression, "compression"), (index, "the index"))
        if step.lost
    ]
    return (
        f"{first}: {' and '.join(lost)}; {percent_text(together.overlap)} of the hits are the same "
        f"({together.verdict}, {p_equation(together.p)})."
    )


def _beside(found: IndexLosses) -> Iterator[str]:
    """Yield what the index costs, and where exact search has its vectors from."""
    if found.cost is not None and found.cost.index:
        yield _cost_sentence(found.cost)
    if said := _SOURCES[found.source]:
        yield said


def _cost_sentence(cost: IndexCost) -> str:
    parts = [f"{bytes_text(cost.bytes)} instead of {bytes_text(cost.exact_bytes or 0)}"]
    if cost.build_seconds is not None:
        parts.append(f"built in {seconds_text(cost.build_seconds)}")
    if cost.queries_per_second is not None:
        exact = "" if cost.exact_queries_per_second is None else f", exact search {cost.exact_queries_per_second:,.0f}"
        parts.append(f"{cost.queries_per_second:,.0f} queries a second, one at a time on one thread{exact}")
    return f"The index: {'; '.join(parts)}."
