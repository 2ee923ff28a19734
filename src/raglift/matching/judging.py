"""Every hit of every stage against every passage of its query."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from raglift.chunking.token_counts import TokenCounts
from raglift.matching.coverage import covered_matches
from raglift.matching.judgements import FactTable, HitPlaces, Judgements, Matches, PassageTable, satisfactions_of
from raglift.matching.labelled import is_inside
from raglift.matching.pieces import cover_passage
from raglift.matching.texts import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.matching.judgements import Reach, Satisfactions
    from raglift.matching.rule import MatchRule
    from raglift.records import Chunk, Query, Ranking

__all__ = ["fact_table", "judge", "passage_table"]


def judge(
    queries: Sequence[Query],
    rankings: Sequence[Sequence[Ranking]],
    rule: MatchRule,
    *,
    reach: Reach | None = None,
    counter: TokenCounts | None = None,
) -> list[Judgements]:
    """Match every hit of every stage to every passage of its query, and tell which were judged irrelevant.

    Args:
        queries: the queries; those without labels have no facts and match nothing.
        rankings: for each stage, one ranking a query in the order of the queries.
        rule: what counts as a match.
        reach: what the chunks of the index allow, where they are known.
        counter: counts tokens, when a metric asks for them; by default a new one.

    Returns:
        One `Judgements` a stage, in the order of the stages.
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
                    rows[stage] += [(number, hit.rank, is_repeat, *piece) for piece in found]
                seen.add(chunk.id)
        first_fact += len(query.facts)
    judgements = []
    for stage_rows, unwanted_hits, repeats, of_stage in zip(rows, irrelevant, repeated, rankings, strict=True):
        pieces, by_text_alone = _pieces(stage_rows)
        matches = pieces.take(pieces.relevant)
        judgements.append(
            Judgements(
                queries=len(queries),
                hits=np.array([len(ranking) for ranking in of_stage], dtype=np.int64),
                rankings=of_stage,
                facts=facts,
                passages=passages,
                matches=matches,
                pieces=pieces,
                satisfied=_satisfied(facts, passages, matches, pieces, rule, text),
                irrelevant=HitPlaces.of(unwanted_hits),
                judged_irrelevant=judged_irrelevant,
                repeats=HitPlaces.of(repeats),
                by_text_alone=int(np.count_nonzero(by_text_alone & pieces.relevant)),
                reach=reach,
                query_ids=query_ids,
                counter=counter,
            )
        )
    return judgements


def _satisfied(
    facts: FactTable, passages: PassageTable, matches: Matches, pieces: Matches, rule: MatchRule, text: Text
) -> Satisfactions:
    if rule.by_coverage:
        matches = pieces.take(covered_matches(passages, pieces, rule, text))
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
                (fact, number, passage.grade, *piece, passage.doc_id is not None and chunk.doc_id is None)
                for fact, number, passage in self._passages
                if (piece := cover_passage(chunk, passage, self._rule, self._text)) is not None
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


def _pieces(rows: list[tuple[int, ...]]) -> tuple[Matches, NDArray[np.bool_]]:
    """Return the pieces, and which of them were told by text though the passage names a document."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 13)
    query, rank, repeated, fact, passage, grade, direction, start, end, first, last, relevant, alone = table.T
    flags = (column.astype(np.bool_) for column in (repeated, relevant))
    pieces = Matches(query, rank, fact, passage, grade, direction.astype(np.int8), start, end, first, last, *flags)
    return pieces, alone.astype(np.bool_)
