"""What every chunker does, and what the chunkers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from raglift.errors import ConfigurationError
from raglift.records import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raglift.records import Document

__all__ = ["UNITS", "Chunker", "Span", "Unit", "check_sizes", "chunks_at"]

Unit: TypeAlias = Literal["characters", "tokens"]
UNITS: tuple[Unit, ...] = ("characters", "tokens")
"""What sizes and overlaps can be counted in."""

Span: TypeAlias = tuple[int, int]
"""The first character of a piece, and one past its last."""


@runtime_checkable
class Chunker(Protocol):
    """Splits documents; its `str()` says how."""

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Return the chunks of each document in order, each with the offsets at which its text stands."""
        ...

    def __str__(self) -> str: ...


def check_sizes(size: int, overlap: int, unit: Unit) -> None:
    """Check a chunk size and an overlap.

    Raises:
        ConfigurationError: the size is not positive, or the overlap not in [0, size).
    """
    if type(size) is not int or size < 1:
        raise ConfigurationError(f"chunk size: found {size!r}; expected 1 or more {unit}")
    if type(overlap) is not int or not 0 <= overlap < size:
        raise ConfigurationError(
            f"chunk overlap: found {overlap!r}; expected 0 or more and less than the chunk size {size}"
        )


def chunks_at(document: Document, spans: Iterable[Span]) -> Iterator[Chunk]:
    """Yield the chunks of a document; their ids are the document's id and the offsets.

    Where the same place comes twice in a row it is one chunk: an id stands for one place.

    Args:
        document: what is split.
        spans: where its pieces are, in order of their starts and of their ends.
    """
    previous: Span | None = None
    for span in spans:
        if span != previous:
            start, end = previous = span
            chunk_id = f"{document.id}:{start}-{end}"
            yield Chunk(document.text[start:end], id=chunk_id, doc_id=document.id, start=start, end=end)
