"""Rankings and judgments as columns, from tables that were read in bulk or from rows that were read one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from raglift.matching.numbered import NumberedLabels, all_texts, repeats_an_id, texts_at
from raglift.storage.rankings.forms import GRADE, ID, QUERY_ID, RANK, SCORE
from raglift.types.labels import RELEVANT
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from raglift.matching.numbered import Codes, Texts


@dataclass(frozen=True, eq=False)
class Hits:
    """What a file of rankings says, in its own order: one row per hit."""

    queries: tuple[str, ...]
    """The ids of the queries, each once, in the order in which they first appear."""
    names: Texts
    """The ids of the hits, each once."""
    query: Codes
    """For each hit, which of `queries` it is for."""
    id: Codes
    """For each hit, which of `names` it is."""
    score: NDArray[Any] | None = None
    """For each hit, its score; more comes first. None if the file's own order counts."""
    rank: Codes | None = None
    """For each hit, the rank that the file gives next to the score that counts; None if it gives none."""


Labels: TypeAlias = "NumberedLabels | dict[str, dict[str, int]]"
"""For each query id, the grade of each judged id."""


class Row(NamedTuple):
    """A hit or a judgment of a file."""

    location: Location
    query_id: str
    id: str | None
    """The id of the hit or of what was judged; None of a query that may have no hits at all."""
    value: float | int | None
    """The score of a hit, None if the file's own order counts; or the grade of a judgment."""
    rank: int | None = None
    """The rank that the file gives next to the score that counts; None if it gives none."""
    hint: str = ""
    """What is added to a fault about another judgment of the same pair."""


def hits_of_table(table: pa.Table) -> Hits | None:
    """Return the hits of a table; None if something in it is a fault, which reading it row by row finds.

    Args:
        table: columns `query_id` and `id` of texts, and optionally `score`, of which more comes first, and `rank`,
            which is only compared with the scores.
    """
    named = _named_rows(table)
    if named is None:
        return None
    query, queries, ids, names = named
    score, rank = (table.column(name).to_numpy() if name in table.column_names else None for name in (SCORE, RANK))
    if score is not None:
        score = score.astype(np.float64, copy=False)  # an unsigned number has no negative one, by which it is sorted
        if np.isnan(score).any():
            return None
    return Hits(queries, names, query, ids, score, rank)


def labels_of_table(table: pa.Table) -> Labels | None:
    """Return the judgments of a table; None if something in it is a fault, or comes twice.

    Args:
        table: columns `query_id` and `id` of texts, and `grade` of integers.
    """
    named = _named_rows(table)
    if named is None:
        return None
    query, queries, ids, names = named
    grades = table.column(GRADE).to_numpy().astype(np.int64)
    return NumberedLabels.of_columns(queries, names, query, ids, grades) if (grades < RELEVANT.stop).all() else None


def _named_rows(table: pa.Table) -> tuple[Codes, tuple[str, ...], Codes, Texts] | None:
    """Return the numbers and the texts of queries and ids; None if one is missing or blank, or an id comes twice."""
    if not table.num_rows or any(column.null_count for column in table.columns):
        return None
    query, query_texts = encoded_texts(table.column(QUERY_ID))
    ids, names = encoded_texts(table.column(ID))
    queries = tuple(all_texts(query_texts))
    if not all(map(str.strip, (*queries, *all_texts(names)))):
        return None
    return None if repeats_an_id(query, ids, len(queries), len(names)) else (query, queries, ids, names)


