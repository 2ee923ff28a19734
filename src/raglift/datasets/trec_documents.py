"""Documents of TREC's collections: `<DOC>` records, of which a file has many."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from raglift.records.documents import Document
from raglift.records.parsing import read_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.base.validation import Location


_BEGIN = re.compile(r"\s*<doc>", re.IGNORECASE)
_HEAD = 10_000
_RECORD = re.compile(r"<doc>(?P<inner>.*?)(?P<end></doc>|(?=<doc>)|\Z)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"<docno>(.*?)</docno>", re.IGNORECASE | re.DOTALL)
# What is indexed of Disks 4 and 5, AP, WSJ and the like; what stands in other elements is about the document
_CONTENT = re.compile(r"<(headline|title|ttl|head|hl|text)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)


def has_trec_documents(text: str) -> bool:
    """Return whether a text, or the beginning of one, is that of a file of TREC documents."""
    return _BEGIN.match(text) is not None and "<docno>" in text[:_HEAD].lower()


def read_trec_documents(text: str, location: Location) -> Iterator[tuple[Document, Location]]:
    """Yield the documents of a file, with their lines: a `<DOC>` each, whose `<DOCNO>` is the id.

    The text is that of the headline (or title) and of the elements `<TEXT>`, without tags; where a record has none of
    them, all but the id.

    Args:
        text: that of the file.
        location: the file.
    """
    line, counted = 1, 0
    for record in _RECORD.finditer(text):
        line, counted = line + text.count("\n", counted, record.start()), record.start()
        here = location.at_line(line)
        number = _NUMBER.search(record["inner"])
        if not record["end"]:
            here.fault("a <DOC> without a </DOC>", "both: is the file complete?")
        elif number is None:
            here.fault("no <DOCNO> in a <DOC>", "the document's id: <DOCNO>FT911-3</DOCNO>")
        elif (doc_id := read_id(number[1].strip(), here / "DOCNO")) is not None:
            parts = [found[2] for found in _CONTENT.finditer(record["inner"])]
            words = parts or [record["inner"].replace(number[0], "")]
            yield Document(doc_id, "\n".join(html.unescape(_TAG.sub("", part)).strip() for part in words)), here
