"""Where passages occur in the documents, and which chunks of an index overlap each passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.matching.overlap import SHORTEST_OVERLAP
from raglift.text.normalization import normalize, normalize_with_offsets
from raglift.text.occurrences import Patterns, find_occurrences, members_of
from raglift.text.words import beginning_of, is_as_long_as
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from raglift.types.documents import Chunk, Document
    from raglift.types.labels import Passage, Query


# The locations of a passage's text in the documents.


@dataclass(frozen=True, eq=False)
class Places:
    """Places of passages: one row per location, by passage, document and start."""

    passage: NDArray[np.int64]
    """Index into the passages."""
    document: NDArray[np.int64]
    """Index into the documents."""
    start: NDArray[np.int64]
    """First character in the document's text."""
    end: NDArray[np.int64]
    """One past the last."""


def find_places(passages: Sequence[Passage], documents: Sequence[Document], *, unicode_folding: bool = False) -> Places:
    """Find where passages are.

    A passage whose offsets are true is there and nowhere else. Any other is wherever its normalized text occurs: in its
    own document if it names one, else in all of them. A chunk-id label has no place.
    """
    numbers = {document.id: number for number, document in enumerate(documents)}
    rows: list[tuple[int, int, int, int]] = []
    literal: list[int] = []
    for number, passage in enumerate(passages):
        if passage.text is None:
            continue
        document = numbers.get(passage.doc_id or "")
        if document is not None and is_at(documents[document].text, passage.text, passage.start, passage.end):
            rows.append((number, document, passage.start or 0, passage.end or 0))
        else:
            literal.append(number)
    found = [np.array(rows, dtype=np.int64).reshape(-1, 4)]
    found += _occurrences([(number, passages[number]) for number in literal], documents, unicode_folding)
    table = np.concatenate(found)
    passage_of, document_of, start, end = table[np.lexsort(table.T[2::-1])].T
    return Places(passage_of, document_of, start, end)


def is_at(document: str, text: str, start: int | None, end: int | None) -> bool:
    """Whether a document has a text between two offsets."""
    if start is None or end is None or start < 0 or end - start != len(text):
        return False
    return document.startswith(text, start)


def _occurrences(
    passages: Sequence[tuple[int, Passage]], documents: Sequence[Document], folding: bool
) -> Iterator[NDArray[np.int64]]:
    """Yield (passage, document, start, end) of every occurrence of the passages' texts, a document at a time."""
    if not passages:
        return
    numbers = np.array([number for number, _ in passages], dtype=np.int64)
    texts = [normalize(passage.text or "", unicode_folding=folding) for _, passage in passages]
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    named = np.array([passage.doc_id or "" for _, passage in passages], dtype=object)
    anywhere = named == ""
    names = set(named.tolist())
    wanted = [(number, document) for number, document in enumerate(documents) if anywhere.any() or document.id in names]
    search = Patterns(texts).find(normalize(document.text, unicode_folding=folding) for _, document in wanted)
    for (number, document), found in zip(wanted, search, strict=True):
        allowed = anywhere[found.pattern] | (named[found.pattern] == document.id)
        pattern, position = found.pattern[allowed], found.position[allowed]
        if len(pattern):
            # Normalized again, with the way back: few of many documents get here
            source = normalize_with_offsets(document.text, unicode_folding=folding)
            start, end = source.starts[position], source.ends[position + lengths[pattern] - 1]
            yield np.stack([numbers[pattern], np.full(len(pattern), number), start, end], axis=1)


# The chunks that overlap each passage: the only chunks that can match it.


_BATCH = 1 << 16  # chunks whose normalized texts are held at once
_MOST_PAIRS = 1 << 22

_Pairs = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
"""(distinct passage, chunk), in any order and with repetitions."""


