"""TREC runs, `query Q0 id rank score tag`, and qrels, `query iteration id relevance`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.base.validation import quoted
from raglift.matching.numbered import NumberedLabels, all_texts, repeats_an_id
from raglift.records.labels import RELEVANT
from raglift.storage.rankings.forms import QRELS_COLUMNS, RUN_COLUMNS
from raglift.storage.rankings.read_tables import (
    HitCollector,
    Hits,
    Labels,
    bulk_table,
    encoded_texts,
    grade_of,
    has_duplicates,
    open_unpacked,
    read_grade,
    rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import IO

    import pyarrow as pa
    from numpy.typing import NDArray

    from raglift.base.validation import Location
    from raglift.matching.numbered import Codes


_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
_QUERY, _, _ID, _RANK, _SCORE, _TAG = RUN_COLUMNS
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_RELEVANCE = QRELS_COLUMNS[3]
_OF_SUBTOPICS = "; qrels whose second column is a subtopic are for measures of diversity, as ndeval's"


def read_trec_run(path: Path, location: Location) -> tuple[Hits, str] | None:
    """Return the hits of a TREC run, and the tag of its last line; None, and faults, where it is malformed.

    Scores are rounded to 32 bits, as trec_eval 9 and pytrec_eval keep them, so what differs beyond that is a tie.
    The rank column does not count; if it holds integers, it is kept to be compared with the scores.
    """
    found = None
    with open_unpacked(path, location) as file:
        found = None if file is None else _in_bulk(file)
    if location.faults:
        return None
    if found is None or has_duplicates(found[0]):
        with open_unpacked(path, location) as file:
            found = None if file is None else _line_by_line(file, location)
    return None if location.faults else found


def _in_bulk(file: IO[bytes]) -> tuple[Hits, str] | None:
    import pyarrow as pa

    text = pa.string()
    found = bulk_table(file, RUN_COLUMNS, {_QUERY: text, _ID: text, _RANK: text, _SCORE: pa.float64()}, (_QUERY, _RANK))
    if found is None:
        return None
    table, last = found
    del found
    score = np.concatenate([_single(chunk.to_numpy()) for chunk in table.column(_SCORE).chunks])
    if np.isnan(score).any():
        return None
    table = _without(table, _SCORE)
    query, queries = encoded_texts(table.column(_QUERY))
    texts = all_texts(queries)
    table = _without(table, _QUERY)
    id_, names = encoded_texts(table.column(_ID))
    table = _without(table, _ID)
    rank, ranks = encoded_texts(table.column(_RANK))
    del table
    known = _ranks(all_texts(ranks))
    return Hits(tuple(texts), names, query, id_, score, None if known is None else known[rank]), last[-1]


def _without(table: pa.Table, column: str) -> pa.Table:
    """Return a table without a column that was copied, whose memory goes back to the system at once."""
    import pyarrow as pa

    rest = table.drop_columns(column)
    pa.default_memory_pool().release_unused()
    return rest


def _line_by_line(file: IO[bytes], location: Location) -> tuple[Hits, str]:
    """Return what a run says, reading it line by line; note every fault."""
    found = HitCollector(location)
    tag, ranks = "", []
    for here, (query, _, id_, rank, score, tag) in rows(file, RUN_COLUMNS, location):  # noqa: B007 — the last one's counts
        if _NUMBER.fullmatch(score) is None:
            (here / _SCORE).fault(quoted(score), "a number, as 12.34")
        else:
            found.add(here, query, id_, float(score))
            ranks.append(rank)
    hits = found.hits()
    known = _ranks(ranks) if len(ranks) == len(hits.id) else None  # fewer where a hit was a fault
    return replace(hits, score=_single(hits.score), rank=known), tag


def _ranks(texts: Sequence[str]) -> Codes | None:
    """Return ranks as numbers; None if one of them is no integer, since then the column holds something else."""
    if not all(map(_INTEGER.fullmatch, texts)):
        return None
    found = np.array(list(map(int, texts)), dtype=np.int64)
    small = np.iinfo(np.int32)
    return found.astype(np.int32) if small.min <= found.min(initial=0) and found.max(initial=0) <= small.max else found


def _single(score: NDArray[np.float64] | None) -> NDArray[np.float32]:
    """Return scores with the bits that trec_eval keeps."""
    with np.errstate(over="ignore"):  # as in C, what is too large for 32 bits is infinite
        return np.asarray(score, dtype=np.float32)


def read_trec_qrels(path: Path, location: Location) -> NumberedLabels | dict[str, dict[str, int]] | None:
    """Return the grade of each judged id of each query; None, and faults, where the qrels are malformed.

    The iteration column is not looked at. The same judgment again changes nothing.
    """
    found: NumberedLabels | dict[str, dict[str, int]] | None = None
    with open_unpacked(path, location) as file:
        found = None if file is None else _qrels_in_bulk(file)
    if location.faults:
        return None
    if found is None:
        with open_unpacked(path, location) as file:
            found = None if file is None else _qrels_line_by_line(file, location)
    return None if location.faults else found


def _qrels_in_bulk(file: IO[bytes]) -> NumberedLabels | None:
    import pyarrow as pa

    query_column, _, id_column, grade_column = QRELS_COLUMNS
    types = dict.fromkeys((query_column, id_column, grade_column), pa.string())
    found = bulk_table(file, QRELS_COLUMNS, types, (query_column, grade_column))
    if found is None:
        return None
    grade, texts = encoded_texts(found.table.column(grade_column))
    known = [grade_of(each) for each in all_texts(texts)]
    if not all(isinstance(each, int) and each < RELEVANT.stop for each in known):
        return None
    query, queries = encoded_texts(found.table.column(query_column))
    id_, names = encoded_texts(found.table.column(id_column))
    if repeats_an_id(query, id_, len(queries), len(names)):
        return None
    return NumberedLabels.of_columns(all_texts(queries), names, query, id_, np.array(known, dtype=np.int64)[grade])


def _qrels_line_by_line(file: IO[bytes], location: Location) -> dict[str, dict[str, int]]:
    """Return what qrels say, reading them line by line; note every fault."""
    found = Labels()
    for here, (query, iteration, id_, relevance) in rows(file, QRELS_COLUMNS, location):
        if (grade := read_grade(grade_of(relevance), here / _RELEVANCE)) is not None:
            found.add(here, query, id_, grade, "" if iteration == "0" else _OF_SUBTOPICS)
    return found.grades
