"""The indexes of a sweep: what each loses against exact search, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.exact_comparison import COMPRESSION, INDEX, TOGETHER, IndexLosses, exact_ranks, index_losses
from raglift.analysis.paired_statistics import verdict
from raglift.analysis.tradeoffs import beats
from raglift.rendering.document import Cell, Column, Section, table_from
from raglift.report.format import (
    bytes_text,
    confidence_text,
    difference_text,
    p_text,
    percent_text,
    seconds_text,
    verdict_emphasis,
)
from raglift.stats.paired_tests import holm
from raglift.sweep.charts import varying
from raglift.sweep.specification.cells import NO_RERANKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raglift.records.rankings import IndexCost
    from raglift.rendering.document import Table
    from raglift.sweep.records import CellResult, SweepResultRecord


_PARETO = (
    "Optimal: no other index finds as many facts in as few bytes with as many queries a second, and is better in one "
    "of these. Speed is of the search alone, one query at a time on one thread."
)
_TITLES = {"dimensions": "{} dimensions"}
"""What parts are called where their values do not say it."""


@dataclass(frozen=True)
class IndexRow:
    """One cell with an index, against exact search over the model's own vectors."""

    cell: str
    """Its name."""
    losses: IndexLosses
    """What its index loses, before any reranker; p-values are not corrected for the number of cells."""
    p: float
    """Of the difference in recall, corrected for the number of cells by Holm."""
    verdict: str
    """Of that difference."""
    beaten_by: tuple[str, ...] | None
    """The cells that are as good in facts found, bytes and queries a second, and better in one; None where its bytes or
    speed are not known, so that it takes no part."""


def index_rows(result: SweepResultRecord) -> tuple[IndexRow, ...]:
    """Return what each index of a sweep loses, in the order of the sweep; none where no cell names an index.

    Cells that differ in their reranker alone have one row: losses are counted before it.

    Args:
        result: what a sweep found.
    """
    found = [
        (entry.cell.name, index_losses(entry.evaluation, seed=result.seed))
        for entry in _sources(result)
        if entry.evaluation is not None and exact_ranks(entry.evaluation) is not None
    ]
    if not found:
        return ()
    corrected = holm([losses.step(TOGETHER).difference.p for _, losses in found]).tolist()
    winners = _winners([losses for _, losses in found])
    names = [name for name, _ in found]
    rows = []
    for place, ((name, losses), p) in enumerate(zip(found, corrected, strict=True)):
        beaten = winners[place]
        said = verdict(losses.step(TOGETHER).difference, p, losses.method)
        rows.append(IndexRow(name, losses, p, said, None if beaten is None else tuple(names[one] for one in beaten)))
    return tuple(rows)


def _sources(result: SweepResultRecord) -> Iterator[CellResult]:
    """Yield one cell for each retrieval: that without a reranker, where it was measured."""
    by_source: dict[object, CellResult] = {}
    for entry in result.finished:
        source = replace(entry.cell, reranker=NO_RERANKER)
        if source not in by_source or entry.cell == source:
            by_source[source] = entry
    yield from by_source.values()


def _winners(found: Sequence[IndexLosses]) -> list[tuple[int, ...] | None]:
    """Return for each index which others beat it in facts found, bytes and queries a second; None where unknown."""
    figures = {place: figure for place, losses in enumerate(found) if (figure := _figures(losses)) is not None}
    known = list(figures)
    won = beats(list(figures.values())) if known else np.zeros((0, 0), dtype=np.bool_)
    winners: list[tuple[int, ...] | None] = [None] * len(found)
    for column, place in enumerate(known):
        winners[place] = tuple(known[row] for row in np.flatnonzero(won[:, column]).tolist())
    return winners


def _figures(losses: IndexLosses) -> tuple[float, float, float] | None:
    cost = losses.cost
    if cost is None or cost.queries_per_second is None:
        return None
    return float(losses.step(TOGETHER).after), -float(cost.bytes), cost.queries_per_second


