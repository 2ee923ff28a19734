"""Documents and the chunks cut from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from pathlib import PurePath
from types import NoneType
from typing import Any
from uuid import UUID

from raglift.errors import ConfigurationError
from raglift.utilities.validation import described

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


def _place(number: Real) -> int | None:
    """Return a location in a document, 10.0 as 10; None for a number that is none."""
    if isinstance(number, Integral):
        return int(number)
    exact = float(number)
    return int(exact) if exact.is_integer() else None  # which neither NaN nor an infinity is


@dataclass(frozen=True)
class Chunk:
    """A contiguous piece of a Document.

    Its location is what a system says of it, so it may be false: `raglift.matching` compares it with the document.

    Raises:
        ConfigurationError: the text is no text, an id or location neither that nor a number, or metadata no mapping.
    """

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
    context: str = field(default="", compare=False, repr=False)
    """What raglift's retrievers read before the text, as the headings above it: neither matched, shown nor saved."""

    def __post_init__(self) -> None:
        if not (
            type(self.text) is str
            and type(self.id) is str
            and (self.doc_id is None or type(self.doc_id) is str)
            and (self.start is None or type(self.start) is int)
            and (self.end is None or type(self.end) is int)
            and type(self.metadata) is dict
        ):
            self._check()
        if not self.id:
            object.__setattr__(self, "id", self._hash)

    def _check(self) -> None:
        """Write numbers, UUIDs and paths as ids and locations are written; raise for what is neither."""
        for name, kinds, expected in (
            ("text", str, "a text"),
            ("id", (str, Real, NoneType), "a text"),
            ("doc_id", (str, Real, NoneType), "a text, or None"),
            ("start", (Real, NoneType), "an integer, or None"),
            ("end", (Real, NoneType), "an integer, or None"),
            ("metadata", Mapping, "a mapping"),
        ):
            value = getattr(self, name)
            if isinstance(value, (UUID, PurePath)) and name in ("id", "doc_id"):
                object.__setattr__(self, name, str(value))
                continue
            if value is None and name == "metadata":
                object.__setattr__(self, name, {})
                continue
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise ConfigurationError(f"Chunk.{name}: found {described(value)}; expected {expected}")
            if isinstance(value, str):  # of a subclass, which may compare as it likes
                object.__setattr__(self, name, str.__str__(value))
            elif isinstance(value, Real):
                object.__setattr__(self, name, _place(value) if name in ("start", "end") else str(value))

    @property
    def indexed_text(self) -> str:
        """What raglift's retrievers read: the context, and the text."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text

    @property
    def has_own_id(self) -> bool:
        """Whether the framework gave it an id, or whoever made it; else its id is the hash."""
        return self.id != self._hash

    @property
    def _hash(self) -> str:
        key = f"{self.doc_id}\x00{self.start}\x00{self.end}\x00{self.text}"
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
