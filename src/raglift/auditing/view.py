"""What is shown of an audit: its findings, and what each chunker does to the labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from raglift.auditing.records import KINDS, PLACEMENTS, Audit, ChunkingAudit, Finding, Kind
from raglift.rendering.document import Cell, Column, Detail, Document, Entry, Section, table_across, table_from
from raglift.rendering.presenting import view_of, whole
from raglift.report.format import number_text, percent_text
from raglift.utilities.display import counted
from raglift.utilities.validation import quoted

_SHOWN = 20
"""As many findings of a kind are shown."""
_CHUNKING = "What chunking does to the labels"
_PLACED = {
    "inside": "passages inside a chunk",
    "straddling": "passages split across chunks",
    "in pieces": "passages split into pieces",
    "missing": "passages missing",
}


def audit_view(audit: Audit, *, most: int = _SHOWN) -> Document:
    """Return what is shown of an audit: at most so many findings of each kind."""
    by_kind = _by_kind(audit)
    return Document(
        title=(
            f"{audit.dataset}: {counted(audit.queries, 'question')} ({audit.labelled:,} labelled), "
            f"{counted(audit.facts, 'fact')}, {counted(audit.passages, 'passage')}, "
            f"{counted(audit.documents, 'document')}"
        ),
        lead=_lead(audit),
        headline=table_from(_KINDS, list(by_kind.items()), "Faults by kind"),
        measured=(),
        warnings=audit.notes,
        sections=tuple(_sections(audit, by_kind, most)),
        labels=str(audit.label_sources),
        printed=Detail.DETAILS,
    )


def faults_view(source: str, faults: Sequence[str]) -> Document:
    """Return what is shown of labels that cannot be read."""
    lead = f"{counted(len(faults), 'fault')} in {source}: nothing else was checked."
    nothing = table_from(_KINDS, [], "")
    return Document(
        f"{source}: labels", lead, nothing, (), sections=(Section("Faults", entries=tuple(map(Entry, faults))),)
    )


def _lead(audit: Audit) -> str:
    """Return how many questions have labels that no chunk can match, and what else is wrong."""
    if not (audit.facts or audit.findings):
        return "No question has a label."
    unmatched = len({one.query_id for one in audit.findings if one.kind in _UNMATCHED})
    twice = len({one.query_id for one in audit.broken if one.kind not in _UNMATCHED})
    have = "has" if unmatched == 1 else "have"
    said = [f"{unmatched:,} of {counted(audit.queries, 'question')} {have} a label that no chunk can match"] * bool(
        unmatched
    )
    said += [f"{counted(twice, 'question')} with the same fact twice"] * bool(twice)
    if not audit.documents:
        said += ["Whether the labels can be matched is not known: there are no documents"]
    broken = "; ".join(said) or f"No label of {counted(audit.queries, 'question')} is broken"
    return f"{broken}; {counted(len(audit.warnings), 'warning')}."


_UNMATCHED = ("unresolved", "nowhere", "missing chunk")
_MENDS: dict[Kind, str] = {
    "unresolved": "Correct the label, so that it names text of the document as it is now.",
    "nowhere": "Quote the document as it is now: replace the text of the label, or remove the label.",
    "duplicate fact": "Remove one of the two facts.",
    "missing chunk": "Name the id of a chunk of this index, or label the text itself.",
    "inexact": "Nothing has to be done; to quote the document exactly, replace the text by what was found.",
    "several places": "If one place is meant, quote more words, or name the document and the position.",
    "short": "Quote more words around it.",
    "overlap": "Make them alternatives of one fact, or shorten one of them.",
    "unanswerable": "Remove the fact, or the mark that the question is not answerable.",
}
"""What to do about each kind of finding."""


# The findings, by kind and one by one.


_Group = tuple["Kind", list["Finding"]]


def _by_kind(audit: Audit) -> dict[Kind, list[Finding]]:
    """Return the findings of each kind, those that break a label first."""
    order = list(KINDS)
    found = sorted(audit.findings, key=lambda finding: order.index(finding.kind))
    return {kind: list(group) for kind, group in groupby(found, key=lambda finding: finding.kind)}


def _severity(group: _Group) -> Cell:
    severity, _ = KINDS[group[0]]
    return Cell(severity, "worse" if severity == "broken" else "")


_KINDS: tuple[Column[_Group], ...] = (
    Column("finding", lambda group: group[0], words=True),
    Column("severity", _severity, words=True),
    Column("labels", lambda group: f"{len(group[1]):,}"),
    Column("what it means", lambda group: KINDS[group[0]][1], words=True),
)


def _sections(audit: Audit, by_kind: dict[Kind, list[Finding]], most: int) -> Iterator[Section]:
    for kind, findings in by_kind.items():
        # Labels that are left out are nowhere else
        limit = len(findings) if kind == "unresolved" else most
        left = len(findings) - limit
        more = (Entry(f"… and {left:,} more (all of them with --json, or in to_frame())"),) if left > 0 else ()
        yield Section(
            f"{KINDS[kind][0].capitalize()}: {kind} ({len(findings):,})",
            (f"Mend: {_MENDS[kind]}",),
            entries=(*map(_entry, findings[:limit]), *more),
            detail=Detail.SUMMARY if KINDS[kind][0] == "broken" else Detail.DETAILS,
        )
    if audit.chunkings:
        table = table_across(_measures(audit), audit.chunkings, _name, _CHUNKING)
        yield Section(_CHUNKING, tuple(_explained(audit)), (table,))


def _entry(finding: Finding) -> Entry:
    text = f"{quoted(finding.query_id)} {finding.where}: {quoted(finding.text)}: {finding.detail}"
    below = [f"in {around}" for around in finding.around]
    if finding.nearest is not None:
        likeness = percent_text(finding.nearest.likeness, 0)
        below += [f"replace it by ({likeness} alike): {json.dumps(finding.nearest.text, ensure_ascii=False)}"]
    return Entry(text, tuple(map(Entry, below)))


# What each chunker does to the labels: a row for each figure, and a column for each chunker.


def _name(chunking: ChunkingAudit) -> str:
    """Return a chunker's name without the unit that it has when none is given."""
    return chunking.name.removesuffix(":characters")


