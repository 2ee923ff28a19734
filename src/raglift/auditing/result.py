"""Results of an audit, and their display."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from raglift.base.validation import quoted
from raglift.records.labels import PEOPLE, LabelSources
from raglift.rendering.document import Cell, Detail, Document, Section, Table, row_of, table_of
from raglift.report.format import labels_line
from raglift.report.presenting import text_of, view_of, whole
from raglift.report.terminal.rendering import WIDTH, as_text, write
from raglift.results.analyses import Presentable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from rich.console import Console

    from raglift.rendering.document import Part


# Results of an audit, as frozen records.


Kind = Literal[
    "unresolved",
    "nowhere",
    "duplicate fact",
    "missing chunk",
    "inexact",
    "several places",
    "short",
    "duplicate alternative",
    "overlap",
    "unanswerable",
]
"""What can be said of a label."""

KINDS: dict[Kind, tuple[Literal["broken", "warning"], str]] = {
    "unresolved": ("broken", "it does not resolve in this text, and is left out"),
    "nowhere": ("broken", "its text occurs nowhere in the documents"),
    "duplicate fact": ("broken", "two facts of a query are the same"),
    "missing chunk": ("broken", "no chunk has the id that it names"),
    "inexact": ("warning", "the document has its words in another form"),
    "several places": ("warning", "its text occurs several times, and only one place may be meant"),
    "short": ("warning", "under 20 characters, so that it may occur in many chunks by chance"),
    "duplicate alternative": ("warning", "a fact has the same alternative twice"),
    "overlap": ("warning", "it shares text with another fact of its query, so that one hit may satisfy both"),
    "unanswerable": ("warning", "a fact of a query that is said not to be answerable, and is not scored"),
}
"""Each kind of finding: whether a label is broken by it, and what it means."""

PLACEMENTS = ("inside", "straddling", "in pieces", "missing")
"""How a passage lies in the chunks: inside one of them; across the ends of several; longer than chunks, so that some
lie inside it; in none."""


@dataclass(frozen=True)
class Place:
    """A location in a document."""

    doc_id: str
    """The document."""
    start: int
    """First character in its text."""
    end: int
    """One past the last."""


@dataclass(frozen=True)
class Nearest:
    """What in the documents is most like a text that occurs nowhere."""

    place: Place
    """Where it is."""
    text: str
    """The text found there."""
    likeness: float
    """From 0 to 1: rapidfuzz's partial ratio of the normalized texts."""


@dataclass(frozen=True)
class Finding:
    """One thing to know about one label."""

    kind: Kind
    """What it is."""
    query_id: str
    """Whose label it is."""
    where: str
    """Which one, as `relevant[0]`, or `relevant[1][0]` for an alternative."""
    text: str
    """The label's text, or the chunk id that it names."""
    detail: str
    """What was found, in a sentence."""
    places: tuple[Place, ...] = ()
    """Where the text is, the first few."""
    nearest: Nearest | None = None
    """For a text that occurs nowhere: what it may have been meant to be."""

    @property
    def is_broken(self) -> bool:
        """Whether the label cannot measure what it should."""
        return KINDS[self.kind][0] == "broken"


@dataclass(frozen=True)
class Attainable:
    """The best recall that any retriever could reach."""

    k: int
    """At which depth."""
    recall: float
    """The mean over labelled queries; NaN when there are none."""
    exact: bool
    """False for an upper bound, shown as ≤."""


@dataclass(frozen=True)
class ChunkingAudit:
    """What one way of chunking does to the labels."""

    name: str
    """The chunker, or `given chunks`."""
    chunks: int
    """How many there are."""
    mean_length: float
    """In characters; NaN when there are none."""
    read_in_part: int | None
    """How many are longer than the embedding model reads; None when that is not known."""
    placements: tuple[str, ...]
    """For each passage of the labelled queries, in their order, one of `PLACEMENTS`."""
    attainable: tuple[Attainable, ...]
    """At each depth."""
    attainable_beside: tuple[Attainable, ...] = ()
    """At each depth by the other rule: containment beside coverage, and the other way round."""

    def count(self, placement: str) -> int:
        """Return how many passages lie so."""
        return self.placements.count(placement)


