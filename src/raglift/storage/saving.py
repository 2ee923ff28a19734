"""Saving an evaluation to a folder, atomically."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, is_dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raglift.errors import RunError
from raglift.metrics.parsing import describe_own
from raglift.storage.forms import is_place
from raglift.storage.layout import (
    CHUNK_FIELDS,
    CHUNKS,
    FORMAT,
    QUERIES,
    REPAIRS,
    RUN,
    RUN_FILES,
    SCORES,
    TRACES,
    hash_of,
    score_keys,
    write_json,
    write_lines,
)
from raglift.types.checking import defaults_of
from raglift.utilities.limits import is_folder, is_there, is_valid_path, resolved, user_path
from raglift.utilities.plain_values import plain
from raglift.utilities.replacing import replacing_folder, unwritable

if TYPE_CHECKING:
    import pyarrow as pa

    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query
    from raglift.types.rankings import Call, Inventory, Ranking, Run, StageTrace, Trace


def save_evaluation(evaluation: Evaluation, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write an evaluation to a folder; all of it or nothing.

    Args:
        evaluation: what to write.
        folder: where; its parents are made when missing.
        overwrite: replace an evaluation that is already there.

    Returns:
        The folder.

    Raises:
        RunError: the folder exists (and is not an evaluation, and nothing but one, to be overwritten), or cannot be
            written.
    """
    target = user_path(folder)
    try:
        with replacing_folder(target, partial(check_free, target, overwrite=overwrite), overwrite=overwrite) as written:
            _write(evaluation, written)
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise RunError(f"{target}: cannot be written: {error}; nothing was changed there") from error
    return target


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise unless an evaluation can be saved to a folder without destroying anything else."""
    folder = user_path(folder)
    if not is_valid_path(folder):
        raise RunError(f"{folder}: found a name that no folder can have here; expected a shorter one")
    if _is_working_folder(folder):
        raise RunError(f"{folder}: found the folder that this runs in; expected a new or empty folder: choose another")
    try:
        occupied = is_there(folder) and (not is_folder(folder) or any(folder.iterdir()))
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error}; choose another folder") from error
    if occupied and not (overwrite and _is_evaluation(folder)):
        found, hint = "something there already", "choose another folder"
        if _is_evaluation(folder):
            found, hint = "an evaluation there already", "choose another folder, or --overwrite (overwrite=True)"
        elif overwrite:
            found = "something there already that is not a saved evaluation alone, and so is not overwritten"
        raise RunError(f"{folder}: found {found}; expected a new or empty folder: {hint}")
    above = unwritable(resolved(folder))
    if above is not None:
        raise RunError(f"{folder}: cannot be written: found no right to write in {above}; choose another folder")


def _is_working_folder(folder: Path) -> bool:
    try:
        return resolved(folder) == Path.cwd()
    except FileNotFoundError:  # it was removed
        return False


def _is_evaluation(folder: Path) -> bool:
    """Whether a folder holds a saved evaluation and nothing else that replacing it would destroy."""
    names = {path.name for path in folder.iterdir()} if is_folder(folder) else set()
    return RUN in names and names <= {*RUN_FILES, REPAIRS}


def _write(evaluation: Evaluation, folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    run = evaluation.run
    chunks = _Chunks(run)
    write_lines(folder / TRACES, (_trace_line(trace, chunks) for trace in run.traces))
    inventory = None if run.inventory is None else _inventory_line(run.inventory, chunks)
    write_lines(folder / CHUNKS, chunks.lines())
    write_lines(folder / QUERIES, map(_query_line, evaluation.dataset.queries))
    scores = evaluation.scores
    columns = {
        name: pa.DictionaryArray.from_arrays(_array(pa.int32(), numbers), _texts(texts))
        for name, (texts, numbers) in score_keys(scores.query_ids, scores.stages, scores.metrics).items()
    }
    table = pa.table({**columns, "value": _array(pa.float64(), scores.values.ravel())})
    parquet.write_table(table, folder / SCORES, store_schema=False)  # without it the texts are read as texts
    head = {
        "format": FORMAT,
        "dataset": evaluation.dataset.name,
        "spec": run.spec,
        "stages": [asdict(stage) for stage in run.stages],
        "run_notes": run.notes,
        "profile": evaluation.profile,
        "metrics": [str(metric) for metric in evaluation.scores.metrics],
        "own_metrics": describe_own(evaluation.scores.metrics),
        "truncated": evaluation.truncated,
        "truncated_tokens": evaluation.truncated_tokens,
        "beyond_candidates": evaluation.beyond_candidates,
        "notes": [asdict(remark) for remark in evaluation.remarks],
        "inventory": inventory,
        "cost": None if run.cost is None else asdict(run.cost),
        "files": {name: hash_of(folder / name) for name in RUN_FILES if name != RUN},
    }
    write_json(folder / RUN, head)


# Arrow's arrays from their buffers: `pyarrow.array` imports pandas, which takes as long as all of raglift.


def _array(kind: pa.DataType, values: NDArray[Any]) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _texts(texts: list[str]) -> pa.Array:
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


_NO_METADATA = "{}"
_fields_of = attrgetter(*CHUNK_FIELDS)


class _Chunks:
    """The chunks that are saved: each distinct one once, under a number."""

    def __init__(self, run: Run) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        rankings = [ranking for trace in run.traces for ranking in _rankings(trace)]
        ends = np.cumsum([len(ranking) for ranking in rankings], dtype=np.int64).tolist()
        self._hits = {id(ranking): slice(end - len(ranking), end) for ranking, end in zip(rankings, ends, strict=True)}
        # The stages of a run share their chunks, and so do the queries of some systems: told by the objects themselves
        chunks = [hit.chunk for ranking in rankings for hit in ranking.hits]
        numbers = {key: self.number(chunk) for key, chunk in {id(chunk): chunk for chunk in chunks}.items()}
        self._number_of_hit = np.fromiter((numbers[id(chunk)] for chunk in chunks), dtype=np.int64, count=len(chunks))

    def number(self, chunk: Chunk) -> int:
        """Return the number of a chunk; a new one is added."""
        metadata = json.dumps(plain(chunk.metadata), sort_keys=True) if chunk.metadata else _NO_METADATA
        return self._numbers.setdefault((*_fields_of(chunk), metadata), len(self._numbers))

    def hits(self, ranking: Ranking) -> list[Any]:
        """Return the number of the chunk and the score of each hit of a ranking of the run."""
        numbers = self._number_of_hit[self._hits[id(ranking)]].tolist()
        return [*zip(numbers, [hit.score for hit in ranking.hits], strict=True)]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the chunks by number."""
        for *values, metadata in self._numbers:
            line: dict[str, Any] = dict(zip(CHUNK_FIELDS, values, strict=True))
            line["metadata"] = {} if metadata == _NO_METADATA else json.loads(metadata)
            yield _readable(line)


