"""Hits matched to passages, and upper bounds from the chunks of an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from raglift.matching.chunk_index import touching_chunks
from raglift.matching.coverage import Interval, covered_length, covered_matches
from raglift.matching.matches import (
    Direction,
    FactTable,
    HitPositions,
    Matches,
    MatchTable,
    PassageTable,
    Satisfactions,
    SpanUpperBound,
    satisfactions_of,
)
from raglift.matching.overlap import best_covered, cover_passage, covered_characters, shared_by_offsets
from raglift.matching.rule import MatchRule, Text
from raglift.text.tokens import TokenCounts
from raglift.types.rankings import Inventory, Ranking

if TYPE_CHECKING:
    from raglift.types.documents import Chunk, Document
    from raglift.types.labels import Passage, Query


# The matches of one chunk with the labels of a query.


def is_inside(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> bool:
    """Return whether a chunk is a passage itself, or lies inside it: then what was judged of the passage holds for it.

    So is told which hits were judged irrelevant. A chunk that merely contains such words is not judged by that: the
    rest of it may help.
    """
    overlap = cover_passage(chunk, passage, rule, text)
    if overlap is None or not overlap.relevant or overlap.direction == Direction.OVERLAP:
        return False
    if overlap.direction != Direction.CHUNK_CONTAINS_PASSAGE:
        return True
    passage_text, chunk_text = text(passage.text or ""), text(chunk.text)
    return passage_text == chunk_text or (rule.mode == "fuzzy" and _are_alike(passage_text, chunk_text, rule))


def _are_alike(passage_text: str, chunk_text: str, rule: MatchRule) -> bool:
    """Return whether two texts are nearly one, from end to end."""
    from rapidfuzz.fuzz import ratio

    return ratio(passage_text, chunk_text) >= 100 * (rule.threshold or 0)


def grade_by_labels(query: Query, chunk: Chunk, rule: MatchRule, text: Text) -> int | None:
    """Return the grade that labels give to a chunk by itself.

    It is the highest grade of a passage of a fact that the chunk matches; 0 where it matches none, and is or lies
    inside what was judged irrelevant; None if the labels do not cover it.
    """
    passages = [passage for fact in query.facts for passage in fact.passages] if query.answerable else []
    grades = [
        passage.grade
        for passage in passages
        if (overlap := cover_passage(chunk, passage, rule, text)) is not None and overlap.relevant
    ]
    if grades:
        return max(grades)
    return 0 if any(is_inside(chunk, passage, rule, text) for passage in query.judged_irrelevant) else None


# Matching every hit of every stage with every passage of its query.


def match_rankings(
    queries: Sequence[Query],
    rankings: Sequence[Sequence[Ranking]],
    rule: MatchRule,
    *,
    reach: SpanUpperBound | None = None,
    counter: TokenCounts | None = None,
) -> list[MatchTable]:
    """Match every hit of every stage to every passage of its query, and tell which were judged irrelevant.

    Args:
        queries: the queries; those without labels have no facts and match nothing.
        rankings: for each stage, one ranking per query in the order of the queries.
        rule: what counts as a match.
        reach: what the chunks of the index allow, where they are known.
        counter: counts tokens, when a metric asks for them; by default a new one.

    Returns:
        One `MatchTable` a stage, in the order of the stages.
    """
    counter = counter or TokenCounts()
    facts, passages = fact_table(queries), passage_table(queries)
    query_ids = tuple(query.id for query in queries)
    judged_irrelevant = np.array(
        [len(set(query.judged_irrelevant)) if query.is_labelled else 0 for query in queries], dtype=np.int64
    )
    text = Text(rule)
    rows: list[list[tuple[int, ...]]] = [[] for _ in rankings]
    irrelevant: list[list[tuple[int, int]]] = [[] for _ in rankings]
    repeated: list[list[tuple[int, int]]] = [[] for _ in rankings]
    first_fact = 0
    for number, query in enumerate(queries):
        if not query.is_labelled:
            continue
        wanted = _Wanted(query, first_fact, rule, text)
        if query.judged_irrelevant:
            unwanted = _Unwanted(query, rule, text)
            for stage, of_stage in enumerate(rankings):
                irrelevant[stage] += [(number, hit.rank) for hit in of_stage[number].hits if hit.chunk in unwanted]
        for stage, of_stage in enumerate(rankings):
            seen: set[str] = set()
            for hit in of_stage[number].hits:
                chunk = hit.chunk
                is_repeat = chunk.id in seen
                if is_repeat:
                    repeated[stage].append((number, hit.rank))
                if found := wanted.pieces_of(chunk):
                    rows[stage] += [(number, hit.rank, is_repeat, *overlap) for overlap in found]
                seen.add(chunk.id)
        first_fact += len(query.facts)
    match_tables: list[MatchTable] = []
    for stage_rows, unwanted_hits, repeats, of_stage in zip(rows, irrelevant, repeated, rankings, strict=True):
        overlaps, by_text_alone = _overlaps(stage_rows)
        matches = overlaps.take(overlaps.relevant)
        match_tables.append(
            MatchTable(
                queries=len(queries),
                hits=np.array([len(ranking) for ranking in of_stage], dtype=np.int64),
                rankings=of_stage,
                facts=facts,
                passages=passages,
                matches=matches,
                overlaps=overlaps,
                satisfied=_satisfied(facts, passages, matches, overlaps, rule, text),
                irrelevant=HitPositions.of(unwanted_hits),
                judged_irrelevant=judged_irrelevant,
                repeats=HitPositions.of(repeats),
                by_text_alone=int(np.count_nonzero(by_text_alone & overlaps.relevant)),
                reach=reach,
                query_ids=query_ids,
                counter=counter,
                rule=rule,
            )
        )
    return match_tables


def satisfied_by_hits(match_table: MatchTable, keep: NDArray[np.bool_]) -> Satisfactions:
    """Return at which rank each fact is satisfied if only some of the hits had come back, at the ranks that they have.

    Args:
        match_table: all hits.
        keep: for each hit, query after query in the order of rank, whether it came back.
    """
    first = np.cumsum(match_table.hits) - match_table.hits
    matches, overlaps, rule = match_table.matches, match_table.overlaps, match_table.rule
    selected = matches.take(keep[first[matches.query] + matches.rank - 1])
    if rule is None or not rule.by_coverage:
        return satisfactions_of(match_table.facts, selected)
    covering = overlaps.take(keep[first[overlaps.query] + overlaps.rank - 1])
    return _satisfied(match_table.facts, match_table.passages, selected, covering, rule, Text(rule))


def _satisfied(
    facts: FactTable, passages: PassageTable, matches: Matches, overlaps: Matches, rule: MatchRule, text: Text
) -> Satisfactions:
    if rule.by_coverage:
        matches = overlaps.take(covered_matches(passages, overlaps, rule, text))
    return satisfactions_of(facts, matches)


class _Wanted:
    """The passages of a query's facts, and what each distinct chunk covers of them."""

    def __init__(self, query: Query, first_fact: int, rule: MatchRule, text: Text) -> None:
        self._rule, self._text = rule, text
        facts = enumerate(query.facts, start=first_fact)
        self._passages = [(fact, number, passage) for fact, of in facts for number, passage in enumerate(of.passages)]
        # A chunk of any other document covers nothing; None stands for what may be in every document
        documents = {passage.doc_id if passage.chunk_id is None else None for _, _, passage in self._passages}
        self._documents = None if None in documents else {*documents, None}
        self._known: dict[_Key, list[tuple[int, ...]]] = {}

    def pieces_of(self, chunk: Chunk) -> Sequence[tuple[int, ...]]:
        """Return (fact, passage, grade, *PassageMatch, by text alone) for each passage it covers a part of."""
        if self._documents is not None and chunk.doc_id not in self._documents:
            return ()
        key = _key(chunk)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = [
                (fact, number, passage.grade, *overlap, passage.doc_id is not None and chunk.doc_id is None)
                for fact, number, passage in self._passages
                if (overlap := cover_passage(chunk, passage, self._rule, self._text)) is not None
            ]
        return found


