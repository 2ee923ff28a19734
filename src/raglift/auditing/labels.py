"""What an audit checks: labels and where their texts occur, the nearest text, and chunks too long for the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from raglift.auditing.records import Finding, Kind, Nearest, Place
from raglift.matching.chunk_index import Places, find_places
from raglift.matching.nearest import nearest_passages
from raglift.matching.overlap import SHORTEST_OVERLAP, longest_overlap
from raglift.retrieval.onnx_models import OnnxEmbedder
from raglift.text.normalization import normalize
from raglift.text.words import length_in_letters
from raglift.types.labels import Passage
from raglift.utilities.display import one_line
from raglift.utilities.progress import track
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.types.anchors import Resolution
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk, Document


# Properties of labels that need no chunks: where their texts occur, their lengths, and duplicates.


_LISTED = 5
_MOST_COMPARED = 20
_BESIDE = 60


@dataclass(frozen=True)
class Label:
    """One passage of a fact, and its location in the labels."""

    query: int
    """Index of its query."""
    query_id: str
    fact: int
    """Index of its fact in the query."""
    alternative: int
    """Index of the passage in the fact."""
    where: str
    """Such as `relevant[0]`, or `relevant[1][0]` for an alternative."""
    passage: Passage

    def finding(self, kind: Kind, detail: str, places: Sequence[Place] = (), nearest: Nearest | None = None) -> Finding:
        """Return something found about it."""
        text = self.passage.text if self.passage.text is not None else self.passage.chunk_id or ""
        return Finding(kind, self.query_id, self.where, text, detail, tuple(places[:_LISTED]), nearest)


def labels_of(dataset: Dataset) -> list[Label]:
    """Return the passages of all facts, in dataset order."""
    return [
        Label(
            number,
            query.id,
            place,
            alternative,
            f"relevant[{place}]" + (f"[{alternative}]" if len(fact.passages) > 1 else ""),
            passage,
        )
        for number, query in enumerate(dataset.queries)
        for place, fact in enumerate(query.facts)
        for alternative, passage in enumerate(fact.passages)
    ]


@dataclass(frozen=True)
class Occurrences:
    """Where a text is."""

    count: int
    documents: int
    places: tuple[Place, ...]

    def __str__(self) -> str:
        listed = ", ".join(f"{quoted(place.doc_id)} at {place.start}" for place in self.places[:_LISTED])
        more = f" and {self.count - _LISTED:,} more" if self.count > _LISTED else ""
        times = "once" if self.count == 1 else f"{self.count:,} times"
        return f"{times} in {self.documents:,} document{'s' * (self.documents != 1)}: {listed}{more}"


def find_occurrences(
    passages: Sequence[Passage], documents: Sequence[Document], *, unicode_folding: bool
) -> list[Occurrences]:
    """Return, for each passage, where it is."""
    return occurrences_of(find_places(passages, documents, unicode_folding=unicode_folding), len(passages), documents)


def occurrences_of(table: Places, passages: int, documents: Sequence[Document]) -> list[Occurrences]:
    """Return the locations of each passage."""
    bounds = np.searchsorted(table.passage, np.arange(passages + 1)).tolist()
    found = []
    for first, last in pairwise(bounds):
        few = slice(first, min(last, first + _MOST_COMPARED))
        rows = zip(
            table.document[few].tolist(),
            table.start[few].tolist(),
            table.end[few].tolist(),
            strict=True,
        )
        places = tuple(Place(documents[document].id, start, end) for document, start, end in rows)
        found.append(Occurrences(last - first, len(np.unique(table.document[first:last])), places))
    return found


def audit_labels(
    dataset: Dataset,
    labels: Sequence[Label],
    found_at: Sequence[Occurrences],
    *,
    chunk_ids: Collection[str] | None,
    unicode_folding: bool,
) -> tuple[Finding, ...]:
    """Return what is found about the labels, by query."""
    found: list[tuple[int, Finding]] = []
    if dataset.documents:
        found += _about_places(dataset.documents, labels, found_at, unicode_folding)
    for number, label in enumerate(labels):
        found += [(number, finding) for finding in _about_one(dataset, label, chunk_ids, unicode_folding)]
    of_query: dict[int, list[int]] = defaultdict(list)
    for number, label in enumerate(labels):
        of_query[label.query].append(number)
    for numbers in of_query.values():
        found += _about_pairs(labels, found_at, numbers, unicode_folding)
    return tuple(finding for _, finding in sorted(found, key=lambda row: row[0]))


def about_resolution(resolution: Resolution) -> Iterator[Finding]:
    """Yield what was left out when the dataset was loaded, and what was found in other words."""
    for label in resolution.left_out:
        fault = label.fault
        detail = f"found {fault.found}; expected {fault.expected} ({fault.where})"
        yield Finding("unresolved", label.query_id, label.where, label.text, detail)
    for quote in resolution.inexact:
        place = Place(quote.doc_id, quote.start, quote.end)
        detail = f"{quoted(quote.found)}, {quote.similarity:.0%} alike, at {quote.start} of {quoted(quote.doc_id)}"
        yield Finding("inexact", quote.query_id, quote.where, quote.quote, detail, (place,))


def with_surroundings(findings: Iterable[Finding], documents: Iterable[Document]) -> Iterator[Finding]:
    """Yield findings with the text around their places."""
    texts = {document.id: document.text for document in documents}

    def around(place: Place) -> str:
        text, start, end = texts[place.doc_id], place.start, place.end
        said = one_line(f"{text[max(0, start - _BESIDE) : start]}[{text[start:end]}]{text[end : end + _BESIDE]}")
        line = text.count("\n", 0, start) + 1
        return f"{quoted(place.doc_id)}, line {line:,}, characters {start} to {end}: …{said}…"

    for finding in findings:
        places = finding.places or ((finding.nearest.place,) if finding.nearest is not None else ())
        yield replace(finding, around=tuple(map(around, places[:3])))


def _about_one(
    dataset: Dataset, label: Label, chunk_ids: Collection[str] | None, unicode_folding: bool
) -> Iterator[Finding]:
    passage = label.passage
    if not dataset.queries[label.query].answerable:
        yield label.finding("unanswerable", "the question is marked as not answerable, so this fact is not scored")
    if passage.chunk_id is not None:
        if chunk_ids is not None and passage.chunk_id not in chunk_ids:
            yield label.finding("missing chunk", f"none of {len(chunk_ids):,} chunks has this id")
        return
    length = length_in_letters(normalize(passage.text or "", unicode_folding=unicode_folding))
    if length < SHORTEST_OVERLAP:
        yield label.finding("short", f"{length} characters; a text of under {SHORTEST_OVERLAP} may occur by chance")


def _about_places(
    documents: Sequence[Document], labels: Sequence[Label], found_at: Sequence[Occurrences], unicode_folding: bool
) -> Iterator[tuple[int, Finding]]:
    """Yield what texts occur several times, and what occurs nowhere or not where it should."""
    lost = []
    for number, (label, at) in enumerate(zip(labels, found_at, strict=True)):
        if at.count > 1:
            yield number, label.finding("several places", str(at), at.places)
        elif label.passage.text is not None and not at.count:
            lost.append(number)
    passages = [labels[number].passage for number in lost]
    # Also those that name no document are looked for again: few, and it is simpler
    anywhere = [Passage(passage.text) for passage in passages]
    elsewhere = find_occurrences(anywhere, documents, unicode_folding=unicode_folding)
    texts = [passage.text or "" for passage, others in zip(passages, elsewhere, strict=True) if not others.count]
    similar = dict(zip(texts, nearest_passages(texts, documents), strict=True))
    for number, passage, others in zip(lost, passages, elsewhere, strict=True):
        if others.count:
            detail = f"not {_named(passage)}, but {others}"
            yield number, labels[number].finding("nowhere", detail, others.places)
        else:
            detail = f"not {_named(passage)}, nor elsewhere" if passage.doc_id else "in no document"
            found = similar[passage.text or ""]
            place = None if found is None else Place(found.doc_id, found.start, found.end)
            nearest = None if found is None or place is None else Nearest(place, found.text, found.likeness)
            yield number, labels[number].finding("nowhere", detail, (), nearest)


def _named(passage: Passage) -> str:
    at = "" if passage.start is None else f" at {passage.start}"
    return f"in {quoted(passage.doc_id)}{at}, which it names"


def _about_pairs(
    labels: Sequence[Label], found_at: Sequence[Occurrences], numbers: Sequence[int], unicode_folding: bool
) -> Iterator[tuple[int, Finding]]:
    """Yield what passages of one query have to do with each other."""
    keys = {number: _key(labels[number].passage, unicode_folding) for number in numbers}
    facts: dict[int, set[object]] = defaultdict(set)
    for number in numbers:
        facts[labels[number].fact].add(keys[number])
    reported: set[tuple[int, int]] = set()
    for first, second in combinations(numbers, 2):
        one, other = labels[first], labels[second]
        pair = (one.fact, other.fact)
        if one.fact == other.fact:
            continue
        if facts[one.fact] == facts[other.fact]:
            if pair not in reported:
                reported.add(pair)
                yield second, other.finding("duplicate fact", f"relevant[{other.fact}] is relevant[{one.fact}] again")
        elif _share(keys[first], keys[second], found_at[first].places, found_at[second].places):
            yield second, other.finding("overlap", f"it shares text with {one.where}", found_at[second].places)


_Key = tuple[str | None, str | None, int | None, str]


def _key(passage: Passage, unicode_folding: bool) -> _Key:
    """Return what makes two passages the same evidence."""
    text = normalize(passage.text or "", unicode_folding=unicode_folding)
    return passage.chunk_id, passage.doc_id, passage.start, text


def _share(one: _Key, other: _Key, places: Sequence[Place], others: Sequence[Place]) -> bool:
    """Whether two passages share characters: by their locations, or where these are not known, by their texts."""
    if one[0] is not None or other[0] is not None:
        return one[0] == other[0]
    if places and others:
        return any(
            place.doc_id == another.doc_id and max(place.start, another.start) < min(place.end, another.end)
            for place in places
            for another in others
        )
    texts = one[3], other[3]
    return one[3] in other[3] or other[3] in one[3] or any(map(longest_overlap, texts, reversed(texts)))


# How many chunks exceed the embedded model's token limit.


_BATCH = 1024
_MANY = 10_000  # fewer take a few seconds at most


def chunks_read_in_part(chunks: Sequence[Chunk]) -> int:
    """Return how many chunks have more tokens than the embedded model reads, its two marks included.

    Raises:
        MissingDependency: the model, or what it is computed with, is not installed.
        ModelError: the model is not the one expected.
    """
    embedder = OnnxEmbedder()
    count = 0
    with track("count tokens", len(chunks), "chunks", show=None if len(chunks) > _MANY else False) as advance:
        for first in range(0, len(chunks), _BATCH):
            batch = chunks[first : first + _BATCH]
            count += sum(embedder.read_in_part([chunk.indexed_text for chunk in batch]))
            advance(len(batch))
    return count
