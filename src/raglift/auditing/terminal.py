"""Audits as text for a terminal."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from raglift.auditing.records import KINDS, PLACEMENTS
from raglift.rendering.document import table_of
from raglift.report.format import labels_line
from raglift.report.terminal.rendering import WIDTH, as_text, write
from raglift.validation import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from raglift.auditing.records import AuditRecord, ChunkingAudit, Finding
    from raglift.rendering.document import Part, Table

__all__ = ["audit_parts", "audit_text", "chunkings_table", "foot_lines", "head_lines", "print_audit"]

_SHOWN = 20
_FIRST_PLACEMENT = 3
_TITLE_WIDTH = 20
_GAP = 3


def audit_text(audit: AuditRecord) -> str:
    """Return an audit as plain text."""
    return as_text(audit_parts(audit), wrap=False, roomy=True)


def print_audit(audit: AuditRecord, console: Console) -> None:
    """Print an audit: what was looked at, the findings by kind, broken labels first, and the chunkers."""
    write(console, audit_parts(audit, console.width), wrap=False, roomy=True)


def audit_parts(audit: AuditRecord, width: int = WIDTH) -> Iterator[Part]:
    """Yield the lines of an audit, and tables of its chunkers that fit into a width."""
    yield from head_lines(audit)
    yield from labels_line(audit.label_sources)
    yield from _findings(audit)
    for chunkings in _side_by_side(audit.chunkings, width):
        yield ""
        yield chunkings_table(chunkings)
    if audit.chunkings:
        yield from foot_lines(audit)
    yield from (f"! {note}" for note in audit.notes)


def head_lines(audit: AuditRecord) -> Iterator[str]:
    """Yield what was looked at, and how many labels are broken."""
    yield (
        f"{audit.dataset}: {audit.queries:,} queries ({audit.labelled:,} labelled), {audit.facts:,} facts, "
        f"{audit.passages:,} passages, {audit.documents:,} document{'s' * (audit.documents != 1)}"
    )
    broken, warnings = len(audit.broken), len(audit.warnings)
    yield f"labels: {broken:,} broken, {warnings:,} warning{'s' * (warnings != 1)}"


def _findings(audit: AuditRecord) -> Iterator[str]:
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


def chunkings_table(chunkings: Sequence[ChunkingAudit]) -> Table:
    """Return what each chunker does to the labels, a column a chunker."""
    columns = [_column(chunking) for chunking in chunkings]
    rows: list[tuple[str, ...]] = []
    for number, (title, _) in enumerate(columns[0]):
        if number in (_FIRST_PLACEMENT, _FIRST_PLACEMENT + len(PLACEMENTS)):
            rows.append(())
        rows.append((title, *(column[number][1] for column in columns)))
    return table_of(("", *map(_name, chunkings)), rows)


def _name(chunking: ChunkingAudit) -> str:
    """Return a chunker's name without the unit that it has when none is given."""
    return chunking.name.removesuffix(":characters")


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


def foot_lines(audit: AuditRecord) -> Iterator[str]:
    """Yield what the figures of the chunkers mean."""
    yield f"attainable recall: the most that any retriever could reach; match by {audit.match}, n = {audit.labelled:,}"
    if any(chunking.read_in_part is not None for chunking in audit.chunkings):
        yield "read in part: chunks with more tokens than the embedding model minilm reads"
    if any(not each.exact for chunking in audit.chunkings for each in chunking.attainable):
        yield "≤ an upper bound: too many chunks bear on a query to try every choice"
