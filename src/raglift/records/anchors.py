"""Quote anchors, pages and whole documents, resolved to the text they refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.base.normalization import normalize, normalize_with_offsets
from raglift.base.validation import nearest, quoted
from raglift.records.labels import Passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.base.normalization import NormalizedText
    from raglift.base.validation import Location
    from raglift.records.documents import Document


_LISTED = 5


class Sources:
    """The documents that labels point into; each is normalized at most once.

    Args:
        documents: the source texts; none when only the labels are known.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}
        self._normalized: dict[str, NormalizedText] = {}
        self._waiting: list[Location] = []

    @property
    def at_hand(self) -> bool:
        """Whether there are documents to resolve labels in."""
        return bool(self._documents)

    def document(self, doc_id: str, location: Location) -> Document | None:
        """Return a document that a label points into; None, and a fault, when it is not there."""
        if not self._documents:
            self._waiting.append(location)
            return None
        self.check_id(doc_id, location)
        return self._documents.get(doc_id)

    def check_id(self, doc_id: str, location: Location) -> None:
        """Note a fault when documents are at hand and none has this id."""
        if self._documents and doc_id not in self._documents:
            (location / "doc").fault(f"an unknown document id {quoted(doc_id)}", nearest(doc_id, self._documents))

    def note_missing_documents(self) -> None:
        """Note one fault for all the labels that could not be resolved for want of documents."""
        if self._waiting:
            self._waiting[0].fault(
                f"no documents for {len(self._waiting)} labels that point into one (this is the first)",
                "the documents: pass load_dataset(…, documents=a folder, file or mapping), or --documents; or "
                "load a folder that holds the labels as queries.jsonl and the texts in documents/",
            )

    def find_page(self, doc_id: str, number: int, location: Location) -> Passage | None:
        """Return all of a page of a document as a passage; None, and a fault, where it has no such page, or no text.

        Args:
            doc_id: the document.
            number: which page, from 1.
            location: the label, for the fault.
        """
        document = self.document(doc_id, location)
        if document is None:
            return None
        count = len(document.pages)
        if not 1 <= number <= count:
            has = "1 page" if count == 1 else f"{count:,} pages"
            expected = f"a page from 1 to {count}: {doc_id} has {has}, which form feeds separate"
            (location / "page").fault(str(number), expected)
            return None
        start, end = document.pages[number - 1]
        if start == end:
            found = f"page {number} of {doc_id}, which has no text (was it scanned?)"
            (location / "page").fault(found, "a page with text")
            return None
        return Passage(document.text[start:end], doc_id, start, end)

    def find_quote(self, doc_id: str, first: str, last: str, location: Location) -> tuple[int, int] | None:
        """Return the span from the words `first` to the end of the words `last`; else None, and a fault.

        White space, letter case and composed characters make no difference. `first` must occur exactly once;
        the span ends with the first occurrence of `last` that neither starts before `first` nor ends before
        `first` does.

        Args:
            doc_id: the document.
            first: the words that the passage begins with.
            last: the words that it ends with; they may overlap `first`.
            location: the label, for the fault.
        """
        document = self.document(doc_id, location)
        if document is None:
            return None
        normalized = self._normalized.get(doc_id)
        if normalized is None:
            normalized = self._normalized[doc_id] = normalize_with_offsets(document.text)
        head, tail = normalize(first), normalize(last)
        begins = _occurrences(normalized.text, head)
        if len(begins) != 1:
            found = _where(begins, normalized, document) if begins else _not_there(head, normalized, document)
            (location / "from").fault(f"{quoted(first)} {found}", "a quote that occurs exactly once in the document")
            return None
        begin = begins[0]
        end = normalized.text.find(tail, max(begin, begin + len(head) - len(tail)))
        if end < 0:
            line = _line(document, normalized, begin)
            found = f'{quoted(last)}, which does not occur at or after "from" in {doc_id} (line {line})'
            (location / "to").fault(found, 'a quote that occurs at or after "from"')
            return None
        return normalized.source_span(begin, end + len(tail))


def _occurrences(text: str, quote: str) -> list[int]:
    """Return every offset at which a quote occurs, overlapping occurrences too."""
    offsets = []
    offset = text.find(quote)
    while offset >= 0:
        offsets.append(offset)
        offset = text.find(quote, offset + 1)
    return offsets


def _line(document: Document, normalized: NormalizedText, offset: int) -> int:
    return document.text.count("\n", 0, int(normalized.starts[offset])) + 1


def _where(offsets: list[int], normalized: NormalizedText, document: Document) -> str:
    lines = ", ".join(str(_line(document, normalized, offset)) for offset in offsets[:_LISTED])
    more = f" and {len(offsets) - _LISTED} more" if len(offsets) > _LISTED else ""
    return f"{len(offsets)} times in {document.id}, at lines {lines}{more}"


def _not_there(quote: str, normalized: NormalizedText, document: Document) -> str:
    """Say that a quote does not occur, and how much of its beginning does (another edition; a slip)."""
    shortest, longest = 0, len(quote)
    while longest - shortest > 1:
        middle = (shortest + longest) // 2
        shortest, longest = (middle, longest) if quote[:middle] in normalized.text else (shortest, middle)
    message = f"not in {document.id}"
    if shortest < len(quote) // 3:
        return message
    line = _line(document, normalized, normalized.text.find(quote[:shortest]))
    return f"{message}, where its beginning {quoted(quote[:shortest])} occurs at line {line}"


def whole_document(document: Document, grade: int = 1) -> Passage:
    """Return the passage that is all of a document; for one without text, its id."""
    if not document.text.strip():
        return Passage(chunk_id=document.id, grade=grade)
    return Passage(document.text, document.id, 0, len(document.text), grade=grade)