@dataclass(frozen=True)
class AuditRecord:
    """What is wrong with the labels of a dataset, and what chunking does to them."""

    dataset: str
    """Its name."""
    queries: int
    labelled: int
    """How many of the queries can be scored."""
    facts: int
    """Of the labelled queries."""
    passages: int
    """Of the labelled queries."""
    documents: int
    match: str
    """The match rule of the attainable recall, in words."""
    findings: tuple[Finding, ...]
    """What is not resolved as the labels say; then by query, in dataset order."""
    chunkings: tuple[ChunkingAudit, ...] = ()
    """One a chunker."""
    notes: tuple[str, ...] = ()
    """What could not be looked into."""
    label_sources: LabelSources = PEOPLE
    """Who gave the labels."""
    match_beside: str = ""
    """The other match rule, of `attainable_beside`, in words."""

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that break a label."""
        return tuple(finding for finding in self.findings if finding.is_broken)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The other findings."""
        return tuple(finding for finding in self.findings if not finding.is_broken)


# Audits as text for a terminal.


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
        yield chunkings_table(chunkings, audit.match_beside)
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
        # Labels that are left out are nowhere else
        shown = len(findings) if kind == "unresolved" else _SHOWN
        for finding in findings[:shown]:
            yield from _lines(finding)
        if len(findings) > shown:
            yield f"  … and {len(findings) - shown:,} more (all of them with --json, or in to_frame())"


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


def chunkings_table(chunkings: Sequence[ChunkingAudit], beside: str = "") -> Table:
    """Return what each chunker does to the labels, a column a chunker.

    Args:
        chunkings: the chunkers.
        beside: the other match rule, in words.
    """
    columns = [_column(chunking, beside) for chunking in chunkings]
    first_beside = len(columns[0]) - len(chunkings[0].attainable_beside)
    rows: list[tuple[str, ...]] = []
    for number, (title, _) in enumerate(columns[0]):
        if number in (_FIRST_PLACEMENT, _FIRST_PLACEMENT + len(PLACEMENTS), first_beside):
            rows.append(())
        rows.append((title, *(column[number][1] for column in columns)))
    return table_of(("", *map(_name, chunkings)), rows)


def _name(chunking: ChunkingAudit) -> str:
    """Return a chunker's name without the unit that it has when none is given."""
    return chunking.name.removesuffix(":characters")


def _column(chunking: ChunkingAudit, beside: str) -> list[tuple[str, str]]:
    """Return the titles and cells of one chunker."""
    length = "–" if math.isnan(chunking.mean_length) else f"{chunking.mean_length:,.0f}"
    read_in_part = "–" if chunking.read_in_part is None else f"{chunking.read_in_part:,}"
    cells = [("chunks", f"{chunking.chunks:,}"), ("mean length", length), ("read in part", read_in_part)]
    cells += [(f"passages {placement}", f"{chunking.count(placement):,}") for placement in PLACEMENTS]
    cells += [(f"attainable recall@{each.k}", _recall_text(each)) for each in chunking.attainable]
    mode = beside.partition(" ")[0]
    return cells + [(f"by {mode} @{each.k}", _recall_text(each)) for each in chunking.attainable_beside]


def _recall_text(attainable: Attainable) -> str:
    recall = "–" if math.isnan(attainable.recall) else f"{attainable.recall:.3f}"
    return recall if attainable.exact else f"≤ {recall}"


def foot_lines(audit: AuditRecord) -> Iterator[str]:
    """Yield what the figures of the chunkers mean."""
    beside = f"; below it by {audit.match_beside}" if audit.match_beside else ""
    n = f"n = {audit.labelled:,}"
    yield f"attainable recall: the most that any retriever could reach; match by {audit.match}{beside}, {n}"
    if any(chunking.read_in_part is not None for chunking in audit.chunkings):
        yield "read in part: chunks with more tokens than the embedding model minilm reads"
    if any(not each.exact for chunking in audit.chunkings for each in chunking.attainable):
        yield "≤ an upper bound: too many chunks bear on a query to try every choice"


# Summary of an audit: the findings by kind, and the effect of chunking on the labels.