class _Unwanted:
    """What was judged irrelevant for a query, and which chunks that tells of."""

    def __init__(self, query: Query, rule: MatchRule, text: Text) -> None:
        self._passages, self._rule, self._text = query.judged_irrelevant, rule, text
        self._known: dict[_Key, bool] = {}

    def __contains__(self, chunk: Chunk) -> bool:
        key = _key(chunk)
        if key not in self._known:
            self._known[key] = any(is_inside(chunk, passage, self._rule, self._text) for passage in self._passages)
        return self._known[key]


_Key: TypeAlias = "tuple[str | int | None, ...]"


def _key(chunk: Chunk) -> _Key:
    """Return everything of a chunk that matching looks at."""
    return chunk.id, chunk.doc_id, chunk.start, chunk.end, chunk.text


def fact_table(queries: Sequence[Query]) -> FactTable:
    """Return the facts of the labelled queries, in their order."""
    rows = [
        (number, fact.ideal_grade, len(fact.passages))
        for number, query in enumerate(queries)
        if query.is_labelled
        for fact in query.facts
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return FactTable(table[:, 0], table[:, 1], table[:, 2])


def passage_table(queries: Sequence[Query]) -> PassageTable:
    """Return the passages of the facts of the labelled queries, in their order."""
    labelled = [query for query in queries if query.is_labelled]
    facts = [fact for query in labelled for fact in query.facts]
    passages = [passage for fact in facts for passage in fact.passages]
    counts = np.array([len(fact.passages) for fact in facts], dtype=np.int64)
    return PassageTable(
        first=np.cumsum(counts) - counts,
        texts=tuple(passage.text for passage in passages),
        places=tuple(
            None if passage.doc_id is None or passage.start is None else (passage.doc_id, passage.start)
            for passage in passages
        ),
        grades=np.array([passage.grade for passage in passages], dtype=np.int64),
        same_as=np.array(_first_of_same(labelled), dtype=np.int64),
        ids=tuple(passage.chunk_id for passage in passages),
    )


def _first_of_same(queries: Sequence[Query]) -> list[int]:
    """Return for each passage the row of the first one of its query that is the same label."""
    rows: list[int] = []
    for query in queries:
        first: dict[tuple[str | int | None, ...], int] = {}
        for passage in (passage for fact in query.facts for passage in fact.passages):
            words = (passage.text, passage.doc_id, passage.start, passage.end)
            key = words if passage.chunk_id is None else (passage.chunk_id,)
            rows.append(first.setdefault(key, len(rows)))
    return rows


def _overlaps(rows: list[tuple[int, ...]]) -> tuple[Matches, NDArray[np.bool_]]:
    """Return the pieces, and which of them were told by text though the passage names a document."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 13)
    query, rank, repeated, fact, passage, grade, direction, start, end, first, last, relevant, alone = table.T
    flags = (column.astype(np.bool_) for column in (repeated, relevant))
    overlaps = Matches(query, rank, fact, passage, grade, direction.astype(np.int8), start, end, first, last, *flags)
    return overlaps, alone.astype(np.bool_)


# Upper bounds from the chunks of an index, independent of retrieval.


def inventory_of(
    queries: Sequence[Query],
    chunks: Sequence[Chunk],
    documents: Sequence[Document],
    rule: MatchRule,
    *,
    progress: bool | None = None,
) -> Inventory:
    """Return what an evaluation needs to know of all chunks: how many there are, and those that overlap a passage.

    Those that only abut a passage are among them: Chroma's precision omega counts them.
    """
    touches = touching_chunks(
        queries,
        chunks,
        documents,
        minimum_length=rule.minimum_length,
        unicode_folding=rule.unicode_folding,
        also_by_text=True,  # so that the run can be scored again by another rule
        abutting=True,
        progress=progress,
    )
    numbers, chunk = np.unique(touches.chunk, return_inverse=True)
    rows = zip(touches.query.tolist(), touches.fact.tolist(), touches.passage.tolist(), chunk.tolist(), strict=True)
    touching = tuple(chunks[number] for number in numbers.tolist())
    return Inventory(len(chunks), touching, tuple(rows), rule.minimum_length, rule.unicode_folding)


def span_upper_bound_of(queries: Sequence[Query], inventory: Inventory, rule: MatchRule) -> SpanUpperBound:
    """Return what retrieving exactly the chunks that overlap a passage would give.

    If the locations of both are known, they alone decide, and a chunk that only abuts the passage counts as
    overlapping, as in Chroma's code; otherwise a chunk overlaps a passage if it covers a part of it. Of alternatives,
    the one that these chunks cover best counts, with the chunks that overlap it.
    """
    facts, passages, text = fact_table(queries), passage_table(queries), Text(rule)
    flat = [passage for query in queries if query.is_labelled for fact in query.facts for passage in fact.passages]
    overlaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
    touching: dict[int, list[Chunk]] = defaultdict(list)
    for _, fact, alternative, number in inventory.touches:
        row, chunk = int(passages.first[fact]) + alternative, inventory.touching[number]
        part = _covered_part(chunk, flat[row], rule, text)
        if part is not None:
            overlaps[row].append(part)
            touching[row].append(chunk)
    covered, passage_characters = covered_characters(len(queries), facts, passages, overlaps)
    returned = np.zeros(len(queries), dtype=np.int64)
    of_query: dict[int, list[Chunk]] = defaultdict(list)
    for query, best in zip(facts.query.tolist(), best_covered(facts, passages, overlaps), strict=True):
        of_query[query] += touching.get(-1 if best is None else best, [])
    for query, chunks in of_query.items():
        returned[query] = _source_characters(chunks)
    return SpanUpperBound(covered=covered, passages=passage_characters, chunks=returned)


def _covered_part(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> Interval | None:
    """Return the characters of a passage's own text that a chunk covers, none or more; None if they do not overlap."""
    if passage.text is None:
        return None
    shared = shared_by_offsets(chunk, passage)
    if shared is not None:
        return shared if shared[0] <= shared[1] else None
    overlap = cover_passage(chunk, passage, rule, text)
    return None if overlap is None else (overlap.start, overlap.end)


def _source_characters(chunks: Sequence[Chunk]) -> int:
    """Return how many characters of the source chunks hold, each once; chunks without a location share none."""
    lines: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for chunk in chunks:
        if chunk.doc_id is None or chunk.start is None or chunk.end is None:
            lines["text", chunk.text].append((0, len(chunk.text)))
        else:
            lines[chunk.doc_id].append((chunk.start, chunk.end))
    return sum(covered_length(intervals) for intervals in lines.values())
