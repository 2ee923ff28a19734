"""Documents to chunks, always with offsets into the document's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError, MissingDependency
from raglift.records import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["RecursiveChunker", "located_chunks"]


@dataclass(frozen=True)
class RecursiveChunker:
    """LangChain's `RecursiveCharacterTextSplitter`, counted in characters.

    Raises:
        ConfigurationError: the size is not positive, or the overlap not in [0, size).
    """

    size: int = 1000
    """The most characters in a chunk."""
    overlap: int = 100
    """The most characters that neighbours share."""

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigurationError(f"chunk size: found {self.size}; expected 1 or more characters")
        if not 0 <= self.overlap < self.size:
            raise ConfigurationError(
                f"chunk overlap: found {self.overlap}; expected 0 or more and less than the chunk size {self.size}"
            )

    def __str__(self) -> str:
        return f"recursive {self.size}/{self.overlap} characters"

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document; chunk ids are the document's id and the chunk's offsets.

        Raises:
            MissingDependency: langchain-text-splitters is not installed.
        """
        try:
            from langchain_text_splitters import RecursiveCharacterTextSplitter
        except ImportError:
            raise MissingDependency("langchain_text_splitters", "local", "splitting documents") from None
        splitter = RecursiveCharacterTextSplitter(chunk_size=self.size, chunk_overlap=self.overlap)
        return tuple(
            chunk
            for document in documents
            for chunk in located_chunks(document, splitter.split_text(document.text), self.overlap)
        )


def located_chunks(document: Document, texts: Sequence[str], overlap: int) -> list[Chunk]:
    """Find consecutive pieces of a document in its text.

    A piece is looked for from where the one before it could at the earliest overlap it, then anywhere from the
    start of the one before; only a longer piece may begin where the one before began. One that is not found (a
    splitter that changes text) gets no offsets.

    Args:
        document: where the pieces come from.
        texts: the pieces, in the order in which they begin.
        overlap: the most characters that neighbours share.
    """
    chunks = []
    start, end = 0, 0
    for text in texts:
        earliest = start if len(text) > end - start else start + 1
        found = document.text.find(text, max(earliest, end - overlap))
        if found < 0:
            found = document.text.find(text, earliest)
        if found < 0:
            chunks.append(Chunk(text, doc_id=document.id))
            continue
        start, end = found, found + len(text)
        chunks.append(Chunk(text, id=f"{document.id}:{start}-{end}", doc_id=document.id, start=start, end=end))
    return chunks
