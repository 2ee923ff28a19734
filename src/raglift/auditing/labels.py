"""What an audit checks: labels and where their texts occur, the nearest text, and chunks too long for the model."""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.auditing.result import Finding, Nearest, Place
from raglift.base.normalization import normalize, normalize_with_offsets
from raglift.base.prefixes import Occurrences, Patterns
from raglift.base.progress import track
from raglift.base.validation import quoted
from raglift.components.models import embedded_model_path
from raglift.errors import MissingDependency
from raglift.matching.chunk_index import find_places
from raglift.matching.overlap import SHORTEST_OVERLAP, longest_overlap
from raglift.records.labels import Passage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from raglift.auditing.result import Kind
    from raglift.base.normalization import NormalizedText
    from raglift.matching.chunk_index import Places
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Chunk, Document


# The part of the documents most similar to a text that does not occur in them. Short parts of the text (seeds) are
# searched in all documents at once; where several occur at the same distances as in the text, that passage is compared
# with it. So the cost is linear in the documents, and only a few passages per text are compared character by character.


_SEED = 12  # characters: a word or two
_MOST_SEEDS = 64  # a text
_BUCKET = 64  # characters by which what stands between two seeds may have grown or shrunk
_CANDIDATES = 3
_LONGEST = 2000  # characters of a text that are compared
_LEAST_LIKENESS = 60.0
_WORD_END = 30  # no further than this to the end of a word


class _Candidate(NamedTuple):
    weight: float
    document: int
    offset: int
    """Where the text would begin in the normalized document."""


def nearest_passages(texts: Sequence[str], documents: Sequence[Document]) -> list[Nearest | None]:
    """Return, for each text, the passage of the documents that is most like it; None if nothing is.

    Args:
        texts: what occurs nowhere.
        documents: the source texts.
    """
    wanted = [normalize(text)[:_LONGEST] for text in texts]
    seeds = [(number, at) for number, text in enumerate(wanted) for at in _seeds(text)]
    best: list[list[_Candidate]] = [[] for _ in texts]
    search = Patterns([wanted[number][at : at + _SEED] for number, at in seeds]) if seeds else None
    if search is None:
        return [None] * len(texts)
    origin = np.array(seeds, dtype=np.int64)
    for number, found in enumerate(search.find(normalize(document.text) for document in documents)):
        for text, candidate in _candidates(found, origin, number):
            heapq.heappush(best[text], candidate)
            if len(best[text]) > _CANDIDATES:
                heapq.heappop(best[text])
    return _compare(wanted, best, documents)


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
    wanted: list[str], candidates: list[list[_Candidate]], documents: Sequence[Document]
) -> list[Nearest | None]:
    """Compare the texts with the text at their candidates, one document after the other."""
    best: list[Nearest | None] = [None] * len(wanted)
    flat = sorted((each.document, number, each.offset) for number, of in enumerate(candidates) for each in of)
    current, source = -1, normalize_with_offsets("")
    for number, text, offset in flat:
        if number != current:
            current, source = number, normalize_with_offsets(documents[number].text)
        nearest = _nearest_at(wanted[text], documents[number], source, offset)
        known = best[text]
        if nearest is not None and (known is None or nearest.likeness > known.likeness):
            best[text] = nearest
    return best


