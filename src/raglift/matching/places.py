"""Where in the documents the words of a passage stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.occurrences import Patterns
from raglift.text import normalize, normalize_with_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raglift.records import Document, Passage

__all__ = ["Places", "find_places"]


@dataclass(frozen=True, eq=False)
class Places:
    """Places of passages: one row a place, by passage, document and start."""

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

    Args:
        passages: the passages.
        documents: the source texts.
        unicode_folding: as in `normalize`.
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
