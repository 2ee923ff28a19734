"""Quote anchors, pages and whole documents, resolved to the text they refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.text.near_text import Letters, Near
from raglift.text.normalization import NormalizedText, normalize, normalize_with_offsets
from raglift.types.checking import has_words
from raglift.types.labels import Passage
from raglift.utilities.display import counted
from raglift.utilities.validation import Location, nearest, quoted

if TYPE_CHECKING:
    from raglift.errors import Fault
    from raglift.types.documents import Document


_LISTED = 5
_REACH = 10_000
"""Normalized characters after its first words in which a passage's last words may be spelled in another way."""


# How the labels of a dataset were resolved in its documents.


@dataclass(frozen=True)
class InexactQuote:
    """One end of an anchor that the document spells in another way."""

    where: str
    """As `relevant[0].from`."""
    quote: str
    """The words of the label."""
    found: str
    """The words of the document."""
    similarity: float
    """From 0 to 1: rapidfuzz's normalized Levenshtein similarity of the normalized texts."""
    doc_id: str
    """The document."""
    start: int
    """First character of the words found."""
    end: int
    """One past the last."""
    query_id: str = ""
    """Whose label it is."""

    def __str__(self) -> str:
        alike = f"{quoted(self.found)}, {self.similarity:.0%} alike"
        return f"{quoted(self.quote)} is {alike}"


@dataclass(frozen=True)
class UnresolvedLabel:
    """A label that does not resolve in the documents, and is left out."""

    where: str
    """As `relevant[0]`, or `relevant[1][0]` for an alternative."""
    text: str
    """The words that it quotes."""
    fault: Fault
    """Why."""
    query_id: str = ""
    """Whose label it is."""


@dataclass(frozen=True)
class Resolution:
    """How the labels of a dataset were resolved in its documents: what is not as the labels say."""

    inexact: tuple[InexactQuote, ...] = ()
    """Ends of anchors that the documents have in other words."""
    left_out: tuple[UnresolvedLabel, ...] = ()
    """Labels of a corpus that do not resolve in the edition at hand."""
    queries_left_out: tuple[str, ...] = ()
    """The ids of queries that lost all of their labels, and are left out with them."""
    labels: int = 0
    """How many labels there are, those left out among them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of it, in a sentence each."""
        notes = []
        if self.inexact:
            least = min(self.inexact, key=lambda quote: quote.similarity)
            notes.append(
                f"{counted(len(self.inexact), 'quote')} of labels found in another form, at least "
                f"{least.similarity:.0%} alike: {least} (raglift labels check lists them)"
            )
        if self.left_out:
            first = self.left_out[0]
            queries = len(self.queries_left_out)
            with_them = f", and with them {counted(queries, 'query')} without another" if queries else ""
            notes.append(
                f"{len(self.left_out):,} of {counted(self.labels, 'label')} left out{with_them}: no such words in this "
                f"text (raglift labels check lists them); the first, of {quoted(first.query_id)}: {first.fault}"
            )
        return tuple(notes)


