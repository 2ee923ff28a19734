"""The spans of a trace: as a file or exporter has them, what a convention reads in them, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raglift.tracing.decoding import SpanColumns
    from raglift.types.documents import Chunk


class Kind(StrEnum):
    """What a span stands for."""

    AGENT = "agent"
    CHAIN = "chain"
    MODEL = "model"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    TOOL = "tool"
    EMBEDDING = "embedding"
    OTHER = "other"


SEARCHES = (Kind.RETRIEVER, Kind.RERANKER)
"""The kinds of spans that search by themselves."""
STEPS = (Kind.AGENT, Kind.CHAIN)
"""The kinds of spans whose input may be the user's question."""
ScoredChunks = tuple[tuple["Chunk", float | None], ...]
"""Chunks with their scores, best first."""


@dataclass(frozen=True)
class RawSpan:
    """A span as it was exported, whatever convention its attributes follow."""

    trace_id: str
    """Shared by all spans of a trace."""
    span_id: str
    """Unique within its trace."""
    parent_id: str | None
    """The span in which this one began; None for the root."""
    name: str
    """What the instrumentation calls it."""
    start: int | None
    """When it began, in nanoseconds since 1970; None where that is not known."""
    end: int | None
    """When it ended, in nanoseconds since 1970; None where that is not known."""
    error: str | None
    """What its status says if it failed; else None."""
    attributes: Mapping[str, Any]
    """Its attributes by name."""
    where: str
    """The file, and the line or index, for messages."""
    dropped: int = 0
    """How many attributes the exporter left out because there were too many."""


@dataclass(frozen=True)
class Span:
    """What a convention reads in a span. Texts that may be long are read from their JSON when they are asked for."""

    raw: RawSpan
    """The span without its attributes."""
    kind: Kind
    """What it stands for."""
    question: Callable[[], str | None] = field(default=lambda: None, compare=False)
    """Returns the text that it was given: a question, or what is searched for."""
    documents: ScoredChunks | None = None
    """What it returned, best first; None where that is not known, or where it returns no documents."""
    candidates: ScoredChunks | None = None
    """What a reranker was given; None where that is not known."""
    prompt: tuple[str, ...] | None = None
    """The texts of the messages that a language model was given; None where they are not known."""
    tool: str = ""
    """The name of a tool."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What a tool was given."""
    answer: Callable[[], str | None] = field(default=lambda: None, compare=False)
    """Returns what a tool answered, as a text."""
    prompt_tokens: int | None = None
    """The tokens that a language model was given."""
    answer_tokens: int | None = None
    """The tokens that a language model answered."""
    labels: tuple[str, ...] = ()
    """The values by which the trace may be joined to a query by id."""
    lost: str = ""
    """Why its documents or messages are not complete; empty where they are."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None where that is not known."""
        if self.raw.start is None or self.raw.end is None:
            return None
        return (self.raw.end - self.raw.start) / 1e9


def keys_of(documents: ScoredChunks) -> list[tuple[str, str]]:
    """Return what documents of several spans are compared by: the id where the framework gave one, and the text."""
    return [(chunk.id if chunk.has_own_id else "", chunk.text) for chunk, _ in documents]


@dataclass(frozen=True)
class Options:
    """How spans are read."""

    join_by: str | None = None
    """The attribute, field of the metadata, or tag that holds the id of a labelled query."""
    doc_key: str | None = None
    """The key of a hit's metadata that holds the id of its document."""
    columns: SpanColumns | None = None
    """For rows of a tool's own export, in which column each part of a span is."""
