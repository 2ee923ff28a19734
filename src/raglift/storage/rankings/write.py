"""Rankings and labels as ids, and the files that other tools read them from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raglift.storage.rankings.forms import GRADE, ID, ITERATION, LITERAL_Q0, QUERY_ID, RANK, SCORE, WrittenForm
from raglift.utilities.display import encodable

if TYPE_CHECKING:
    from raglift.types.rankings import Run


# Scores that reproduce raglift's order in tools that sort by score. trec_eval sorts by score, which it reads in single
# precision, and orders equal scores by id. So the written scores descend strictly in single precision: then every tool
# has the same order, however it breaks ties.


# Some programs read smaller numbers than this as 0
_SMALLEST = np.finfo(np.float32).smallest_normal


class Descending(NamedTuple):
    """Scores that descend strictly in single precision."""

    scores: list[float]
    lowered: int
    """How many equalled the one before them, and so were lowered by the smallest step."""


def descending(scores: Sequence[float | None]) -> Descending | None:
    """Return a ranking's own scores so that they descend strictly in single precision.

    A score that is equal to the one before it is lowered by the smallest step that single precision has; all others
    stay as they are.

    Returns:
        The scores; None if they do not tell the order: one is missing, is not finite, or is above the one before it;
        or if single precision has no lower number any more.
    """
    given = np.array(scores, dtype=np.float64)  # None becomes NaN
    with np.errstate(over="ignore", under="ignore"):
        single = given.astype(np.float32)
    single[np.abs(single) < _SMALLEST] = 0
    if not np.isfinite(single).all() or (single[1:] > single[:-1]).any():
        return None
    if (single[1:] < single[:-1]).all():
        return Descending(given.tolist(), 0)
    lowered = single.copy()
    for location in range(1, len(lowered)):
        if lowered[location] >= lowered[location - 1]:
            lowered[location] = _below(lowered[location - 1])
    if not np.isfinite(lowered).all():
        return None
    changed = lowered != single
    return Descending(np.where(changed, lowered.astype(np.float64), given).tolist(), int(changed.sum()))


def by_rank(hits: int) -> list[float]:
    """Return scores that say nothing but the order: as many as there are hits, down to 1."""
    return list(map(float, range(hits, 0, -1)))


def _below(score: np.float32) -> np.float32:
    """Return the next lower score that is not a subnormal number."""
    with np.errstate(over="ignore", under="ignore"):
        below: np.float32 = np.nextafter(score, np.float32(-np.inf))
    if abs(below) < _SMALLEST:
        return np.float32(0) if score > 0 else -_SMALLEST
    return below


# Rankings and labels as ids, written as TREC files and Parquet.


# trec_eval divides lines at ASCII white space, Python's readers at any other too; U+FEFF begins no file
_TREC = re.compile("[\\s\x00-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_ESCAPED = re.compile(f"{_TREC.pattern}|%")
_ROWS = 65_536
"""How many rows of a Parquet file are in memory at a time."""


def escaped(name: str) -> str:
    """Return an id without white space or control characters: they and `%` are written as in a URL, as `%20`."""
    return _ESCAPED.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")), name
    )


def needs_escaping(names: Iterable[str]) -> bool:
    """Whether one of several ids has white space or control characters, which TREC files cannot hold."""
    return any(map(_TREC.search, names))


def write_rankings(rankings: IdRankings, path: Path, form: WrittenForm, *, escape: bool = False) -> None:
    """Write rankings; a query without hits has no line."""
    if form == "parquet":
        _write_parquet(path, {QUERY_ID: "string", ID: "string", SCORE: "float64", RANK: "int32"}, _run_rows(rankings))
    else:
        # The tag is a word of this file alone, so it needs no way back
        _write_text(path, _run_lines(rankings, escaped(rankings.name) or "raglift", escape=escape))


def write_labels(
    grades: Mapping[str, Mapping[str, int]], path: Path, form: WrittenForm, *, escape: bool = False
) -> None:
    """Write the grade of each id for each query, as `write_rankings` does."""
    if form == "parquet":
        rows = ((encodable(query), encodable(each), grade) for query, each, grade in _judgments(grades))
        _write_parquet(path, {QUERY_ID: "string", ID: "string", GRADE: "int32"}, rows)
    else:
        shown = escaped if escape else str
        lines = (f"{shown(query)} {ITERATION} {shown(each)} {grade}\n" for query, each, grade in _judgments(grades))
        _write_text(path, lines)


def _judgments(grades: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str, int]]:
    for query, of_query in grades.items():
        for each, grade in of_query.items():
            yield query, each, grade


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
        ranks = range(1, len(ids) + 1)
        yield from zip([encodable(query)] * len(ids), map(encodable, ids), scores, ranks, strict=True)


def _write_text(path: Path, lines: Iterable[str]) -> None:
    # A lone surrogate has no UTF-8, but its backslash form is JSON's own; TREC files hold none
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(lines)


def _write_parquet(path: Path, columns: Mapping[str, str], rows: Iterator[tuple[Any, ...]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        while some := list(islice(rows, _ROWS)):
            arrays = [
                pa.array(column, type=field.type) for column, field in zip(zip(*some, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


# Rankings for other tools: ids with scores, each id once.


class ScoredIds(NamedTuple):
    """One query's ranking."""

    query_id: str
    ids: Sequence[str]
    """Best first, each once."""
    scores: Sequence[float]
    """Strictly descending in single precision."""


@dataclass(frozen=True, eq=False)
class IdRankings:
    """What one stage returned, as ids with scores that descend strictly; iterated query by query.

    An id that occurs more than once in a ranking keeps only its first rank. The stage's own scores are taken if they
    tell the order of every ranking; else, for all of its rankings, scores that count down to 1.
    """

    name: str
    """The stage; the tag of a TREC run."""
    rankings: tuple[ScoredIds, ...]
    own_scores: bool
    """Whether the scores are the stage's own."""
    lowered: int
    """How many of its own scores were lowered by the smallest step, because they equalled the one before."""

    @classmethod
    def of_stage(cls, run: Run, stage: str) -> IdRankings:
        """Return what a stage of a run returned."""
        once: dict[str, list[str]] = {}
        own: dict[str, Descending | None] = {}
        for trace in run.traces:
            hits = next((done.ranking.hits for done in trace.stages if done.stage == stage), ())
            first = {hit.chunk.id: hit.score for hit in reversed(hits)}
            once[trace.query_id] = list(dict.fromkeys(hit.chunk.id for hit in hits))
            own[trace.query_id] = descending([first[each] for each in once[trace.query_id]])
        found = [each for each in own.values() if each is not None]
        has_own = len(found) == len(own)
        return cls(
            name=stage,
            rankings=tuple(
                ScoredIds(query, ids, each.scores if has_own and (each := own[query]) else by_rank(len(ids)))
                for query, ids in once.items()
            ),
            own_scores=has_own,
            lowered=sum(each.lowered for each in found) if has_own else 0,
        )

    @property
    def hits(self) -> int:
        """How many there are, without the repeated ones."""
        return sum(len(each.ids) for each in self.rankings)

    @property
    def empty(self) -> tuple[str, ...]:
        """The queries with no hits."""
        return tuple(each.query_id for each in self.rankings if not each.ids)

    def __iter__(self) -> Iterator[ScoredIds]:
        return iter(self.rankings)

    def __len__(self) -> int:
        return len(self.rankings)
