"""The passage of the documents that is most like a text that does not occur in them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raglift.text.normalization import NormalizedText, normalize, normalize_with_offsets
from raglift.text.occurrences import Occurrences, Patterns
from raglift.types.documents import Document
from raglift.utilities.display import excerpt


class SimilarPassage(NamedTuple):
    """What in the documents is most like a text that occurs nowhere."""

    doc_id: str
    """Where it is: the document, …"""
    start: int
    """… its first character in the document's text, …"""
    end: int
    """… and one past the last."""
    text: str
    """The text found there."""
    likeness: float
    """From 0 to 1: rapidfuzz's partial ratio of the normalized texts."""


# The part of the documents most similar to a text that does not occur in them. Short parts of the text (seeds) are
# searched in all documents at once; where several occur at the same distances as in the text, that passage is compared
# with it. So the cost is linear in the documents, and only a few passages per text are compared character by character.


_SEED = 12  # characters: a word or two
_MOST_SEEDS = 64  # a text
_BUCKET = 64  # characters by which what stands between two seeds may have grown or shrunk
_CANDIDATES = 3
LONGEST = 2000  # characters of a text that are compared
_LEAST_LIKENESS = 60.0
_WORD_END = 30  # no further than this to the end of a word


class _Candidate(NamedTuple):
    weight: float
    document: int
    offset: int
    """Where the text would begin in the normalized document."""


def nearest_passages(texts: Sequence[str], documents: Sequence[Document]) -> list[SimilarPassage | None]:
    """Return, for each text, the passage of the documents that is most like it; None if nothing is."""
    passages = [normalize(text)[:LONGEST] for text in texts]
    seeds = [(number, at) for number, text in enumerate(passages) for at in _seeds(text)]
    best: list[list[_Candidate]] = [[] for _ in texts]
    search = Patterns([passages[number][at : at + _SEED] for number, at in seeds]) if seeds else None
    if search is None:
        return [None] * len(texts)
    origin = np.array(seeds, dtype=np.int64)
    for number, found in enumerate(search.find(normalize(document.text) for document in documents)):
        for text, candidate in _candidates(found, origin, number):
            heapq.heappush(best[text], candidate)
            if len(best[text]) > _CANDIDATES:
                heapq.heappop(best[text])
    return _compare(passages, best, documents)


def _seeds(text: str) -> list[int]:
    """Return where pieces of a text begin: at the words, evenly spread."""
    starts = [at for at in range(len(text) - _SEED + 1) if at == 0 or text[at - 1] == " "]
    starts = starts or list(range(0, len(text) - _SEED + 1, _SEED // 2))
    step = -(-len(starts) // _MOST_SEEDS)
    return starts[:: max(step, 1)]


def _candidates(found: Occurrences, origin: NDArray[np.int64], document: int) -> list[tuple[int, _Candidate]]:
    """Return the best location of each text in one document: where most seeds agree, rare seeds first."""
    if not len(found.pattern):
        return []
    text, offset = origin[found.pattern, 0], found.position - origin[found.pattern, 1]
    weight = 1.0 / np.bincount(found.pattern)[found.pattern]
    # Each counts in two buckets that overlap, so that no two neighbours are parted
    bucket = np.concatenate([offset // _BUCKET, offset // _BUCKET + 1])
    rows = np.stack([np.tile(text, 2), bucket])
    distinct, row = np.unique(rows, axis=1, return_inverse=True)
    total = np.bincount(row.reshape(-1), weights=np.tile(weight, 2))
    order = np.lexsort((-total, distinct[0]))
    first = order[np.unique(distinct[0][order], return_index=True)[1]]
    return [
        (int(distinct[0, place]), _Candidate(float(total[place]), document, int(distinct[1, place] - 1) * _BUCKET))
        for place in first.tolist()
    ]


def _compare(
    passages: list[str], candidates: list[list[_Candidate]], documents: Sequence[Document]
) -> list[SimilarPassage | None]:
    """Compare the texts with the text at their candidates, one document after the other."""
    best: list[SimilarPassage | None] = [None] * len(passages)
    flat = sorted((each.document, number, each.offset) for number, of in enumerate(candidates) for each in of)
    current, source = -1, normalize_with_offsets("")
    for number, text, offset in flat:
        if number != current:
            current, source = number, normalize_with_offsets(documents[number].text)
        nearest = _nearest_at(passages[text], documents[number], source, offset)
        known = best[text]
        if nearest is not None and (known is None or nearest.likeness > known.likeness):
            best[text] = nearest
    return best


def _nearest_at(text: str, document: Document, source: NormalizedText, offset: int) -> SimilarPassage | None:
    from rapidfuzz.fuzz import partial_ratio_alignment

    first = max(offset - _BUCKET, 0)
    window = source.text[first : offset + len(text) + 3 * _BUCKET]
    found = partial_ratio_alignment(text, window, score_cutoff=_LEAST_LIKENESS)
    if found is None or found.dest_start == found.dest_end:
        return None
    start, end = _whole_words(source.text, first + found.dest_start, first + found.dest_end)
    start, end = source.source_span(start, end)
    return SimilarPassage(document.id, start, end, document.text[start:end], found.score / 100)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to whole words."""
    while end - start > 1 and text[start] == " ":
        start += 1
    while end - start > 1 and text[end - 1] == " ":
        end -= 1
    before = text.rfind(" ", max(start - _WORD_END, 0), start) + 1
    after = text.find(" ", end, end + _WORD_END)
    return (before or start), (after if after >= 0 else end)


# Labels that are answers instead of passages: none of their texts occurs in the documents. Only the first label is
# looked for, in a bounded part of the documents.


_MOST_SEARCHED = 5_000_000
"""Characters of the documents that are searched for the passage nearest to an answer."""
_EDITED = 0.9
"""From this likeness on a label is an edited passage, not an answer."""
_SHOWN = 100


def lost_labels_note(text: str, query_id: str, documents: Sequence[Document]) -> str:
    """Say that no label occurs in the documents, why that may be, and which passage is nearest to the first label.

    Args:
        text: the first label.
        query_id: whose label it is.
        documents: the source texts; their first five million characters are searched.
    """
    found = nearest_passages([text], list(_first(documents, _MOST_SEARCHED)))[0]
    why = (
        "are the labels from another version of the documents?"
        if found is not None and found.likeness >= _EDITED
        else "are these answers rather than passages? A label is a passage of a document, word for word"
    )
    first = f"the first, “{excerpt(text, _SHOWN)}” of question {query_id}"
    if found is None:
        return f"no label text occurs in any document: {why}; no passage is like {first}"
    return (
        f"no label text occurs in any document: {why}; the passage nearest to {first}, is "
        f"“{excerpt(found.text, _SHOWN)}” ({found.doc_id}, characters {found.start}–{found.end})"
    )


def _first(documents: Iterable[Document], most: int) -> Iterable[Document]:
    """Yield documents until they have so many characters; the last is cut."""
    for document in documents:
        if most <= 0:
            return
        yield Document(document.id, document.text[:most]) if len(document.text) > most else document
        most -= len(document.text)
