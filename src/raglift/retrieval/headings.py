"""Contextual headers: the title of a document and the headings above a chunk, put before it where it is indexed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raglift.retrieval.chunkers import Chunker
    from raglift.types.documents import Chunk, Document


HEADINGS = "+headings"
"""What stands behind a chunker's text form where its chunks have contextual headers."""
_BETWEEN = " > "


@dataclass(frozen=True)
class Heading:
    """A heading of Markdown."""

    start: int
    """Its first character in the document."""
    level: int
    text: str


@dataclass(frozen=True)
class ContextualChunker:
    """Another chunker's chunks, each with its context: the document's title and the headings that it stands under.

    A retriever of raglift's reads the context before the text; the text, its offsets and all else are the chunk's own.
    The title is that of the document's metadata, and the headings are those of Markdown. A chunk that begins with a
    heading has only those above it as context; one without offsets has only the title.
    """

    chunker: Chunker

    def __str__(self) -> str:
        return f"{self.chunker}{HEADINGS}"

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document, and put each chunk into its context."""
        sources = list(documents)
        paths = {document.id: _Paths(document) for document in sources}
        chunks = self.chunker.split(sources)
        return tuple(replace(chunk, context=paths[chunk.doc_id or ""].context_of(chunk)) for chunk in chunks)


def headings_of(text: str) -> list[Heading]:
    """Return the headings of a text in Markdown that begin with number signs, but for those in code and quotes."""
    begins = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    tokens = _parser().parse(text)
    return [
        Heading(begins[token.map[0]], int(token.tag[1:]), " ".join(words.content.split()))
        for token, words in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    # A line of dashes below a paragraph makes it a heading, which in plain text it seldom is
    return MarkdownIt("commonmark").disable(["lheading", "inline"])


class _Paths:
    """The headings of a document, and those that each is under."""

    def __init__(self, document: Document) -> None:
        self._title = " ".join(str(document.metadata.get("title") or "").split())
        self._headings = headings_of(document.text)
        self._starts = [heading.start for heading in self._headings]
        self._paths: list[tuple[Heading, ...]] = []
        for heading in self._headings:
            self._paths.append((*_above(heading, self._paths[-1] if self._paths else ()), heading))

    def context_of(self, chunk: Chunk) -> str:
        path: tuple[Heading, ...] = ()
        if chunk.start is not None:
            begin = chunk.start + len(chunk.text) - len(chunk.text.lstrip())
            place = bisect_left(self._starts, begin)
            path = self._paths[place - 1] if place else ()
            if place < len(self._starts) and self._starts[place] == begin:
                path = _above(self._headings[place], path)
        title = [] if not self._title or chunk.text.lstrip().startswith(self._title) else [self._title]
        return _BETWEEN.join(dict.fromkeys([*title, *(heading.text for heading in path if heading.text)]))


def _above(heading: Heading, path: tuple[Heading, ...]) -> tuple[Heading, ...]:
    return tuple(other for other in path if other.level < heading.level)