def _measures(audit: Audit) -> Iterator[Column[ChunkingAudit] | None]:
    """Yield the figures of a chunker; None for a line between them."""
    yield Column("chunks", lambda chunking: f"{chunking.chunks:,}")
    yield Column("mean length", lambda chunking: number_text(chunking.mean_length, 0))
    yield Column(
        "truncated chunks", lambda chunking: "–" if chunking.read_in_part is None else f"{chunking.read_in_part:,}"
    )
    yield None
    for placement in PLACEMENTS:
        yield Column(_PLACED[placement], lambda chunking, placement=placement: f"{chunking.count(placement):,}")  # type: ignore[misc]
    yield None
    for number, each in enumerate(audit.chunkings[0].attainable):
        yield Column(f"recall ceiling@{each.k}", partial(_recall_text, number))


def _recall_text(number: int, chunking: ChunkingAudit) -> str:
    attainable = chunking.attainable[number]
    recall = number_text(attainable.recall)
    return recall if attainable.exact else f"≤ {recall}"


def _explained(audit: Audit) -> Iterator[str]:
    """Yield what the figures of the chunkers mean."""
    yield (
        f"Recall ceiling: the best that any retriever could score with these chunks; match by {audit.match}, "
        f"n = {audit.labelled:,}."
    )
    if any(chunking.read_in_part is not None for chunking in audit.chunkings):
        yield "Truncated chunks: those with more tokens than the embedding model bge-small reads."
    if any(not each.exact for chunking in audit.chunkings for each in chunking.attainable):
        yield "≤ An upper bound: too many chunks bear on a question to try every choice."


view_of.register(Audit, whole(audit_view))