class Sources:
    """The documents that labels point into; each is normalized at most once.

    Args:
        documents: the source texts; none when only the labels are known.
        tolerant: whether an anchor may be resolved to words in another spelling, which `inexact` then tells.
        partly: whether a label that does not resolve is no fault, but left out, which `left_out` then tells.
    """

    def __init__(self, documents: Sequence[Document], *, tolerant: bool = False, partly: bool = False) -> None:
        self._documents = {document.id: document for document in documents}
        self._normalized: dict[str, NormalizedText] = {}
        self._letters: dict[str, Letters] = {}
        self._waiting: list[Location] = []
        self._tolerant = tolerant
        self._partly = partly
        self._inexact: list[InexactQuote] = []
        self._left_out: list[UnresolvedLabel] = []

    def take_notes(self, query_id: str) -> tuple[list[InexactQuote], list[UnresolvedLabel]]:
        """Return what was found in other words, and what was left out, since this was last asked."""
        inexact = [replace(each, query_id=query_id) for each in self._inexact]
        left_out = [replace(each, query_id=query_id) for each in self._left_out]
        self._inexact, self._left_out = [], []
        return inexact, left_out

    def note_unresolved(self, label: Location, where: Location, text: str, found: str, expected: str) -> None:
        """Note that a label does not resolve: a fault, or one more that is left out."""
        if not self._partly:
            where.fault(found, expected)
            return
        here = Location(where.file, [], where.line, where.field)
        here.fault(found, expected)
        self._left_out.append(UnresolvedLabel(label.field, text, here.faults[0]))

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
        """Return all of a page of a document as a passage; None, and a fault, where it has no such page, or no text."""
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

        Where that fails and the sources are tolerant, accents, hyphens and other punctuation make no difference
        either. There must be exactly one such place: for `first` in the document, for `last` in the 10,000 characters
        after it.
        """
        document = self.document(doc_id, location)
        if document is None:
            return None
        normalized = self._normalized.get(doc_id)
        if normalized is None:
            normalized = self._normalized[doc_id] = normalize_with_offsets(document.text)
        head = self._find_first(first, document, normalized, location)
        if head is None:
            return None
        end = self._find_last(last, head, document, normalized, location)
        return None if end is None else normalized.source_span(head[0], end)

    def _find_first(
        self, first: str, document: Document, normalized: NormalizedText, location: Location
    ) -> tuple[int, int] | None:
        """Return the one place of the words that a passage begins with, in the normalized text."""
        quote = normalize(first)
        begins = _occurrences(normalized.text, quote)
        if len(begins) == 1:
            return begins[0], begins[0] + len(quote)
        near = self._letters_of(document.id, normalized).find(quote) if self._tolerant and not begins else []
        if len(near) == 1:
            return self._take(near[0], quote, first, document, normalized, location / "from")
        if begins:
            found = _where(begins, normalized, document)
        elif near:
            found = _nearly(near, normalized, document)
        else:
            found = _not_there(quote, normalized, document)
        expected = "a quote that occurs exactly once in the document"
        self.note_unresolved(location, location / "from", first, f"{quoted(first)} {found}", expected)
        return None

    def _find_last(
        self, last: str, head: tuple[int, int], document: Document, normalized: NormalizedText, location: Location
    ) -> int | None:
        """Return where a passage ends in the normalized text, whose first words are known."""
        quote = normalize(last)
        begin = max(head[0], head[1] - len(quote))
        at = normalized.text.find(quote, begin)
        if at >= 0:
            return at + len(quote)
        near: list[Near] = []
        if self._tolerant:
            letters = self._letters_of(document.id, normalized)
            within = letters.find(quote, head[0], min(head[1] + _REACH, len(normalized.text)))
            near = [each for each in within if each.end >= head[1]]
        if len(near) == 1:
            return self._take(near[0], quote, last, document, normalized, location / "to")[1]
        if near:
            found = f"{quoted(last)} {_nearly(near, normalized, document)}"
        else:
            line = _line(document, normalized, head[0])
            found = f'{quoted(last)}, which does not occur at or after "from" in {document.id} (line {line})'
        expected = 'a quote that occurs at or after "from"'
        self.note_unresolved(location, location / "to", last, found, expected)
        return None

    def _letters_of(self, doc_id: str, normalized: NormalizedText) -> Letters:
        if doc_id not in self._letters:
            self._letters[doc_id] = Letters.of(normalized.text)
        return self._letters[doc_id]

    def _take(
        self, near: Near, quote: str, words: str, document: Document, normalized: NormalizedText, location: Location
    ) -> tuple[int, int]:
        """Return a place in the normalized text, and note how it is spelled there."""
        from rapidfuzz.distance import Levenshtein

        similarity = Levenshtein.normalized_similarity(quote, normalized.text[near.start : near.end])
        start, end = normalized.source_span(near.start, near.end)
        found = " ".join(document.text[start:end].split())
        self._inexact.append(InexactQuote(location.field, words, found, similarity, document.id, start, end))
        return near.start, near.end


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


def _nearly(near: list[Near], normalized: NormalizedText, document: Document) -> str:
    """Say that a quote occurs in other words, and so more than once."""
    return f"in other words {_where([each.start for each in near], normalized, document)}"


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
    if not has_words(document.text):
        return Passage(chunk_id=document.id, grade=grade)
    return Passage(document.text, document.id, 0, len(document.text), grade=grade)