def _readable(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return a chunk as it can be read back: a location may be too large, and metadata may not be readable."""
    for name in ("start", "end"):
        if not is_place(chunk[name]):
            chunk[name] = None
    if not isinstance(chunk["metadata"], dict):
        chunk["metadata"] = {"metadata": chunk["metadata"]}
    return chunk


def _inventory_line(inventory: Inventory, chunks: _Chunks) -> dict[str, Any]:
    return {
        "chunks": inventory.chunks,
        "touching": [chunks.number(chunk) for chunk in inventory.touching],
        "touches": inventory.touches,
        "minimum_length": inventory.minimum_length,
        "unicode_folding": inventory.unicode_folding,
    }


def _trace_line(trace: Trace, chunks: _Chunks) -> dict[str, Any]:
    line: dict[str, Any] = {
        "query_id": trace.query_id,
        "stages": _stage_lines(trace.stages, chunks),
        "error": trace.error,
    }
    if trace.calls is not None:
        line["calls"] = [_call_line(call, chunks) for call in trace.calls]
    if trace.context is not None:
        line["context"] = chunks.hits(trace.context)
    if trace.matching is not None:
        line["matching"] = trace.matching
    if trace.retries:
        line["retries"] = trace.retries
    if trace.repetitions:
        line["repetitions"] = [_trace_line(again, chunks) for again in trace.repetitions]
    return line


def _rankings(trace: Trace) -> Iterator[Ranking]:
    """Yield every ranking of a trace that is saved."""
    for stages in (trace.stages, *(call.stages for call in trace.calls or ())):
        yield from (stage.ranking for stage in stages)
    if trace.context is not None:
        yield trace.context
    for again in trace.repetitions:
        yield from _rankings(again)


def _stage_lines(stages: Iterable[StageTrace], chunks: _Chunks) -> list[dict[str, Any]]:
    return [
        {
            "stage": stage.stage,
            "seconds": stage.seconds,
            "hits": chunks.hits(stage.ranking),
            **({"retries": stage.retries} if stage.retries else {}),
        }
        for stage in stages
    ]


def _call_line(call: Call, chunks: _Chunks) -> dict[str, Any]:
    known = {field.name: getattr(call, field.name) for field in fields(call) if field.name != "stages"}
    known["arguments"] = plain(call.arguments)
    return {**known, "stages": _stage_lines(call.stages, chunks)}


def _query_line(query: Query) -> dict[str, Any]:
    """Return a query as labels have it: its filter as it is written there."""
    line = _without_defaults(query)
    return line if query.filter is None else {**line, "filter": query.filter.to_dict()}


def _without_defaults(record: Any) -> dict[str, Any]:
    """Return the fields of a record, but for what it would have anyway, so that the file reads like labels."""
    known = ((name, getattr(record, name), default) for name, default in defaults_of(type(record)))
    return {name: _value(value) for name, value, default in known if value != default}


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value(part) for part in value]
    return _without_defaults(value) if is_dataclass(value) else value