@dataclass(frozen=True, eq=False)
class Touches:
    """Which chunks touch which passages: one row per pair, by fact, passage and chunk."""

    query: NDArray[np.int64]
    """Index into the queries."""
    fact: NDArray[np.int64]
    """Index into the facts of all labelled queries in dataset order, as `FactTable`."""
    passage: NDArray[np.int64]
    """Which alternative of the fact."""
    chunk: NDArray[np.int64]
    """Index into the chunks."""


def touching_chunks(
    queries: Sequence[Query],
    chunks: Sequence[Chunk],
    documents: Sequence[Document],
    *,
    minimum_length: int = SHORTEST_OVERLAP,
    unicode_folding: bool = False,
    also_by_text: bool = False,
    places: Places | None = None,
    abutting: bool = False,
    progress: bool | None = None,
) -> Touches:
    """Return the chunks that share anything with a passage of a labelled query.

    What is returned may hold pairs that a match rule refuses. Where the locations of both are known, they overlap if
    they share a character. A literal text is at every location where it occurs (in its own document, if it names one).
    Where either location is not known they touch by text: an overlap of 20 or more normalized characters is found, as
    is a shorter passage inside a chunk; a chunk shorter than `minimum_length` inside a passage is not. A chunk of a
    document other than the passage's never overlaps it. A chunk-id label touches the chunks with that id.

    Args:
        queries: those without labels are passed over.
        chunks: their offsets are checked; false ones count as none.
        documents: the source texts; none when they are not at hand.
        minimum_length: the shortest chunk, in normalized characters, that is found inside a passage by its text.
        unicode_folding: normalize as matching does with it.
        also_by_text: look by text also where both locations are known: matching by containment does not look at
            locations, so it also matches a chunk whose text occurs in the passage and elsewhere.
        places: where the passages are, from `find_places` of the passages of the facts of all labelled queries, in
            their order; by default they are looked for.
        abutting: also return the chunks that end where a passage begins, or begin where it ends, where both locations
            are known.
        progress: whether to show progress where there are many chunks; None decides by the terminal.
    """
    rows = _PassageRows.of(queries)
    passages = rows.passages
    if places is None:
        places = find_places(passages, documents, unicode_folding=unicode_folding)
    else:
        places = rows.of_distinct(places)
    line = _Line(chunks, documents)
    text = _ByText(passages, chunks, minimum_length, unicode_folding, progress)
    every, has_place = np.arange(len(passages)), np.zeros(len(passages), dtype=np.bool_)
    has_place[places.passage] = True
    located = np.flatnonzero(line.is_known)
    found = [*_same_ids(passages, chunks), *line.overlapping(places, abutting=abutting)]
    if also_by_text:
        found += text.pairs(every, np.arange(len(chunks)))
    else:
        found += text.pairs(np.flatnonzero(~has_place), located)
        found += text.pairs(every, np.flatnonzero(~line.is_known))
    return rows.touches(_distinct(found, len(chunks)))


@dataclass(frozen=True, eq=False)
class _PassageRows:
    """The passages of the labelled queries, each distinct one once."""

    passages: list[Passage]
    table: NDArray[np.int64]
    """(distinct passage, query, fact, alternative), sorted by distinct passage."""
    order: NDArray[np.int64]
    """Which passage of the queries, in their order, each row of the table is."""

    @classmethod
    def of(cls, queries: Sequence[Query]) -> _PassageRows:
        numbers: dict[tuple[object, ...], int] = {}
        passages: list[Passage] = []
        rows = []
        fact_number = 0
        for query_number, query in enumerate(queries):
            for fact in query.facts if query.is_labelled else ():
                for alternative, passage in enumerate(fact.passages):
                    key = (passage.text, passage.doc_id, passage.start, passage.end, passage.chunk_id)
                    number = numbers.setdefault(key, len(passages))
                    if number == len(passages):
                        passages.append(passage)
                    rows.append((number, query_number, fact_number, alternative))
                fact_number += 1
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        order = np.argsort(table[:, 0], kind="stable")
        return cls(passages, table[order], order)

    def of_distinct(self, places: Places) -> Places:
        """Return the locations of all passages as those of the distinct ones."""
        distinct = np.full(len(self.order), -1, dtype=np.int64)
        number, first = np.unique(self.table[:, 0], return_index=True)
        distinct[self.order[first]] = number
        passage = distinct[places.passage]
        labelled = passage >= 0
        return Places(passage[labelled], places.document[labelled], places.start[labelled], places.end[labelled])

    def touches(self, pairs: _Pairs) -> Touches:
        passage, chunk = pairs
        first = np.searchsorted(self.table[:, 0], passage)
        last = np.searchsorted(self.table[:, 0], passage, side="right")
        source, row = members_of(first, last)
        _, query, fact, alternative = self.table[row].T
        chunk = chunk[source]
        order = np.lexsort((chunk, alternative, fact))
        return Touches(query[order], fact[order], alternative[order], chunk[order])