def index_sections(result: SweepResultRecord) -> list[Section]:
    """Return what the indexes of a sweep lose and cost, as a section; nothing where no cell names an index."""
    rows = index_rows(result)
    if not rows:
        return []
    first = rows[0].losses
    lost = [row for row in rows if row.verdict == "worse"]
    worse = (
        f"{len(lost):,} of {len(rows):,} find significantly fewer facts than exact search."
        if lost
        else "None finds significantly fewer facts than exact search."
    )
    said = (
        f"Facts by rank {first.k}, before any reranker, against exact search {_over(rows)}. {worse}",
        _PARETO,
    )
    return [Section("What the indexes lose", said, (index_table(result, rows),))]


def _over(rows: Sequence[IndexRow]) -> str:
    """Return which vectors exact search looks at."""
    sources = {row.losses.source for row in rows}
    own = "over the model's own vectors"
    if sources == {"own"}:
        return own
    store = "over the vectors of the store"
    if "embedded again" in sources:
        store += ", or of its chunks embedded again"
    return f"{own}, of systems of yours {store}" if "own" in sources else store


def _names(result: SweepResultRecord, rows: Sequence[IndexRow]) -> dict[str, str]:
    """Return what to call the cells of the rows: the parts in which they differ."""
    cells = {entry.cell.name: entry.cell.to_dict() for entry in result.finished}
    told = {row.cell: cells[row.cell] for row in rows}
    differing = [part for part in varying(told.values()) if part != "reranker"]
    return {
        name: " · ".join(_TITLES.get(part, "{}").format(parts[part]) for part in differing if part in parts) or name
        for name, parts in told.items()
    }


def index_table(result: SweepResultRecord, rows: Sequence[IndexRow]) -> Table:
    """Return a row for each index of a sweep."""
    called = _names(result, rows)
    percent = confidence_text(rows[0].losses.method.confidence)

    def facts(step: str) -> Callable[[IndexRow], Cell]:
        return lambda row: Cell(f"{row.losses.step(step).lost:,}", value=row.losses.step(step).lost)

    columns: list[Column[IndexRow]] = [
        Column("index", lambda row: called.get(row.cell, row.cell), words=True),
        Column("found", _found, definition=f"Facts found by exact search {_over(rows)} → by the index"),
        Column(
            "lost by index", facts(INDEX), definition="Facts that exact search finds over the vectors as it has them"
        ),
        Column("lost by compression", facts(COMPRESSION), definition="Facts found over the model's own vectors alone"),
        Column(
            "hits lost",
            _hits_lost,
            definition="Share of exact search's hits that are not among those of the index",
            optional=True,
        ),
        Column(
            f"recall [{percent}]",
            lambda row: Cell(
                difference_text(row.losses.step(TOGETHER).difference),
                verdict_emphasis(row.verdict),
                value=row.losses.step(TOGETHER).difference.mean,
            ),
        ),
        Column("p", lambda row: p_text(row.p), value=lambda row: row.p, definition="Corrected for all rows by Holm"),
        Column("build", _of_cost(lambda cost: cost.build_seconds, seconds_text), optional=True),
        Column("size", _of_cost(lambda cost: cost.bytes, lambda size: bytes_text(int(size)))),
        Column("queries/s", _of_cost(lambda cost: cost.queries_per_second, lambda rate: f"{rate:,.0f}")),
        Column("optimal", _place, words=True, definition="Pareto-optimal among these"),
    ]
    return table_from(columns, rows, "What each index loses, and what it costs", sortable=True)


def _found(row: IndexRow) -> Cell:
    step = row.losses.step(TOGETHER)
    return Cell(f"{step.before:,} → {step.after:,}", value=step.after)


def _hits_lost(row: IndexRow) -> Cell:
    step = row.losses.step(TOGETHER)
    return Cell(percent_text(step.hits_lost / step.hits), value=step.hits_lost) if step.hits else Cell("–")


def _of_cost(figure: Callable[[IndexCost], float | None], text: Callable[[float], str]) -> Callable[[IndexRow], Cell]:
    def cell(row: IndexRow) -> Cell:
        value = None if row.losses.cost is None else figure(row.losses.cost)
        return Cell("–") if value is None else Cell(text(value), value=value)

    return cell


def _place(row: IndexRow) -> str:
    if row.beaten_by is None:
        return "–"
    return "no" if row.beaten_by else "yes"
