"""The files of a saved evaluation, and how JSON is written to and read from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json, to_json

from raglift.errors import RagliftError, RunError, is_out_of_memory
from raglift.utilities.display import excerpt, printable
from raglift.utilities.plain_values import plain
from raglift.utilities.validation import WrongKind

if TYPE_CHECKING:
    from raglift.types.metric import Metric


# Evaluations on disk: plain files in one folder, never a pickle.
#
# run.json: the settings and results: spec, stages, notes, versions, hashes of dataset, labels and documents and of the
# other files, and the format's version
# queries.jsonl: the queries with their resolved labels
# chunks.jsonl: each distinct chunk that was returned or that overlaps a passage, once
# traces.jsonl: one line per query: for each stage the hits (chunk number, score) and seconds, or the error;
# of a session also its calls, the final context, and further runs of the query;
# how many chunks match the query's filter
# scores.parquet: one row per query, stage and metric


FORMAT = 1
"""The version of the files; a folder with a higher one was written by a newer raglift."""

RUN, QUERIES, CHUNKS = "run.json", "queries.jsonl", "chunks.jsonl"
TRACES, SCORES = "traces.jsonl", "scores.parquet"
RUN_FILES = (RUN, QUERIES, CHUNKS, TRACES, SCORES)
"""The files of a saved evaluation."""
REPAIRS = "repairs.json"
"""What `raglift fix` found of it, if it was asked."""
SCORE_KEYS = ("query_id", "stage", "metric")
"""The columns that say what a score is about."""
CHUNK_FIELDS = ("id", "doc_id", "start", "end", "text")


def hash_of(path: Path) -> str:
    """Return a hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def score_keys(
    query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: tuple[Metric, ...]
) -> dict[str, tuple[list[str], NDArray[np.int32]]]:
    """Return what each row of the scores is about, in the order of the values: by column its texts, and one's number.

    Parquet holds UTF-8 alone: of half a character in an id, the backslash form.
    """
    sizes = len(stages), len(metrics), len(query_ids)
    stage, metric, query = np.indices(sizes, dtype=np.int32).reshape(3, -1)
    texts = [*map(_utf8, query_ids)], [*map(_utf8, stages)], [*map(str, metrics)]
    return dict(zip(SCORE_KEYS, zip(texts, (query, stage, metric), strict=True), strict=True))


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


# JSON and JSON Lines on disk: any metadata of a framework is written, and a damaged line is reported by its number.


T = TypeVar("T")
_LONGEST_WORDS = 501
DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, RagliftError)
"""What reading a record raises when a file is not what was written."""


def error_text(error: Exception) -> str:
    """Return what an error of `DAMAGE` says, on one line; one that no check has worded comes with its kind."""
    words = printable(excerpt(str(error), _LONGEST_WORDS))
    return words if isinstance(error, (WrongKind, RagliftError)) else f"{type(error).__name__}: {words}"


def write_json(path: Path, value: Any) -> None:
    """Write one value."""
    # A lone surrogate has no UTF-8, but its backslash form is JSON's own
    text = json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n"
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one record a line.

    Args:
        path: the file.
        records: of texts, numbers, lists and objects whose keys are texts; numbers may be NumPy's, infinite or NaN.
    """
    with path.open("wb") as file:
        file.writelines(_line(record) + b"\n" for record in records)


def _line(record: Mapping[str, Any]) -> bytes:
    """Return a record as JSON: written by pydantic, in a third of the time of Python's, unless JSON has none of it."""
    try:
        line = to_json(record)
    except ValueError:  # NumPy's numbers, half a character
        line = b"NaN"
    if b"NaN" in line or b"Infinity" in line:
        text = json.dumps(plain(record), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")
    return line


def read_json(path: Path) -> Any:
    """Read one value."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        _raise_if_out_of_memory(path, error)
        raise RunError(f"{path}: cannot be read: {error_text(error)}; run the evaluation again") from error


def _raise_if_out_of_memory(path: Path, error: Exception) -> None:
    """Raise where memory is to blame, and not the file."""
    if is_out_of_memory(error):
        raise MemoryError(f"{path}: there is not enough memory to read it") from error


def _parsed(line: bytes) -> Any:
    """Return what a line of JSON says, by the parser of pydantic, in half the time of Python's.

    What only Python's takes, as half a character, or nobody, goes to it: its errors are those that are shown.
    """
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line)


def read_lines(path: Path, build: Callable[[Any], T]) -> list[T]:
    """Read one record a line."""
    records = []
    number = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):  # noqa: B007 — for the message
                records.append(build(_parsed(line)))
    except OSError as error:
        _raise_if_out_of_memory(path, error)
        raise RunError(f"{path}: cannot be read: {error}; run the evaluation again") from error
    except DAMAGE as error:
        raise RunError(f"{path}:{number}: damaged: {error_text(error)}; run the evaluation again") from error
    return records
