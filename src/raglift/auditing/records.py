"""The result of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from raglift.rendering.presenting import Presentable
from raglift.types.labels import PEOPLE, LabelSources

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal[
    "unresolved",
    "nowhere",
    "duplicate fact",
    "missing chunk",
    "inexact",
    "several places",
    "short",
    "overlap",
    "unanswerable",
]
"""What can be said of a label."""

KINDS: dict[Kind, tuple[Literal["broken", "warning"], str]] = {
    "unresolved": ("broken", "it does not resolve in this text, and is left out"),
    "nowhere": ("broken", "its text occurs nowhere in the documents"),
    "duplicate fact": ("broken", "two facts of a question are the same"),
    "missing chunk": ("broken", "no chunk has the id that it names"),
    "inexact": ("warning", "the document has its words in another form"),
    "several places": ("warning", "its text occurs several times, and only one place may be meant"),
    "short": ("warning", "under 20 characters, so that it may occur in many chunks by chance"),
    "overlap": ("warning", "it shares text with another fact of its question, so that one hit may satisfy both"),
    "unanswerable": ("warning", "a fact of a question that is said not to be answerable, and is not scored"),
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
    """Which one, such as `relevant[0]`, or `relevant[1][0]` for an alternative."""
    text: str
    """The label's text, or the chunk id that it names."""
    detail: str
    """What was found, in a sentence."""
    places: tuple[Place, ...] = ()
    """Where the text is, the first few."""
    nearest: Nearest | None = None
    """For a text that occurs nowhere: what it may have been meant to be."""
    around: tuple[str, ...] = ()
    """For each of the first places, or for the nearest, the document, line and characters, and the text around it."""

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

    def count(self, placement: str) -> int:
        """Return how many passages lie so."""
        return self.placements.count(placement)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Presentable):
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

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that break a label."""
        return tuple(finding for finding in self.findings if finding.is_broken)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The other findings."""
        return tuple(finding for finding in self.findings if not finding.is_broken)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a finding.

        Columns: `query_id`, `where`, `severity` (broken or warning), `kind`, `text`, `detail`, `places` (how many),
        `doc_id`, `start`, `end` (of the first place, or of the nearest), `nearest`, `likeness`.
        """
        import pandas as pd

        columns = ("query_id", "where", "severity", "kind", "text", "detail", "places", "doc_id", "start", "end")
        rows: list[list[Any]] = []
        for finding in self.findings:
            near = finding.nearest
            place = finding.places[0] if finding.places else near.place if near else None
            row: list[Any] = [
                finding.query_id,
                finding.where,
                KINDS[finding.kind][0],
                finding.kind,
                finding.text,
                finding.detail,
            ]
            row += [len(finding.places), *((place.doc_id, place.start, place.end) if place else (None, None, None))]
            rows.append([*row, *((near.text, near.likeness) if near else (None, None))])
        frame = pd.DataFrame(rows, columns=[*columns, "nearest", "likeness"])
        return frame.astype({"places": "int64", "start": "Int64", "end": "Int64", "likeness": "float64"})
