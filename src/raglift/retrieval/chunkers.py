"""raglift's own chunkers: windows of tokens and recursive splitting, and how a chunker is chosen by name."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from raglift.errors import ConfigurationError
from raglift.text.tokens import DEFAULT_ENCODING, load_encoding
from raglift.types.documents import Chunk, Document
from raglift.utilities.display import short_repr

# The protocol of chunkers, and what they share.


Unit: TypeAlias = Literal["characters", "tokens"]
"""What a size or an overlap is counted in."""
UNITS: tuple[Unit, ...] = ("characters", "tokens")
"""What sizes and overlaps can be counted in."""

Span: TypeAlias = tuple[int, int]
"""The first character of a piece, and one past its last."""


@runtime_checkable
class Chunker(Protocol):
    """Splits documents; its `str()` says how."""

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Return the chunks of each document in order, each with the offsets at which its text stands."""

    def __str__(self) -> str: ...


def check_sizes(size: int, overlap: int, unit: Unit) -> None:
    """Check a chunk size and an overlap."""
    if type(size) is not int or size < 1:
        raise ConfigurationError(f"chunk size: found {size!r}; expected 1 or more {unit}")
    if type(overlap) is not int or not 0 <= overlap < size:
        raise ConfigurationError(
            f"chunk overlap: found {overlap!r}; expected 0 or more and less than the chunk size {size}"
        )


def chunks_at(document: Document, spans: Iterable[Span]) -> Iterator[Chunk]:
    """Yield the chunks of a document; their ids are the document's id and the offsets.

    Where the same location comes twice in a row it is one chunk: an id stands for one place.
    """
    previous: Span | None = None
    for span in spans:
        if span != previous:
            start, end = previous = span
            chunk_id = f"{document.id}:{start}-{end}"
            yield Chunk(document.text[start:end], id=chunk_id, doc_id=document.id, start=start, end=end)


# Fixed windows of tokens, regardless of sentence boundaries.


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


# Recursive splitting at paragraphs, lines, words or characters: the first separator that gives small enough chunks.


SEPARATORS = ("\n\n", "\n", " ", "")
"""Where LangChain's splitter cuts by default; the empty one cuts between characters."""


@dataclass(frozen=True)
class RecursiveChunker:
    """LangChain's `RecursiveCharacterTextSplitter`, with the location of every chunk.

    LangChain returns texts, and a text that the document repeats cannot be located afterwards; so its algorithm
    (separators kept at the start of what follows them, white space stripped) is followed here on offsets. The chunks
    are LangChain's, with one difference: where it returns the same location twice in a row, there is one chunk.

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
    """Separators to split at, the best first; by default `SEPARATORS`."""
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
            if isinstance(self.separators, str) or not self.separators:
                raise ConfigurationError(f"separators: found {self.separators!r}; expected texts, as {SEPARATORS!r}")
            object.__setattr__(self, "separators", tuple(self.separators))

    def __str__(self) -> str:
        named = "" if self.encoding == DEFAULT_ENCODING else f":{self.encoding}"
        cuts = "" if self.separators in (None, SEPARATORS) else f" at {', '.join(map(repr, self.separators or ()))}"
        return f"recursive:{self.size}/{self.overlap}:{self.unit}{named}{cuts}"

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


# Chunkers by name and as text: `recursive:1000/100`, `token:250/125`.


CHUNKERS = ("recursive", "token")
"""The kinds of chunkers that raglift brings."""

_GRAMMAR = "KIND:SIZE/OVERLAP[:UNIT[:ENCODING]], as recursive:1000/100, recursive:250/125:tokens or token:250/125"
_FORM = re.compile(
    r"(?P<kind>[^:]+):(?P<size>-?[0-9]{1,9})/(?P<overlap>-?[0-9]{1,9})(?::(?P<unit>[^:]+)(?::(?P<encoding>\w+))?)?",
    re.ASCII,
)


def parse_chunker(text: str) -> Chunker:
    """Read a chunker from its text form; `parse_chunker(str(chunker)) == chunker` for the default separators.

    Args:
        text: `KIND:SIZE/OVERLAP[:UNIT[:ENCODING]]`.

    Raises:
        ConfigurationError: the text does not have this form, or names something that there is not.
    """
    form = _FORM.fullmatch(text.strip())
    wrong = f"chunker: found {short_repr(text)}; expected {_GRAMMAR}"
    if (
        form is None
        or form["kind"] not in CHUNKERS
        or (form["kind"] == "token" and form["unit"] not in (None, "tokens"))
    ):
        raise ConfigurationError(wrong)
    size, overlap, encoding = int(form["size"]), int(form["overlap"]), form["encoding"] or DEFAULT_ENCODING
    try:
        if form["kind"] == "token":
            return TokenChunker(size, overlap, encoding)
        return RecursiveChunker(size, overlap, form["unit"] or "characters", encoding=encoding)  # type: ignore[arg-type]
    except ConfigurationError as error:
        raise ConfigurationError(f"chunker {short_repr(text)}: {error}") from None