class _Line:
    """The chunks whose offsets are true, on one line along which the documents follow each other."""

    def __init__(self, chunks: Sequence[Chunk], documents: Sequence[Document]) -> None:
        # One more for each document, so that the end of one is not the start of the next
        begins = np.cumsum([0, *(len(document.text) + 1 for document in documents)])
        self._begins: NDArray[np.int64] = begins.astype(np.int64)
        by_id = {document.id: (number, document.text) for number, document in enumerate(documents)}
        of_document = np.full(len(chunks), -1, dtype=np.int64)
        start = np.zeros(len(chunks), dtype=np.int64)
        for number, chunk in enumerate(chunks):
            if chunk.start is not None and chunk.doc_id in by_id:
                document, text = by_id[chunk.doc_id]
                if is_at(text, chunk.text, chunk.start, chunk.end):
                    of_document[number], start[number] = document, chunk.start
        self.is_known = of_document >= 0
        self._lengths = np.array([len(chunk.text) for chunk in chunks], dtype=np.int64)
        self._starts = self._begins[of_document] + start

    def overlapping(self, places: Places, *, abutting: bool) -> Iterator[_Pairs]:
        """Yield the chunks that share a character with a location, or also those that abut it.

        Chunks are looked up among those of about their own length, so that one that spans a whole document does not
        make every location look through all the chunks before it.
        """
        start = self._begins[places.document] + places.start
        end = self._begins[places.document] + places.end
        known = np.flatnonzero(self.is_known & (self._lengths > 0))
        order = known[np.argsort(self._starts[known], kind="stable")]
        size_class = np.frexp(self._lengths[order])[1]
        for exponent in np.unique(size_class).tolist():
            chunk = order[size_class == exponent]
            starts, ends = self._starts[chunk], self._starts[chunk] + self._lengths[chunk]
            first = np.searchsorted(starts, start - (1 << exponent), side="right")
            last = np.searchsorted(starts, end, side="right" if abutting else "left")
            for part in _parts(last - first):
                source, member = members_of(first[part], last[part])
                touching = ends[member] + abutting > start[part][source]
                yield places.passage[part][source[touching]], chunk[member[touching]]


