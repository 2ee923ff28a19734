"""What a way of chunking does to labels: how they lie in the chunks, and what can be reached with them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.auditing.records import Attainable, ChunkingAudit
from raglift.diagnosis.attainable import best_facts_at
from raglift.diagnosis.requirements import requirements_of
from raglift.matching import Direction, MatchRule, Text, cover_passage, match_passage
from raglift.matching.inventory import touching_chunks
from raglift.matching.places import Places
from raglift.records import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.auditing.labels import Label, Whereabouts
    from raglift.diagnosis.requirements import Pieces
    from raglift.matching import PassageMatch
    from raglift.matching.inventory import Touches
    from raglift.records import Chunk, Dataset

__all__ = ["audit_chunking"]

_BATCH = 1 << 16
_Key = tuple[int, int, int]
"""Query, fact of the query, alternative."""


@dataclass(frozen=True, eq=False)
class Located:
    """The passages of the labelled queries and where they are, looked for once for all ways of chunking."""

    passages: Mapping[_Key, Passage]
    """In dataset order; with its place where a passage has only one."""
    places: Places
    """Of these passages, by their numbers."""

    @classmethod
    def of(cls, dataset: Dataset, labels: Sequence[Label], found_at: Sequence[Whereabouts], places: Places) -> Located:
        """Return the passages of labelled queries alone, of all the labels."""
        passages: dict[_Key, Passage] = {}
        number = np.full(len(labels), -1, dtype=np.int64)
        for row, (label, at) in enumerate(zip(labels, found_at, strict=True)):
            if dataset.queries[label.query].is_labelled:
                number[row] = len(passages)
                passages[label.query, label.fact, label.alternative] = _placed(label.passage, at, dataset)
        passage = number[places.passage]
        kept = passage >= 0
        return cls(passages, Places(passage[kept], places.document[kept], places.start[kept], places.end[kept]))


def audit_chunking(
    name: str,
    chunks: Sequence[Chunk],
    dataset: Dataset,
    located: Located,
    rule: MatchRule,
    ks: Sequence[int],
    read_in_part: int | None,
) -> ChunkingAudit:
    """Return what a way of chunking does to the labels.

    Args:
        name: of the chunker.
        chunks: all its chunks, with checked offsets.
        dataset: the queries, and the documents.
        located: the passages of its labelled queries, with their places.
        rule: what counts as a match, for the attainable recall.
        ks: the depths of the attainable recall.
        read_in_part: how many chunks the embedding model reads in part, if that is known.
    """
    touches = touching_chunks(
        dataset.queries,
        chunks,
        dataset.documents,
        minimum_length=rule.minimum_length,
        unicode_folding=rule.unicode_folding,
        also_by_text=True,  # matching does not look at the places of literal texts
        places=located.places,
    )
    directions, pieces = _compare(dataset, located.passages, chunks, touches, rule)
    lengths = np.array([len(chunk.text) for chunk in chunks], dtype=np.float64)
    return ChunkingAudit(
        name=name,
        chunks=len(chunks),
        mean_length=float(lengths.mean()) if len(lengths) else float("nan"),
        read_in_part=read_in_part,
        placements=tuple(_placement(directions[key]) for key in located.passages),
        attainable=tuple(_attainable(dataset, pieces, rule, ks)),
    )


def _placed(passage: Passage, at: Whereabouts, dataset: Dataset) -> Passage:
    """Return a passage with its place, when it has only one."""
    if passage.chunk_id is not None or at.count != 1:
        return passage
    place = at.places[0]
    text = dataset.document_by_id[place.doc_id].text[place.start : place.end]
    return Passage(text, place.doc_id, place.start, place.end)


def _compare(
    dataset: Dataset, placed: Mapping[_Key, Passage], chunks: Sequence[Chunk], touches: Touches, rule: MatchRule
) -> tuple[dict[_Key, set[int]], dict[int, dict[tuple[int, int], list[tuple[int, PassageMatch]]]]]:
    """Compare passages with the chunks that touch them.

    Returns:
        For each passage, how chunks lie to it (values of `Direction`), told by places where they are known; and for
        each query, what matches by the rule.
    """
    by_place = MatchRule("coverage", rule.minimum_length, rule.unicode_folding)
    directions: dict[_Key, set[int]] = defaultdict(set)
    pieces: dict[int, dict[tuple[int, int], list[tuple[int, PassageMatch]]]] = defaultdict(lambda: defaultdict(list))
    text, batch = Text(rule), 0
    for query, fact, alternative, number in _rows(dataset, touches):
        if number // _BATCH != batch:  # normalized texts of no more chunks than that are kept
            text, batch = Text(rule), number // _BATCH
        key, chunk = (query, fact, alternative), chunks[number]
        piece = cover_passage(chunk, placed[key], by_place, text)
        if piece is not None:
            directions[key].add(piece.direction)
        passage = dataset.queries[query].facts[fact].passages[alternative]
        match = match_passage(chunk, passage, rule, text)
        if match is not None:
            pieces[query][fact, alternative].append((number, match))
    return directions, pieces


def _placement(directions: set[int]) -> str:
    if directions & {Direction.CHUNK_CONTAINS_PASSAGE, Direction.SAME_ID}:
        return "inside"
    if Direction.PASSAGE_CONTAINS_CHUNK in directions:
        return "in pieces"
    return "straddling" if directions else "missing"


def _attainable(
    dataset: Dataset, pieces: Mapping[int, Pieces], rule: MatchRule, ks: Sequence[int]
) -> Iterator[Attainable]:
    """Yield the best recall at each depth: the mean over the labelled queries."""
    queries = [(number, query) for number, query in enumerate(dataset.queries) if query.is_labelled]
    best = [best_facts_at(requirements_of(query, pieces.get(number, {}), rule), ks) for number, query in queries]
    for place, k in enumerate(ks):
        recalls = [of[place].facts / len(query.facts) for of, (_, query) in zip(best, queries, strict=True)]
        recall = float(np.mean(recalls)) if recalls else float("nan")
        yield Attainable(k, recall, all(of[place].exact for of in best))


def _rows(dataset: Dataset, touches: Touches) -> Iterator[tuple[int, int, int, int]]:
    """Yield (query, fact of the query, alternative, chunk), by chunk."""
    facts = [len(query.facts) if query.is_labelled else 0 for query in dataset.queries]
    first = np.cumsum([0, *facts])
    order = np.argsort(touches.chunk, kind="stable")
    query, chunk = touches.query[order], touches.chunk[order]
    fact = touches.fact[order] - first[query]
    yield from zip(query.tolist(), fact.tolist(), touches.passage[order].tolist(), chunk.tolist(), strict=True)
