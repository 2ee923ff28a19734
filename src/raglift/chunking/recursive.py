"""Split at paragraphs, lines, words, characters: at the first that makes the pieces small enough."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from raglift.chunking.encodings import DEFAULT_ENCODING, load_encoding
from raglift.chunking.protocol import UNITS, check_sizes, chunks_at
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from raglift.chunking.protocol import Span, Unit
    from raglift.records import Chunk, Document

__all__ = ["SEPARATORS", "RecursiveChunker"]

SEPARATORS = ("\n\n", "\n", " ", "")
"""Where LangChain's splitter cuts by default; the empty one cuts between characters."""


@dataclass(frozen=True)
class RecursiveChunker:
    """LangChain's `RecursiveCharacterTextSplitter`, with the place of every chunk.

    LangChain returns texts, and a text that the document repeats cannot be located afterwards; so its algorithm
    (separators kept at the start of what follows them, white space stripped) is followed here on offsets. The chunks
    are LangChain's, with one difference: where it returns the same place twice in a row, there is one chunk.

    Sizes add up those of the pieces that a chunk is put together from; the text that is put together may have a few
    tokens more, three on 1.4 million characters of real text. A piece that holds none of the separators is kept whole
    however long it is, so only separators that end with the empty one bound every chunk.

    Raises:
        ConfigurationError: a size, overlap, unit or list of separators that makes no sense.
    """

    size: int = 1000
    """The most characters or tokens in a chunk."""
    overlap: int = 100
    """The most characters or tokens that neighbours share."""
    unit: Unit = "characters"
    """What size and overlap count: one of `UNITS`."""
    separators: tuple[str, ...] | None = None
    """Where to cut, the best places first; by default `SEPARATORS`."""
    encoding: str = DEFAULT_ENCODING
    """The tiktoken encoding that tokens are counted in."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ConfigurationError(f"chunk unit: found {self.unit!r}; expected one of {', '.join(UNITS)}")
        check_sizes(self.size, self.overlap, self.unit)
        if self.unit == "characters" and self.encoding != DEFAULT_ENCODING:
            raise ConfigurationError(
                f"encoding: found {self.encoding!r} for chunks counted in characters; expected it with unit='tokens'"
            )
        if self.separators is not None:
            object.__setattr__(self, "separators", _checked(self.separators))

    def __str__(self) -> str:
        named = "" if self.encoding == DEFAULT_ENCODING else f":{self.encoding}"
        own = "" if self.separators in (None, SEPARATORS) else f" at {', '.join(map(repr, self.separators or ()))}"
        return f"recursive:{self.size}/{self.overlap}:{self.unit}{named}{own}"

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document; chunk ids are the document's id and the chunk's offsets.

        Raises:
            MissingDependency: tiktoken is not installed, and tokens are to be counted.
            ConfigurationError: the encoding is unknown, or its file is not at hand.
        """
        length = len if self.unit == "characters" else load_encoding(self.encoding).count
        separators = self.separators or SEPARATORS
        return tuple(
            chunk
            for document in documents
            for chunk in chunks_at(document, _Splitting(document.text, self.size, self.overlap, length).run(separators))
        )


def _checked(separators: Sequence[str]) -> tuple[str, ...]:
    found: object = separators
    if not isinstance(found, (list, tuple)) or not found or not all(isinstance(mark, str) for mark in found):
        raise ConfigurationError(
            f"separators: found {found!r}; expected texts, the best places to cut first, as {SEPARATORS!r}"
        )
    return tuple(found)


@dataclass(frozen=True)
class _Splitting:
    """One text being split."""

    text: str
    size: int
    overlap: int
    length: Callable[[str], int]

    def run(self, separators: tuple[str, ...]) -> Iterator[Span]:
        return self._split((0, len(self.text)), separators)

    def _split(self, span: Span, separators: tuple[str, ...]) -> Iterator[Span]:
        """Yield the chunks of a span: what is small enough is merged, what is not is cut at the next separators."""
        separator, finer = self._choose(span, separators)
        small: list[tuple[Span, int]] = []
        for piece in self._cut(span, separator):
            length = self.length(self.text[slice(*piece)])
            if length < self.size:
                small.append((piece, length))
                continue
            yield from self._merge(small)
            small = []
            if finer:
                yield from self._split(piece, finer)
            else:
                yield piece
        yield from self._merge(small)

    def _choose(self, span: Span, separators: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """Return the first separator that the span holds, or else the last one, and those after it."""
        for index, separator in enumerate(separators):
            if not separator:
                return "", ()
            if self.text.find(separator, *span) >= 0:
                return separator, separators[index + 1 :]
        return separators[-1], ()

    def _cut(self, span: Span, separator: str) -> Iterator[Span]:
        """Cut a span before each separator in it, so that its pieces leave nothing out."""
        start, end = span
        if not separator:
            return pairwise(range(start, end + 1))
        cuts = [start]
        found = self.text.find(separator, start, end)
        while found >= 0:
            cuts.append(found)
            found = self.text.find(separator, found + len(separator), end)
        return (piece for piece in pairwise([*cuts, end]) if piece[0] < piece[1])

    def _merge(self, pieces: list[tuple[Span, int]]) -> Iterator[Span]:
        """Yield chunks of neighbouring pieces, each as long as may be, that begin with the end of the one before."""
        window: deque[tuple[Span, int]] = deque()
        total = 0
        for piece, length in pieces:
            if window and total + length > self.size:
                yield from self._stripped(window[0][0][0], window[-1][0][1])
                while total > self.overlap or (total and total + length > self.size):
                    total -= window.popleft()[1]
            window.append((piece, length))
            total += length
        if window:
            yield from self._stripped(window[0][0][0], window[-1][0][1])

    def _stripped(self, start: int, end: int) -> Iterator[Span]:
        """Yield a span without the white space at its ends, unless nothing is left of it."""
        inner = self.text[start:end]
        start += len(inner) - len(inner.lstrip())
        inner = inner.strip()
        if inner:
            yield start, start + len(inner)