class _ByText:
    """Passages and chunks that share words, whatever their locations."""

    def __init__(
        self,
        passages: Sequence[Passage],
        chunks: Sequence[Chunk],
        minimum_length: int,
        unicode_folding: bool,
        progress: bool | None,
    ) -> None:
        self._passages = passages
        self._chunks = chunks
        self._minimum_length = minimum_length
        self._folding = unicode_folding
        self._progress = progress
        numbers: dict[str | None, int] = {None: -1}
        self._wanted_document = _numbered((passage.doc_id for passage in passages), numbers)
        self._chunk_document = _numbered((chunk.doc_id for chunk in chunks), numbers)

    def pairs(self, passages: NDArray[np.int64], chunks: NDArray[np.int64]) -> Iterator[_Pairs]:
        """Yield the pairs of some passages and some chunks that share words.

        Where a chunk and a passage overlap by 20 characters, the first 20 of one of them lie in the other.
        """
        passages = np.array([n for n in passages.tolist() if self._passages[n].text is not None], dtype=np.int64)
        if not len(passages):
            return
        texts = [self._normalized(self._passages[number].text or "") for number in passages.tolist()]
        heads = [beginning_of(text, SHORTEST_OVERLAP) for text in texts]
        # What fits into one batch takes a few seconds at most
        show = self._progress if len(chunks) > _BATCH else False
        with track("look for labels", len(chunks), "chunks", show=show) as advance:
            for first in range(0, len(chunks), _BATCH):
                batch = chunks[first : first + _BATCH]
                yield from self._of_batch(passages, heads, texts, batch)
                advance(len(batch))

    def _of_batch(
        self, passages: NDArray[np.int64], heads: Sequence[str], texts: Sequence[str], batch: NDArray[np.int64]
    ) -> Iterator[_Pairs]:
        found = [self._normalized(self._chunks[number].text) for number in batch.tolist()]
        passage, chunk = _containing(heads, found)
        yield self._of_one_document(passages[passage], batch[chunk])
        prefixes = [
            beginning_of(text, SHORTEST_OVERLAP) if is_as_long_as(text, self._minimum_length) else "" for text in found
        ]
        chunk, passage = _containing(prefixes, texts)
        yield self._of_one_document(passages[passage], batch[chunk])

    def _normalized(self, text: str) -> str:
        return normalize(text, unicode_folding=self._folding)

    def _of_one_document(self, passage: NDArray[np.int64], chunk: NDArray[np.int64]) -> _Pairs:
        """Drop the pairs of a passage of one document and a chunk of another."""
        wanted, found = self._wanted_document[passage], self._chunk_document[chunk]
        kept = (wanted == found) | (wanted < 0) | (found < 0)
        return passage[kept], chunk[kept]


def _containing(patterns: Sequence[str], texts: Sequence[str]) -> _Pairs:
    """Return (pattern, text) of each text that contains a pattern."""
    found = [np.unique(each.pattern) for each in find_occurrences(patterns, texts)]
    text = np.repeat(np.arange(len(found)), [len(pattern) for pattern in found])
    return np.concatenate([np.empty(0, dtype=np.int64), *found]), text


def _numbered(ids: Iterable[str | None], numbers: dict[str | None, int]) -> NDArray[np.int64]:
    """Return a number for each id, the same for the same id; -1 for None."""
    return np.array([numbers.setdefault(each, len(numbers)) for each in ids], dtype=np.int64)


def _same_ids(passages: Sequence[Passage], chunks: Sequence[Chunk]) -> Iterator[_Pairs]:
    """Yield the chunks with the id that a passage names."""
    passages_of_id: dict[str, list[int]] = {}
    for number, passage in enumerate(passages):
        if passage.chunk_id is not None:
            passages_of_id.setdefault(passage.chunk_id, []).append(number)
    if passages_of_id:
        rows = [(number, other) for other, chunk in enumerate(chunks) for number in passages_of_id.get(chunk.id, ())]
        table = np.array(rows, dtype=np.int64).reshape(-1, 2)
        yield table[:, 0], table[:, 1]


def _distinct(pairs: list[_Pairs], chunks: int) -> _Pairs:
    keys = [passage * chunks + chunk for passage, chunk in pairs]
    key = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys]))
    return key // max(chunks, 1), key % max(chunks, 1)


def _parts(sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows in parts, each with no more members than fit into memory at once (or a single row)."""
    total = np.cumsum(sizes)
    cuts = np.searchsorted(total, np.arange(_MOST_PAIRS, total[-1] if len(total) else 0, _MOST_PAIRS))
    return [part for part in np.split(np.arange(len(sizes)), cuts) if len(part)]
