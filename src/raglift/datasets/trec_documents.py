"""Documents of TREC's collections: `<DOC>` records, of which a file has many."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raglift.records.documents import Document
from raglift.records.parsing import read_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.base.validation import Location


_BEGIN = re.compile(r"\s*<doc>", re.IGNORECASE)
_HEAD = 10_000
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)\b[^<>]*>", re.IGNORECASE)
_NUMBER = "docno"
_CONTENT = frozenset({"headline", "title", "ttl", "head", "hl", "text"})
"""The elements that are indexed, of Disks 4 and 5, AP, WSJ and the like; others tell about the document."""


def has_trec_documents(text: str) -> bool:
    """Return whether a text, or the beginning of one, is that of a file of TREC documents."""
    return _BEGIN.match(text) is not None and f"<{_NUMBER}>" in text[:_HEAD].lower()


def read_trec_documents(text: str, location: Location) -> Iterator[tuple[Document, Location]]:
    """Yield the documents of a file, with their lines: a `<DOC>` each, whose `<DOCNO>` is the id.

    The text is that of the headline (or title) and of the elements `<TEXT>`, without tags; where a record has none of
    them, all but the id.

    Args:
        text: that of the file.
        location: the file.
    """
    record: _Record | None = None
    line, begin, end = 1, 0, 0
    # One pass over the tags: patterns for whole elements would take quadratic time where none is ever closed
    for tag in _TAG.finditer(text):
        if record is not None:
            record.add(text[end : tag.start()])
        line += text.count("\n", begin, tag.start())
        begin, end = tag.span()
        closes, name = bool(tag[1]), tag[2].lower()
        if name != "doc":
            if record is not None:
                record.enter(name, closes=closes)
            continue
        if record is not None and not closes:
            record.location.fault(*_UNCLOSED)
        document = record.document() if record is not None and closes else None
        if record is not None and document is not None:
            yield document, record.location
        record = None if closes else _Record(location.at_line(line))
    if record is not None:
        record.location.fault(*_UNCLOSED)


_UNCLOSED = ("a <DOC> without a </DOC>", "both: is the file complete?")


@dataclass
class _Record:
    """What was read of a document so far."""

    location: Location
    element: str = ""
    """The element that the next words are in: the id's, one of the text, or another, which is empty."""
    number: str = ""
    parts: list[list[str]] = field(default_factory=list)
    """The words of each element of the text."""
    others: list[str] = field(default_factory=list)
    """All other words."""

    def enter(self, name: str, *, closes: bool) -> None:
        """Note a tag."""
        if closes and name == self.element:
            self.element = ""
        elif not closes and not self.element and (name == _NUMBER or name in _CONTENT):
            self.element = name
            self.parts += [[]] if name in _CONTENT else []

    def add(self, words: str) -> None:
        """Note words between two tags."""
        if self.element == _NUMBER:
            self.number += words
        else:
            (self.parts[-1] if self.element else self.others).append(words)

    def document(self) -> Document | None:
        """Return the document; None, and a fault, where it has no id."""
        if not self.number.strip():
            self.location.fault("no <DOCNO> in a <DOC>", "the document's id: <DOCNO>FT911-3</DOCNO>")
            return None
        doc_id = read_id(self.number.strip(), self.location / "DOCNO")
        text = "\n".join(html.unescape("".join(words)).strip() for words in self.parts or [self.others])
        return None if doc_id is None else Document(doc_id, text)
