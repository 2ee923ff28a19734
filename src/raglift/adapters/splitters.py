"""Any splitter as a chunker: an object or a function of any library, with the location of every chunk."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from raglift.adapters.references import imported, made_by
from raglift.errors import ConfigurationError, order_to_stop
from raglift.retrieval.chunkers import CHUNKERS, Chunker, Span, chunks_at, parse_chunker
from raglift.retrieval.headings import HEADINGS, ContextualChunker
from raglift.types.documents import Chunk, Document
from raglift.utilities.display import describe_error, short_repr


def locate_pieces(text: str, pieces: Sequence[str]) -> list[Span | None]:
    """Return the position of each piece in the text; None for a piece that does not occur there.

    Splitters strip or rewrite white space, so pieces are looked for by their other characters, in order: each at the
    first place at which it ends after the last one, if that leaves no gap. Only then is a piece compared with the text
    at its place, white space and all.
    """
    letters = "".join(text.split())
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    spans: list[Span | None] = []
    start = end = 0  # of the piece before, in the text without white space
    for piece in pieces:
        wanted = "".join(piece.split())
        found = letters.find(wanted, max(start, end - len(wanted) + 1)) if wanted else -1
        same_end = end - len(wanted)
        if not 0 <= found <= end and start <= same_end and wanted and letters.startswith(wanted, same_end):
            found = same_end  # a part of the piece before, or the same again, rather than one far away
        if found < 0:
            spans.append(None)
            continue
        start, end = found, found + len(wanted)
        first = places[start] - (len(piece) - len(piece.lstrip()))
        last = places[end - 1] + 1 + (len(piece) - len(piece.rstrip()))
        spans.append((first, last) if first >= 0 and text[first:last] == piece else None)
    return spans


_EXPECTED = (
    "a chunker, as RecursiveChunker(1000, 100); a splitter of LangChain (split_text), LlamaIndex "
    "(get_nodes_from_documents) or chonkie (chunk); or a function from a text to texts"
)


@dataclass(frozen=True, eq=False)
class SplitterChunker:
    """A splitter of another library, whose chunks are put in their places.

    The library's own offsets are not used: LangChain's are wrong or missing if sizes are counted in tokens and chunks
    overlap. A chunk's offsets are those at which the document has its text, character for character. A chunk that the
    document does not have (of a splitter that rewrites white space) has no offsets, and a warning counts such chunks;
    one of white space alone is left out.
    """

    splitter: Any
    """An object with `split_text`, `get_nodes_from_documents` or `chunk`, or a function from a text to texts."""
    name: str = ""
    """What it is called; by default the name of its class or function."""

    def __post_init__(self) -> None:
        _cutter(self.splitter)

    def __str__(self) -> str:
        return self.name or getattr(self.splitter, "__name__", type(self.splitter).__name__)

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document; chunk ids are the document's id and the chunk's offsets, or else its number.

        Raises:
            ConfigurationError: the splitter fails on a document.
        """
        cut = _cutter(self.splitter)
        with _quiet_langchain():
            chunks = tuple(chunk for document in documents for chunk in self._chunks(document, cut))
        lost = sum(chunk.start is None for chunk in chunks)
        if lost:
            warnings.warn(
                f"{self}: {lost:,} of {len(chunks):,} chunks are not in their documents word for word: the splitter "
                "rewrites them. They have no offsets, and are matched by their text",
                stacklevel=2,
            )
        return chunks

    def _chunks(self, document: Document, cut: Callable[[str], Iterable[str]]) -> Iterator[Chunk]:
        try:
            pieces = [piece for piece in cut(document.text) if piece.strip()]
        except BaseException as error:
            if order_to_stop(error) is not None:
                raise
            raise ConfigurationError(
                f"chunker: {self} failed on the document {document.id!r}: {describe_error(error)}; "
                "expected a splitter that can cut it (is the size too small?)"
            ) from error
        previous = None
        for number, (piece, span) in enumerate(zip(pieces, locate_pieces(document.text, pieces), strict=True)):
            if span is None:
                yield Chunk(piece, id=f"{document.id}#{number}", doc_id=document.id)
            elif span != previous:
                yield from chunks_at(document, [span])
                previous = span


def _cutter(splitter: Any) -> Callable[[str], Iterable[str]]:
    """Return what cuts a text into texts.

    Raises:
        ConfigurationError: it is no splitter.
    """
    if isinstance(splitter, type):
        raise ConfigurationError(f"chunker: found the class {splitter.__name__}; expected {_EXPECTED}")
    if callable(getattr(splitter, "split_text", None)):
        return lambda text: map(_text_of, splitter.split_text(text))
    if callable(getattr(splitter, "get_nodes_from_documents", None)):
        from llama_index.core.schema import Document as LlamaDocument

        return lambda text: map(_text_of, splitter.get_nodes_from_documents([LlamaDocument(text=text)]))
    if callable(getattr(splitter, "chunk", None)):
        return lambda text: map(_text_of, splitter.chunk(text))
    if callable(splitter):
        return lambda text: map(_text_of, splitter(text))
    raise ConfigurationError(f"chunker: found a {type(splitter).__name__}; expected {_EXPECTED}")


def _text_of(piece: Any) -> str:
    """Return the text of a piece: a text, or a chunk, node or document of a library."""
    if isinstance(piece, str):
        return piece
    for name in ("text", "page_content"):
        if isinstance(text := getattr(piece, name, None), str):
            return text
    raise TypeError(f"it returned a {type(piece).__name__}; expected texts")


@contextmanager
def _quiet_langchain() -> Iterator[None]:
    """Keep back the line that LangChain logs for each chunk that holds no separator and is longer than its size."""
    logger = logging.getLogger("langchain_text_splitters")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def as_chunker(given: Any) -> Chunker:
    """Return a chunker: one as it is, one by name, or any splitter as one.

    Args:
        given: a `Chunker`; a name, as `chunker_by_name` takes it; or a splitter of another library.

    Raises:
        ConfigurationError: it is none of these.
    """
    if isinstance(given, str):
        return chunker_by_name(given)
    if isinstance(given, Chunker) and not isinstance(given, type):
        return given
    return SplitterChunker(given)


def chunker_by_name(text: str) -> Chunker:
    """Return the chunker that a text names.

    Args:
        text: `recursive:1000/100`, `recursive:250/25:tokens`, `token:250/125`, or `module:factory`: a function without
            arguments that makes a chunker or a splitter of another library, or one of these itself. With `+headings` at
            the end, chunks are indexed with the headings above them.

    Raises:
        ConfigurationError: the text does not have this form, or names something that does not exist.
    """
    inner = text.strip().removesuffix(HEADINGS)
    if inner != text.strip():
        return ContextualChunker(chunker_by_name(inner))
    kind, _, name = inner.partition(":")
    if kind in CHUNKERS:
        return parse_chunker(inner)
    if not name.isidentifier():
        raise ConfigurationError(
            f"chunker: found {short_repr(inner)}; expected {' or '.join(CHUNKERS)} with a size and an overlap, as "
            "recursive:1000/100, or module:factory, as my_rag:splitter"
        )
    found = made_by(inner, imported(inner, "chunker"), "chunker")
    return found if isinstance(found, Chunker) else SplitterChunker(found, inner)