def encoded_texts(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Return a column of texts as numbers, and the texts that they stand for, in the order of their appearance.

    Args:
        column: texts, as a dictionary of its own in each chunk or plain.
    """
    if not pa.types.is_dictionary(column.type):
        encoded = column.combine_chunks().dictionary_encode()
        return encoded.indices.to_numpy(), encoded.dictionary
    chunks = (column if column.num_chunks == 1 else column.unify_dictionaries()).chunks
    return np.concatenate([chunk.indices.to_numpy() for chunk in chunks]), chunks[0].dictionary


def hits_of_rows(rows: Iterable[Row]) -> Hits:
    """Return the hits of rows, of which all or none have a score; an id that a query already has is a fault."""
    first: dict[str, dict[str, Location]] = {}
    hits = []
    for row in rows:
        of_query = first.setdefault(row.query_id, {})
        if row.id is None:
            continue
        earlier = of_query.setdefault(row.id, row.location)
        if earlier is row.location:
            hits.append(row)
        else:
            found = f"the id {quoted(row.id)} a second time for the query {quoted(row.query_id)}"
            row.location.fault(f"{found}, first {_position_of(earlier)}", "each id once in a ranking")
    query_number = {query: number for number, query in enumerate(first)}
    id_number: dict[str, int] = {}
    scores, ranks = [row.value for row in hits], [row.rank for row in hits]
    return Hits(
        queries=tuple(query_number),
        query=np.array([query_number[row.query_id] for row in hits], dtype=np.int64),
        id=np.array([id_number.setdefault(str(row.id), len(id_number)) for row in hits], dtype=np.int64),
        names=pa.array(id_number, pa.string()),
        score=None if None in scores or not scores else np.array(scores, dtype=np.float64),
        rank=None if None in ranks or not ranks else np.array(ranks, dtype=np.int64),
    )


def labels_of_rows(rows: Iterable[Row]) -> Labels:
    """Return the judgments of rows; the same one again changes nothing, another of the same pair is a fault."""
    grades: dict[str, dict[str, int]] = {}
    first: dict[tuple[str, str], Location] = {}
    for row in rows:
        grade = int(row.value or 0)
        known = grades.setdefault(row.query_id, {}).setdefault(str(row.id), grade)
        earlier = first.setdefault((row.query_id, str(row.id)), row.location)
        if known != grade:
            found = f"the grade {grade} for {quoted(str(row.id))}, which has {known} {_position_of(earlier)}"
            row.location.fault(found, f"one grade for each query and id{row.hint}")
    return grades


def _position_of(earlier: Location) -> str:
    """Return where something was before: `on line 3`, `in row 7`."""
    return f"in {earlier.field}" if earlier.line is None else f"on line {earlier.line}"


def contradicted_queries(hits: Hits) -> list[str]:
    """Return the queries in which a hit with a higher score than another has a later rank, in the file's order."""
    if hits.rank is None or hits.score is None:
        return []
    same, falling = hits.query[1:] == hits.query[:-1], hits.score[1:] <= hits.score[:-1]
    if (hits.query[1:] >= hits.query[:-1]).all() and (~same | (falling & (hits.rank[1:] >= hits.rank[:-1]))).all():
        return []  # as most files are
    order = np.lexsort((hits.rank, -hits.score, hits.query))
    query, score, rank = hits.query[order], hits.score[order], hits.rank[order]
    # Equal scores are in the order of their ranks, so an earlier rank can only follow where the score falls
    falls = (query[1:] == query[:-1]) & (rank[1:] < rank[:-1]) & (score[1:] < score[:-1])
    return [hits.queries[number] for number in np.unique(query[1:][falls]).tolist()]


def ranking_order(hits: Hits) -> tuple[Codes, Codes]:
    """Return the ids of all rankings, one after the other and best first, and where each begins and the last ends.

    Scores descend, and equal ones are ordered by id, descending by code points, as trec_eval does with bytes of
    UTF-8: both orders are the same. Without scores each ranking keeps the file's order.
    """
    ends = np.cumsum(np.bincount(hits.query, minlength=len(hits.queries)))
    bounds = np.concatenate(([0], ends)).astype(np.int64)
    order = np.argsort(hits.query, kind="stable") if (hits.query[1:] < hits.query[:-1]).any() else None
    if hits.score is None:
        return (hits.id if order is None else hits.id[order]), bounds
    query, score = (hits.query, hits.score) if order is None else (hits.query[order], hits.score[order])
    if not ((score[1:] <= score[:-1]) | (query[1:] != query[:-1])).all():
        order = np.lexsort((-hits.score, hits.query))
        query, score = hits.query[order], hits.score[order]
    ids = hits.id if order is None else hits.id[order]
    return _ties_by_id(ids, query, score, hits.names), bounds


def _ties_by_id(ids: Codes, query: Codes, score: NDArray[Any], names: Texts) -> Codes:
    """Return the ids with those of equal score in descending order of their texts."""
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    if not same.any():
        return ids
    tied = np.zeros(len(ids), dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    is_first = tied.copy()
    is_first[1:] &= ~same
    group = np.cumsum(is_first[tied])
    of_tied, number = np.unique(ids[tied], return_inverse=True)
    location = np.empty(len(of_tied), dtype=np.int64)
    location[_sorted_places(texts_at(names, of_tied))] = np.arange(len(of_tied))
    result = ids.copy()
    result[tied] = ids[tied][np.lexsort((-location[number], group))]
    return result


def _sorted_places(texts: Sequence[str]) -> list[int]:
    return sorted(range(len(texts)), key=texts.__getitem__)
