"""Which document a hit comes from, and whether its offsets are correct.

Frameworks name documents in their own ways (a path, a file name, a random id) and compute offsets that are wrong for
about half the chunks when sizes are counted in tokens and chunks overlap. A document is known only when its name
leads to a document of the dataset, and offsets are kept only where the document's text there is the hit's text. A hit
with evidence that is not in the document that it names, as where a ranker merged several, may be from any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from raglift.matching.chunk_index import is_at
from raglift.matching.overlap import SHORTEST_OVERLAP
from raglift.text.normalization import normalize
from raglift.text.occurrences import Patterns
from raglift.text.words import is_as_long_as
from raglift.types.rankings import Hit, Ranking

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk, Document


_Place = tuple[str | None, int | None, int | None]
"""A document's id and offsets in it, as far as they are known."""
_LONGEST_TEXT = 10**15
"""Characters; a start beyond is no offset in any text, and what would follow from it could not be saved."""
_NAMES = ("doc_id", "document_id", "source", "file_name", "file_path", "filename", "path", "title")


@dataclass
class Provenance:
    """Resolves the documents and checks the offsets of chunks, each distinct chunk once."""

    dataset: Dataset
    """Its documents are what hits are resolved against; without documents offsets are taken as they are."""
    doc_key: str | None = None
    """The metadata key that the user says holds document ids: then its value is taken as it is."""
    unknown_document: int = 0
    """Distinct chunks whose document is unknown."""
    false_offsets: int = 0
    """Distinct chunks that came with offsets where the document has another text."""
    other_text: int = 0
    """Distinct chunks with evidence that is not in the document that they name: they count as from one not known."""
    _places: dict[tuple[object, ...], _Place] = field(default_factory=dict, repr=False)
    _by_file_name: Mapping[str, str] = field(default_factory=dict, repr=False)
    _normalized: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        names = [(name, doc_id) for doc_id in self.dataset.document_by_id for name in _file_names(doc_id)]
        counts = Counter(name for name, _ in set(names))
        self._by_file_name = {name: doc_id for name, doc_id in names if counts[name] == 1}

    def check(self, ranking: Ranking) -> Ranking:
        """Return the ranking with each hit's document resolved and its offsets kept only where they are true."""
        checked = [self.check_chunk(hit.chunk) for hit in ranking.hits]
        if all(chunk is hit.chunk for chunk, hit in zip(checked, ranking.hits, strict=True)):
            return ranking
        return replace(
            ranking,
            hits=tuple(Hit(chunk, hit.rank, hit.score) for chunk, hit in zip(checked, ranking.hits, strict=True)),
        )

    def check_chunk(self, chunk: Chunk) -> Chunk:
        """Return the chunk with its document resolved and its offsets kept only where they are true.

        A start without an end is enough: the end follows from the text. A start that is counted from the beginning of a
        page, as loaders that make a document of each page have it, becomes one in the whole document.
        """
        if not self.dataset.documents:
            if chunk.start is not None and 0 <= chunk.start < _LONGEST_TEXT and chunk.end is None:
                return replace(chunk, end=chunk.start + len(chunk.text))
            return chunk
        # Only the location is kept: the same chunk may carry another score or another origin for each query and stage.
        key = _key(chunk)
        if key not in self._places:
            self._places[key] = self._place_of(chunk)
        place = self._places[key]
        checked = _placed(chunk, place)
        if checked is not chunk:
            self._places[_key(checked)] = place
        return checked

    def check_all(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield all chunks of an index as `check_chunk` returns them, without remembering them: each comes once."""
        if not self.dataset.documents:
            return map(self.check_chunk, chunks)
        return (_placed(chunk, self._place_of(chunk)) for chunk in chunks)

    def _place_of(self, chunk: Chunk) -> _Place:
        doc_id = self._document_of(chunk)
        self.unknown_document += doc_id is None
        document = self.dataset.document_by_id.get(doc_id or "")
        if document is None:
            return doc_id, None, None
        if self._has_evidence_of_others(chunk.text, document):
            self.other_text += 1
            return None, None, None
        if chunk.start is None and chunk.end is None:
            return doc_id, None, None
        start = _true_start(chunk, document)
        self.false_offsets += start is None
        return doc_id, start, None if start is None else start + len(chunk.text)

    def _has_evidence_of_others(self, text: str, document: Document) -> bool:
        """Whether a passage of another document is in a text, and not in the document that the text is said to be from.

        Text that is in no document, as a header that was put before a chunk, says nothing of where the rest is from.
        """
        if text in document.text or not self._passages:
            return False
        (found,) = self._patterns.find([normalize(text)])
        others = {self._passages[number] for number in found.pattern.tolist()}
        if not others:
            return False
        if document.id not in self._normalized:
            self._normalized[document.id] = normalize(document.text)
        return any(name != document.id and passage not in self._normalized[document.id] for name, passage in others)

    @cached_property
    def _passages(self) -> list[tuple[str, str]]:
        """The documents and normalized texts of the labels, but for texts so short that they may be anywhere."""
        facts = (fact for query in self.dataset.queries for fact in query.facts)
        named = {
            (one.doc_id, normalize(one.text)) for fact in facts for one in fact.passages if one.doc_id and one.text
        }
        return sorted((name, text) for name, text in named if name and is_as_long_as(text, SHORTEST_OVERLAP))

    @cached_property
    def _patterns(self) -> Patterns:
        return Patterns([text for _, text in self._passages])

    def _document_of(self, chunk: Chunk) -> str | None:
        if self.doc_key is not None:
            return chunk.doc_id
        names = _names_of(chunk)
        for name in names:
            if name in self.dataset.document_by_id:
                return name
        for name in names:
            for file_name in _file_names(name):
                if file_name in self._by_file_name:
                    return self._by_file_name[file_name]
        return None


def _placed(chunk: Chunk, place: _Place) -> Chunk:
    doc_id, start, end = place
    is_there = place == (chunk.doc_id, chunk.start, chunk.end)
    return chunk if is_there else replace(chunk, doc_id=doc_id, start=start, end=end)


def _true_start(chunk: Chunk, document: Document) -> int | None:
    """Return where the chunk begins in its document, by its offsets; None if the document has another text there."""
    if chunk.start is None:
        return None
    end = chunk.start + len(chunk.text) if chunk.end is None else chunk.end
    if is_at(document.text, chunk.text, chunk.start, end):
        return chunk.start
    if chunk.start < 0 or end - chunk.start != len(chunk.text) or len(document.pages) == 1:
        return None
    on_pages = [
        first + chunk.start
        for first, last in document.pages
        if end <= last - first and document.text.startswith(chunk.text, first + chunk.start)
    ]
    # The same words at the same distance on several pages, as in a header, do not tell which page it was
    return on_pages[0] if len(on_pages) == 1 else None


def _names_of(chunk: Chunk) -> tuple[str, ...]:
    """Return everything that may name the chunk's document, the likeliest first."""
    named = [chunk.doc_id, *map(chunk.metadata.get, _NAMES)] if chunk.metadata else [chunk.doc_id]
    return tuple([str(name) for name in named if name is not None])


def _key(chunk: Chunk) -> tuple[object, ...]:
    return (chunk.id, chunk.doc_id, chunk.start, chunk.end, chunk.text, _names_of(chunk))


def _file_names(path: str) -> tuple[str, ...]:
    """Return a path's last part, and that without its ending."""
    pure = PurePath(path)
    return (pure.name, pure.stem) if pure.name else ()