def audit_summary(audit: AuditRecord) -> Document:
    """Return a summary of an audit."""
    first, second = head_lines(audit)
    counts = Counter(finding.kind for finding in audit.findings)
    rows = [
        row_of((kind, Cell(severity, "worse" if severity == "broken" else ""), meaning, f"{counts[kind]:,}"))
        for kind, (severity, meaning) in KINDS.items()
        if counts[kind]
    ]
    sections = [_summary_findings(audit)] if audit.findings else []
    if audit.chunkings:
        sections.append(
            Section("Chunkers", tuple(foot_lines(audit)), (chunkings_table(audit.chunkings, audit.match_beside),))
        )
    headline = Table(
        "Findings by kind", ("finding", "", "what it means", "labels"), tuple(rows), text_columns=(0, 1, 2)
    )
    return Document(
        first, second, headline, (), notes=audit.notes, sections=tuple(sections), labels=str(audit.label_sources)
    )


def _summary_findings(audit: AuditRecord) -> Section:
    """Return the findings one by one, folded, those that break a label first."""
    ordered = (*audit.broken, *audit.warnings)
    rows = [
        row_of((finding.query_id, finding.where, finding.kind, finding.text, finding.detail))
        for finding in ordered[:_SHOWN]
    ]
    left = len(ordered) - len(rows)
    said = (f"and {left:,} more: all of them are in to_frame()",) if left else ()
    table = Table(
        "Findings", ("query", "label", "finding", "text", "detail"), tuple(rows), text_columns=(0, 1, 2, 3, 4)
    )
    return Section(f"Findings: {len(ordered):,}", said, (table,), detail=Detail.DETAILS)


# The public result of an audit: as text, as a summary, and as pandas frames.


text_of.register(AuditRecord, audit_text)
view_of.register(AuditRecord, whole(audit_summary))


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Presentable, AuditRecord):
    """What is wrong with the labels of a dataset, and what chunking does to them."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row a finding.

        Columns: `query_id`, `where`, `severity` (broken or warning), `kind`, `text`, `detail`, `places` (how many),
        `doc_id`, `start`, `end` (of the first place, or of the nearest), `nearest`, `likeness`.
        """
        return _findings_frame(self)

    def chunkings_to_frame(self) -> pd.DataFrame:
        """Return one row a chunker.

        Columns: `chunker`, `chunks`, `mean_length`, `read_in_part`, one for each of `PLACEMENTS`, `recall@k` and
        `exact@k` for each k, and the same by the other match rule, as `recall@k by containment`.
        """
        return _chunkings_frame(self)


def _findings_frame(audit: AuditRecord) -> pd.DataFrame:
    import pandas as pd

    columns = ("query_id", "where", "severity", "kind", "text", "detail", "places", "doc_id", "start", "end")
    frame = pd.DataFrame(
        [_finding_row(finding) for finding in audit.findings], columns=[*columns, "nearest", "likeness"]
    )
    return frame.astype({"places": "int64", "start": "Int64", "end": "Int64", "likeness": "float64"})


def _finding_row(finding: Finding) -> dict[str, Any]:
    near = finding.nearest
    place = finding.places[0] if finding.places else near.place if near else None
    return {
        "query_id": finding.query_id,
        "where": finding.where,
        "severity": KINDS[finding.kind][0],
        "kind": finding.kind,
        "text": finding.text,
        "detail": finding.detail,
        "places": len(finding.places),
        "doc_id": place.doc_id if place else None,
        "start": place.start if place else None,
        "end": place.end if place else None,
        "nearest": near.text if near else None,
        "likeness": near.likeness if near else None,
    }


def _chunkings_frame(audit: AuditRecord) -> pd.DataFrame:
    import pandas as pd

    columns = ["chunker", "chunks", "mean_length", "read_in_part", *PLACEMENTS]
    rows = [_chunking_row(chunking, audit.match_beside.partition(" ")[0]) for chunking in audit.chunkings]
    frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
    return frame.astype({"read_in_part": "Int64"})


def _chunking_row(chunking: ChunkingAudit, beside: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "chunker": chunking.name,
        "chunks": chunking.chunks,
        "mean_length": chunking.mean_length,
        "read_in_part": chunking.read_in_part,
    }
    row |= {placement: chunking.count(placement) for placement in PLACEMENTS}
    for attainable in chunking.attainable:
        row |= {f"recall@{attainable.k}": attainable.recall, f"exact@{attainable.k}": attainable.exact}
    for attainable in chunking.attainable_beside:
        row |= {
            f"recall@{attainable.k} by {beside}": attainable.recall,
            f"exact@{attainable.k} by {beside}": attainable.exact,
        }
    return row
