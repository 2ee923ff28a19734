"""Documents and the chunks cut from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


PAGE_BREAK = "\f"
"""Separates the pages in a document's text, as pdftotext and the PDF loaders of LangChain and Haystack write them."""


@dataclass(frozen=True, repr=False)
class Document:
    """A source text with an id."""

    id: str
    """Unique within a dataset; the `doc` of a label."""
    text: str
    """The text that every offset refers to, with `\\n` line ends and no byte-order mark."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Anything else known about it."""

    def __repr__(self) -> str:
        return f"Document({self.id!r}, {len(self.text):,} characters)"

    @cached_property
    def pages(self) -> tuple[tuple[int, int], ...]:
        """The span of each page in the text, without white space at its ends; form feeds separate pages."""
        spans = []
        start = 0
        for page in self.text.split(PAGE_BREAK):
            first = start + len(page) - len(page.lstrip())
            spans.append((first, max(first, start + len(page.rstrip()))))
            start += len(page) + 1
        return tuple(spans)


@dataclass(frozen=True)
class Chunk:
    """A contiguous piece of a Document."""

    text: str
    """The words themselves."""
    id: str = ""
    """The framework's id; when there is none, a hash of (doc_id, start, end, text)."""
    doc_id: str | None = None
    """Which document it was cut from, when known."""
    start: int | None = None
    """First character in the document's text, when known."""
    end: int | None = None
    """One past the last character, when known."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What the framework carried along."""
    origin: Any = field(default=None, compare=False, repr=False)
    """The framework's own object, handed back to the framework's own rerankers; never saved."""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self._hash)

    @property
    def has_own_id(self) -> bool:
        """Whether the framework gave it an id, or whoever made it; else its id is the hash."""
        return self.id != self._hash

    @property
    def _hash(self) -> str:
        key = f"{self.doc_id}\x00{self.start}\x00{self.end}\x00{self.text}"
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
