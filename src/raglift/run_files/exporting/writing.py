"""Rankings and labels as ids, written: TREC files, JSON Lines, Parquet; query by query, never whole in memory."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any

from raglift.faults import Place, quoted
from raglift.run_files.forms import COMPRESSED, GRADE, HITS, ID, ITERATION, LITERAL_Q0, QUERY_ID, RANK, SCORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from raglift.errors import Fault
    from raglift.run_files.exporting.labels import Subtopic
    from raglift.run_files.exporting.rankings import IdRankings, ScoredIds
    from raglift.run_files.forms import Form

__all__ = ["escaped", "faults_of_ids", "write_json", "write_labels", "write_rankings", "write_subtopics"]

# trec_eval divides lines at ASCII white space, Python's readers at any other too; U+FEFF begins no file
_TREC = re.compile("[\\s\x00-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_PARQUET = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(f"{_TREC.pattern}|%")
_ROWS = 65_536
"""How many rows of a Parquet file are in memory at a time."""


def escaped(name: str) -> str:
    """Return an id without white space or control characters: they and `%` are written as in a URL, as `%20`."""
    return _ESCAPED.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")), name
    )


def faults_of_ids(names: Iterable[tuple[str, Iterable[str]]], form: Form, *, source: str) -> list[Fault]:
    """Return what a form cannot hold of ids, each id once.

    Args:
        names: query ids, each with ids of its rankings or labels.
        form: what is to be written.
        source: what is exported, for messages.
    """
    faults: list[Fault] = []
    unfit = {"trec": _TREC, "parquet": _PARQUET}.get(form)
    if unfit is None:
        return faults
    expected = (
        "an id without white space and control characters: escape them (--escape-ids, escape_ids=True), or write "
        "JSON Lines"
        if form == "trec"
        else "an id that UTF-8 can hold, or JSON Lines"
    )
    told: set[str] = set()
    place = Place(source, faults)

    def check(name: str, here: Place) -> None:
        if name not in told and (not name or unfit.search(name)):
            told.add(name)
            here.fault(f"the id {quoted(name)}", expected)

    for query, ids in names:
        check(query, place / "query id")
        every = list(ids)
        if not all(every) or unfit.search("".join(every)):
            for name in every:
                check(name, place / quoted(query))
    return faults


def write_rankings(rankings: IdRankings, path: Path, form: Form, *, escape: bool = False) -> None:
    """Write rankings.

    Args:
        rankings: what to write; a query without hits has a line in JSON Lines alone.
        path: the file.
        form: "trec", "jsonl" or "parquet".
        escape: in TREC files, write white space, control characters and `%` of ids as in a URL.
    """
    if form == "parquet":
        _write_parquet(path, {QUERY_ID: "string", ID: "string", SCORE: "float64", RANK: "int32"}, _run_rows(rankings))
    elif form == "jsonl":
        _write_text(path, map(_json_line, rankings))
    else:
        # The tag is a word of this file alone, so it needs no way back
        _write_text(path, _run_lines(rankings, escaped(rankings.name) or "raglift", escape=escape))


def write_labels(grades: Mapping[str, Mapping[str, int]], path: Path, form: Form, *, escape: bool = False) -> None:
    """Write the grade of each id for each query.

    Args:
        grades: for each query id, the grade of each id; 0 for what was judged irrelevant.
        path: the file.
        form: "trec", "jsonl" or "parquet".
        escape: in TREC files, write white space, control characters and `%` of ids as in a URL.
    """
    rows = ((query, each, grade) for query, of_query in grades.items() for each, grade in of_query.items())
    if form == "parquet":
        _write_parquet(path, {QUERY_ID: "string", ID: "string", GRADE: "int32"}, rows)
    elif form == "jsonl":
        _write_text(path, (_json({QUERY_ID: query, ID: each, GRADE: grade}) for query, each, grade in rows))
    else:
        shown = escaped if escape else str
        _write_text(path, (f"{shown(query)} {ITERATION} {shown(each)} {grade}\n" for query, each, grade in rows))


def write_subtopics(subtopics: Iterable[Subtopic], path: Path, *, escape: bool = False) -> None:
    """Write which id stands for which fact, as TREC's diversity qrels: `query number id grade`."""
    shown = escaped if escape else str
    _write_text(path, (f"{shown(each.query_id)} {each.number} {shown(each.id)} {each.grade}\n" for each in subtopics))


def write_json(record: Mapping[str, Any], path: Path) -> None:
    """Write one object."""
    _write_text(path, [json.dumps(record, ensure_ascii=False, indent=2), "\n"])


def _run_lines(rankings: IdRankings, tag: str, *, escape: bool) -> Iterator[str]:
    shown = escaped if escape else str
    for query, ids, scores in rankings:
        head = f"{shown(query)} {LITERAL_Q0} "
        ranked = zip(map(shown, ids), range(1, len(ids) + 1), scores, strict=True)
        yield "".join([f"{head}{each} {rank} {score!r} {tag}\n" for each, rank, score in ranked])


def _run_rows(rankings: IdRankings) -> Iterator[tuple[str, str, float, int]]:
    for query, ids, scores in rankings:
        yield from zip([query] * len(ids), ids, scores, range(1, len(ids) + 1), strict=True)


def _json_line(ranking: ScoredIds) -> str:
    hits = [{ID: each, SCORE: score} for each, score in zip(ranking.ids, ranking.scores, strict=True)]
    return _json({QUERY_ID: ranking.query_id, HITS: hits})


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _write_text(path: Path, lines: Iterable[str]) -> None:
    # A lone surrogate has no UTF-8, but its backslash form is JSON's own; TREC files hold none
    opened = gzip.open if path.suffix == COMPRESSED else open
    with opened(path, "wt", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(lines)


def _write_parquet(path: Path, columns: Mapping[str, str], rows: Iterator[tuple[Any, ...]]) -> None:
    from itertools import islice

    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        while some := list(islice(rows, _ROWS)):
            arrays = [
                pa.array(column, type=field.type) for column, field in zip(zip(*some, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
