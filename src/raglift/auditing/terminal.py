"""Audits as text for a terminal."""

from __future__ import annotations

import io
import math
from itertools import groupby
from typing import TYPE_CHECKING

from raglift.auditing.records import KINDS, PLACEMENTS
from raglift.dataset.faults import quoted
from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from raglift.auditing.records import Audit, ChunkingAudit, Finding

__all__ = ["audit_text", "print_audit"]

_WIDTH = 100
_SHOWN = 20
_FIRST_PLACEMENT = 3
_TITLE_WIDTH = 20
_GAP = 3


def audit_text(audit: Audit) -> str:
    """Return an audit as plain text."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, force_terminal=False)
    print_audit(audit, console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def print_audit(audit: Audit, console: Console) -> None:
    """Print an audit: what was looked at, the findings by kind, broken labels first, and the chunkers."""
    from rich.text import Text

    for line in (*_head(audit), *_findings(audit)):
        console.print(Text(printable(line)), soft_wrap=True)
    if audit.chunkings:
        for chunkings in _side_by_side(audit.chunkings, console.width):
            console.print()
            console.print(_table(chunkings))
        for line in _foot(audit):
            console.print(Text(printable(line)), soft_wrap=True)
    for note in audit.notes:
        console.print(Text(printable(f"! {note}")), soft_wrap=True)


def _head(audit: Audit) -> Iterator[str]:
    yield (
        f"{audit.dataset}: {audit.queries:,} queries ({audit.labelled:,} labelled), {audit.facts:,} facts, "
        f"{audit.passages:,} passages, {audit.documents:,} document{'s' * (audit.documents != 1)}"
    )
    broken, warnings = len(audit.broken), len(audit.warnings)
    yield f"labels: {broken:,} broken, {warnings:,} warning{'s' * (warnings != 1)}"


def _findings(audit: Audit) -> Iterator[str]:
    order = list(KINDS)
    by_kind = sorted(audit.findings, key=lambda finding: order.index(finding.kind))
    for kind, group in groupby(by_kind, key=lambda finding: finding.kind):
        findings = list(group)
        severity, meaning = KINDS[kind]
        yield ""
        yield f"{severity}: {kind} ({len(findings):,}): {meaning}"
        for finding in findings[:_SHOWN]:
            yield from _lines(finding)
        if len(findings) > _SHOWN:
            yield f"  … and {len(findings) - _SHOWN:,} more (all of them with --json, or in to_frame())"


def _lines(finding: Finding) -> Iterator[str]:
    yield f"  {quoted(finding.query_id)} {finding.where}: {quoted(finding.text)}: {finding.detail}"
    if finding.nearest is not None:
        place = finding.nearest.place
        at = f"{quoted(place.doc_id)} from {place.start} to {place.end}"
        yield f"    nearest ({finding.nearest.likeness:.0%} alike), {at}: {quoted(finding.nearest.text)}"


def _side_by_side(chunkings: Sequence[ChunkingAudit], width: int) -> Iterator[Sequence[ChunkingAudit]]:
    """Yield as many chunkers at a time as fit into the width."""
    room = width - _TITLE_WIDTH
    first = 0
    for number in range(1, len(chunkings) + 1):
        needed = sum(len(_name(chunking)) + _GAP for chunking in chunkings[first : number + 1])
        if number == len(chunkings) or needed > room:
            yield chunkings[first:number]
            first = number


def _table(chunkings: Sequence[ChunkingAudit]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    for chunking in chunkings:
        table.add_column(Text(_name(chunking)), justify="right", overflow="fold")
    rows = [_column(chunking) for chunking in chunkings]
    for number, (title, _) in enumerate(rows[0]):
        if number in (_FIRST_PLACEMENT, _FIRST_PLACEMENT + len(PLACEMENTS)):
            table.add_section()
        table.add_row(title, *(column[number][1] for column in rows))
    return table


def _name(chunking: ChunkingAudit) -> str:
    """Return a chunker's name without the unit that it has when none is given."""
    return printable(chunking.name.removesuffix(":characters"))


def _column(chunking: ChunkingAudit) -> list[tuple[str, str]]:
    """Return the titles and cells of one chunker."""
    length = "–" if math.isnan(chunking.mean_length) else f"{chunking.mean_length:,.0f}"
    read_in_part = "–" if chunking.read_in_part is None else f"{chunking.read_in_part:,}"
    cells = [("chunks", f"{chunking.chunks:,}"), ("mean length", length), ("read in part", read_in_part)]
    cells += [(f"passages {placement}", f"{chunking.count(placement):,}") for placement in PLACEMENTS]
    for each in chunking.attainable:
        recall = "–" if math.isnan(each.recall) else f"{each.recall:.4f}"
        cells.append((f"attainable recall@{each.k}", recall if each.exact else f"≤ {recall}"))
    return cells


def _foot(audit: Audit) -> Iterator[str]:
    yield f"attainable recall: the most that any retriever could reach; match by {audit.match}, n = {audit.labelled:,}"
    if any(chunking.read_in_part is not None for chunking in audit.chunkings):
        yield "read in part: chunks with more tokens than the embedding model minilm reads"
    if any(not each.exact for chunking in audit.chunkings for each in chunking.attainable):
        yield "≤ an upper bound: too many chunks bear on a query to try every choice"