def _nearest_at(text: str, document: Document, source: NormalizedText, offset: int) -> Nearest | None:
    from rapidfuzz.fuzz import partial_ratio_alignment

    first = max(offset - _BUCKET, 0)
    window = source.text[first : offset + len(text) + 3 * _BUCKET]
    found = partial_ratio_alignment(text, window, score_cutoff=_LEAST_LIKENESS)
    if found is None or found.dest_start == found.dest_end:
        return None
    start, end = _whole_words(source.text, first + found.dest_start, first + found.dest_end)
    start, end = source.source_span(start, end)
    return Nearest(Place(document.id, start, end), document.text[start:end], found.score / 100)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to whole words."""
    while end - start > 1 and text[start] == " ":
        start += 1
    while end - start > 1 and text[end - 1] == " ":
        end -= 1
    before = text.rfind(" ", max(start - _WORD_END, 0), start) + 1
    after = text.find(" ", end, end + _WORD_END)
    return (before or start), (after if after >= 0 else end)


# Properties of labels that need no chunks: where their texts occur, their lengths, and duplicates.


_LISTED = 5
_MOST_COMPARED = 20


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
    """As `relevant[0]`, or `relevant[1][0]` for an alternative."""
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
class Whereabouts:
    """Where a text is."""

    count: int
    """How often it occurs."""
    documents: int
    """In how many documents."""
    places: tuple[Place, ...]
    """The first twenty of them."""

    def __str__(self) -> str:
        listed = ", ".join(f"{quoted(place.doc_id)} at {place.start}" for place in self.places[:_LISTED])
        more = f" and {self.count - _LISTED:,} more" if self.count > _LISTED else ""
        times = "once" if self.count == 1 else f"{self.count:,} times"
        return f"{times} in {self.documents:,} document{'s' * (self.documents != 1)}: {listed}{more}"


def find_whereabouts(
    passages: Sequence[Passage], documents: Sequence[Document], *, unicode_folding: bool
) -> list[Whereabouts]:
    """Return, for each passage, where it is."""
    return whereabouts(find_places(passages, documents, unicode_folding=unicode_folding), len(passages), documents)


def whereabouts(table: Places, passages: int, documents: Sequence[Document]) -> list[Whereabouts]:
    """Return the locations of each passage."""
    bounds = np.searchsorted(table.passage, np.arange(passages + 1)).tolist()
    found = []
    for first, last in pairwise(bounds):
        shown = slice(first, min(last, first + _MOST_COMPARED))
        rows = zip(table.document[shown].tolist(), table.start[shown].tolist(), table.end[shown].tolist(), strict=True)
        places = tuple(Place(documents[document].id, start, end) for document, start, end in rows)
        found.append(Whereabouts(last - first, len(np.unique(table.document[first:last])), places))
    return found


def audit_labels(
    dataset: Dataset,
    labels: Sequence[Label],
    found_at: Sequence[Whereabouts],
    *,
    chunk_ids: Collection[str] | None,
    unicode_folding: bool,
) -> tuple[Finding, ...]:
    """Return what is found about the labels, by query.

    Args:
        dataset: the queries, and the documents; without documents nothing is said of where texts occur.
        labels: from `labels_of`.
        found_at: for each label, where it is.
        chunk_ids: the ids of the chunks, when they are known.
        unicode_folding: whether to normalize as matching does with it.
    """
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


def _about_one(
    dataset: Dataset, label: Label, chunk_ids: Collection[str] | None, unicode_folding: bool
) -> Iterator[Finding]:
    passage = label.passage
    if not dataset.queries[label.query].answerable:
        yield label.finding("unanswerable", "the query is marked as not answerable, so this fact is not scored")
    if passage.chunk_id is not None:
        if chunk_ids is not None and passage.chunk_id not in chunk_ids:
            yield label.finding("missing chunk", f"none of {len(chunk_ids):,} chunks has this id")
        return
    length = len(normalize(passage.text or "", unicode_folding=unicode_folding))
    if length < SHORTEST_OVERLAP:
        yield label.finding("short", f"{length} characters; a text of under {SHORTEST_OVERLAP} may occur by chance")


def _about_places(
    documents: Sequence[Document], labels: Sequence[Label], found_at: Sequence[Whereabouts], unicode_folding: bool
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
    elsewhere = find_whereabouts(anywhere, documents, unicode_folding=unicode_folding)
    texts = [passage.text or "" for passage, others in zip(passages, elsewhere, strict=True) if not others.count]
    nearest = dict(zip(texts, nearest_passages(texts, documents), strict=True))
    for number, passage, others in zip(lost, passages, elsewhere, strict=True):
        if others.count:
            detail = f"not {_named(passage)}, but {others}"
            yield number, labels[number].finding("nowhere", detail, others.places)
        else:
            detail = f"not {_named(passage)}, nor elsewhere" if passage.doc_id else "in no document"
            yield number, labels[number].finding("nowhere", detail, (), nearest[passage.text or ""])


def _named(passage: Passage) -> str:
    at = "" if passage.start is None else f" at {passage.start}"
    return f"in {quoted(passage.doc_id)}{at}, which it names"


def _about_pairs(
    labels: Sequence[Label], found_at: Sequence[Whereabouts], numbers: Sequence[int], unicode_folding: bool
) -> Iterator[tuple[int, Finding]]:
    """Yield what passages of one query have to do with each other."""
    keys = {number: _key(labels[number].passage, unicode_folding) for number in numbers}
    facts: dict[int, set[object]] = defaultdict(set)
    for number in numbers:
        facts[labels[number].fact].add(keys[number])
    said: set[tuple[int, int]] = set()
    for first, second in combinations(numbers, 2):
        one, other = labels[first], labels[second]
        pair = (one.fact, other.fact)
        if one.fact == other.fact:
            if keys[first] == keys[second]:
                yield second, other.finding("duplicate alternative", f"the same as {one.where}")
        elif facts[one.fact] == facts[other.fact]:
            if pair not in said:
                said.add(pair)
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


# How many chunks exceed the embedded model's token limit, computed without loading the model.


_BATCH = 1024
_MANY = 10_000  # fewer take a few seconds at most


def chunks_read_in_part(chunks: Sequence[Chunk]) -> int:
    """Return how many chunks have more tokens than the embedded model reads, its two marks included.

    Raises:
        MissingDependency: the model, or the package `tokenizers`, is not installed.
        ModelError: the model is not the one expected.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingDependency("tokenizers", "local", "counting tokens") from None
    folder = embedded_model_path()
    limit = int(json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    count = 0
    with track("count tokens", len(chunks), "chunks", show=None if len(chunks) > _MANY else False) as advance:
        for first in range(0, len(chunks), _BATCH):
            batch = chunks[first : first + _BATCH]
            encoded = tokenizer.encode_batch_fast([chunk.text for chunk in batch])
            count += sum(len(tokens.ids) > limit for tokens in encoded)
            advance(len(batch))
    return count
