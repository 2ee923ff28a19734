"""TREC runs, `query Q0 id rank score tag`, and qrels, `query iteration id relevance`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from raglift.storage.rankings.columns import Row
from raglift.storage.rankings.files import (
    LONGEST_ROW,
    Parser,
    arrow_copy,
    has_enough_faults,
    open_unpacked,
    read_grade,
    table_of_blocks,
)
from raglift.storage.rankings.forms import GRADE, ID, QRELS_COLUMNS, QUERY_ID, RANK, RUN_COLUMNS, SCORE
from raglift.utilities.strict_files import lines_of
from raglift.utilities.validation import Location, quoted

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_WORDS = re.compile(r"[^ \t\v\f\r]+")  # what C's isspace() knows: other white space may stand in an id
_TO_SPACES = bytes.maketrans(b"\t\v\f\r", b"    ")
_SPACE, _LINE_FEED = 32, 10
_OF_SUBTOPICS = "; qrels whose second column is a subtopic are for measures of diversity, as ndeval's"


def _run_table(path: Path) -> pa.Table | None:
    """Return the columns of a run.

    Scores are rounded to 32 bits, as trec_eval 9 and pytrec_eval keep them, so what differs beyond that is a tie.
    The rank column does not count; it is kept to be compared with the scores.
    """
    query, _, id_, rank, score, _ = RUN_COLUMNS
    kinds = {query: pa.dictionary(pa.int32(), pa.string()), id_: pa.string(), score: pa.float64(), rank: pa.int64()}

    def parse(block: bytes) -> pa.Table:
        table = _columns_of(block, RUN_COLUMNS, kinds).rename_columns([QUERY_ID, ID, SCORE, RANK])
        return table.set_column(2, SCORE, pa.array(_single(table.column(SCORE).to_numpy())))

    return table_of_blocks(path, LONGEST_ROW, parse)


def _run_rows(path: Path, location: Location) -> Iterator[Row]:
    for here, (query, _, id_, rank, score, _) in _lines(path, location, RUN_COLUMNS):
        if _NUMBER.fullmatch(score) is None:
            (here / SCORE).fault(quoted(score), "a number, as 12.34")
        else:
            known = int(rank) if _INTEGER.fullmatch(rank) else None
            yield Row(here, query, id_, float(_single(float(score))), known)


def _qrels_table(path: Path) -> pa.Table | None:
    query, _, id_, relevance = QRELS_COLUMNS
    kinds = {query: pa.dictionary(pa.int32(), pa.string()), id_: pa.string(), relevance: pa.string()}

    def parse(block: bytes) -> pa.Table | None:
        table = _columns_of(block, QRELS_COLUMNS, kinds).rename_columns([QUERY_ID, ID, GRADE])
        grades = table.column(GRADE)  # which Arrow would also take as hexadecimal numbers
        if not compute.all(compute.match_substring_regex(grades, f"^{_INTEGER.pattern}$")).as_py():
            return None
        return table.set_column(2, GRADE, grades.cast(pa.int64()))

    return table_of_blocks(path, LONGEST_ROW, parse)


def _qrels_rows(path: Path, location: Location) -> Iterator[Row]:
    for here, (query, iteration, id_, relevance) in _lines(path, location, QRELS_COLUMNS):
        grade = read_grade(int(relevance) if _INTEGER.fullmatch(relevance) else relevance, here / QRELS_COLUMNS[3])
        if grade is not None:
            yield Row(here, query, id_, grade, hint="" if iteration == "0" else _OF_SUBTOPICS)


RUN, QRELS = Parser(_run_table, _run_rows), Parser(_qrels_table, _qrels_rows)


def _single(score: Any) -> Any:
    """Return scores with the bits that trec_eval keeps."""
    with np.errstate(over="ignore"):  # as in C, what is too large for 32 bits is infinite
        return np.asarray(score, dtype=np.float32)


def _columns_of(block: bytes, columns: Sequence[str], kinds: Mapping[str, pa.DataType]) -> pa.Table:
    return csv.read_csv(
        arrow_copy(_evenly_spaced(block)),
        csv.ReadOptions(column_names=list(columns)),
        csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False),
        csv.ConvertOptions(include_columns=list(kinds), column_types=dict(kinds), null_values=[]),
    )


def _evenly_spaced(block: bytes) -> bytes:
    """Return lines with one space between their columns, and none at their ends."""
    letters = np.frombuffer(block, dtype=np.uint8)
    blank = letters <= _SPACE
    plain = np.count_nonzero(letters == _SPACE) + np.count_nonzero(letters == _LINE_FEED)
    is_even = not blank[0] and letters[-1] != _SPACE and plain == np.count_nonzero(blank)
    if is_even and not (blank[1:] & blank[:-1]).any():
        return block
    lines = block.translate(_TO_SPACES)
    while b"  " in lines:
        lines = lines.replace(b"  ", b" ")
    return lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" \n")


def _lines(path: Path, location: Location, columns: Sequence[str]) -> Iterator[tuple[Location, list[str]]]:
    """Yield the location and the columns of each line that has as many as it should; note a fault for each other."""
    expected = f"{len(columns)} columns: {' '.join(columns)}"
    any_line = False
    with open_unpacked(path) as file:
        for here, line in lines_of(file, location, longest=LONGEST_ROW):
            words = _WORDS.findall(line)
            any_line |= bool(words)
            if len(words) == len(columns):
                yield here, words
            elif words:
                here.fault(f"{len(words)} column{'' if len(words) == 1 else 's'}", expected)
            if has_enough_faults(here, expected):
                return
    if not any_line and not location.faults:
        location.fault("no lines", f"lines of {expected}")
