"""Plain windows of tokens, wherever they fall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.chunking.encodings import DEFAULT_ENCODING, load_encoding
from raglift.chunking.protocol import check_sizes, chunks_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from raglift.chunking.protocol import Span
    from raglift.records import Chunk, Document

__all__ = ["TokenChunker"]


@dataclass(frozen=True)
class TokenChunker:
    """Windows of `size` tokens, one every `size - overlap`; the last is the first that reaches the end.

    These are the windows of LangChain's `TokenTextSplitter` and of Chroma's `FixedTokenChunker`, but for one thing:
    where an edge falls inside a character of several tokens (an emoji, a rare letter), the character belongs whole to
    the window that ends there, and the window that begins there begins after it. A window that is left without a
    character, or with the characters of the one before, is left out.

    Raises:
        ConfigurationError: the size is not positive, or the overlap not in [0, size).
    """

    size: int = 250
    """How many tokens a chunk has; the last may have fewer."""
    overlap: int = 0
    """How many tokens neighbours share."""
    encoding: str = DEFAULT_ENCODING
    """The tiktoken encoding that the tokens are of."""

    def __post_init__(self) -> None:
        check_sizes(self.size, self.overlap, "tokens")

    def __str__(self) -> str:
        named = "" if self.encoding == DEFAULT_ENCODING else f":tokens:{self.encoding}"
        return f"token:{self.size}/{self.overlap}{named}"

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document; chunk ids are the document's id and the chunk's offsets.

        Raises:
            MissingDependency: tiktoken is not installed.
            ConfigurationError: the encoding is unknown, or its file is not at hand.
        """
        encoding = load_encoding(self.encoding)
        return tuple(
            chunk
            for document in documents
            for chunk in chunks_at(document, self._windows(encoding.edges(document.text)))
        )

    def _windows(self, edges: Sequence[int]) -> Iterator[Span]:
        """Yield the windows over tokens between given edges: one more edge than tokens, in characters."""
        tokens = len(edges) - 1
        for first in range(0, tokens, self.size - self.overlap):
            last = min(first + self.size, tokens)
            if edges[first] < edges[last]:
                yield edges[first], edges[last]
            if last == tokens:
                return
