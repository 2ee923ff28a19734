"""The hits of a file as columns, and the order in which they are ranked: no object for a hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

__all__ = ["Hits", "coded", "has_duplicates", "labels_of", "ranked"]


@dataclass(frozen=True, eq=False)
class Hits:
    """What a file says, in its own order: one row a hit."""

    queries: tuple[str, ...]
    """The ids of the queries, each once, in the order in which they first appear."""
    names: NDArray[np.object_]
    """The ids of the hits, each once."""
    query: Codes
    """For each hit, which of `queries` it is for."""
    id: Codes
    """For each hit, which of `names` it is."""
    score: NDArray[Any] | None = None
    """For each hit, its score; more comes first. None where the file's own order counts."""


def coded(column: pa.ChunkedArray) -> tuple[Codes, NDArray[np.object_]]:
    """Return a column of texts as numbers, and the texts that they stand for, in the order of their appearance.

    Args:
        column: texts, as a dictionary of its own in each chunk or plain.
    """
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks
    if not chunks:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.object_)
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    return codes.astype(np.int64), chunks[0].dictionary.to_numpy(zero_copy_only=False)


def has_duplicates(hits: Hits) -> bool:
    """Whether some id comes twice for one query."""
    pairs = np.sort(hits.query * max(len(hits.names), 1) + hits.id)
    return bool((pairs[1:] == pairs[:-1]).any())


def labels_of(
    queries: NDArray[np.object_],
    names: NDArray[np.object_],
    query: Codes,
    id_: Codes,
    grades: NDArray[np.int64],
) -> dict[str, dict[str, int]]:
    """Return columns of judgements as the grade of each id of each query, in the order of their appearance."""
    order = np.argsort(query, kind="stable")
    ids, ordered_grades = names[id_[order]].tolist(), grades[order].tolist()
    ends = np.cumsum(np.bincount(query, minlength=len(queries))).tolist()
    begins = [0, *ends[:-1]]
    return {
        name: dict(zip(ids[begin:end], ordered_grades[begin:end], strict=True))
        for name, begin, end in zip(queries.tolist(), begins, ends, strict=True)
    }


def ranked(hits: Hits) -> tuple[Codes, Codes]:
    """Return the ids of all rankings, one after the other and best first, and where each begins and the last ends.

    Scores descend, and equal ones are ordered by id, descending by code points, as trec_eval does with bytes of
    UTF-8: both orders are the same. Without scores each ranking keeps the file's order.
    """
    ends = np.cumsum(np.bincount(hits.query, minlength=len(hits.queries)))
    bounds = np.concatenate(([0], ends)).astype(np.int64)
    steps = np.diff(hits.query)
    order = np.argsort(hits.query, kind="stable") if not (steps >= 0).all() else None
    if hits.score is None:
        return (hits.id if order is None else hits.id[order]), bounds
    query, score = (hits.query, hits.score) if order is None else (hits.query[order], hits.score[order])
    if not ((score[1:] <= score[:-1]) | (query[1:] != query[:-1])).all():
        order = np.lexsort((-hits.score, hits.query))
        query, score = hits.query[order], hits.score[order]
    ids = hits.id if order is None else hits.id[order]
    return _ties_by_id(ids, query, score, hits.names), bounds


def _ties_by_id(ids: Codes, query: Codes, score: NDArray[Any], names: NDArray[np.object_]) -> Codes:
    """Return the ids with those of equal score in descending order of their texts."""
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    if not same.any():
        return ids
    tied = np.zeros(len(ids), dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    group = np.cumsum(np.concatenate(([True], ~same)))[tied]
    of_tied, number = np.unique(ids[tied], return_inverse=True)
    place = np.empty(len(of_tied), dtype=np.int64)
    place[_sorted_places(names[of_tied].tolist())] = np.arange(len(of_tied))
    result = ids.copy()
    result[tied] = ids[tied][np.lexsort((-place[number], group))]
    return result


def _sorted_places(texts: Sequence[str]) -> list[int]:
    return sorted(range(len(texts)), key=texts.__getitem__)
