"""An audit in short: the findings by kind, and what chunking does to the labels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from raglift.auditing.records import KINDS
from raglift.auditing.terminal import chunkings_table, foot_lines, head_lines
from raglift.rendering.document import Cell, Document, Section, Table, row_of

if TYPE_CHECKING:
    from raglift.auditing.records import AuditRecord

__all__ = ["audit_brief"]

_SHOWN = 20


def audit_brief(audit: AuditRecord) -> Document:
    """Return an audit in short."""
    first, second = head_lines(audit)
    counts = Counter(finding.kind for finding in audit.findings)
    rows = [
        row_of((kind, Cell(severity, "worse" if severity == "broken" else ""), meaning, f"{counts[kind]:,}"))
        for kind, (severity, meaning) in KINDS.items()
        if counts[kind]
    ]
    sections = [_findings(audit)] if audit.findings else []
    if audit.chunkings:
        sections.append(Section("Chunkers", tuple(foot_lines(audit)), (chunkings_table(audit.chunkings),)))
    headline = Table("Findings by kind", ("finding", "", "what it means", "labels"), tuple(rows), words=(0, 1, 2))
    return Document(
        first, second, headline, (), notes=audit.notes, sections=tuple(sections), labels=str(audit.label_sources)
    )


def _findings(audit: AuditRecord) -> Section:
    """Return the findings one by one, folded, those that break a label first."""
    ordered = (*audit.broken, *audit.warnings)
    rows = [
        row_of((finding.query_id, finding.where, finding.kind, finding.text, finding.detail))
        for finding in ordered[:_SHOWN]
    ]
    left = len(ordered) - len(rows)
    said = (f"and {left:,} more: all of them are in to_frame()",) if left else ()
    table = Table("Findings", ("query", "label", "finding", "text", "detail"), tuple(rows), words=(0, 1, 2, 3, 4))
    return Section(f"Findings: {len(ordered):,}", said, (table,), folded=True)
