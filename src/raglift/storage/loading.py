"""Loading an evaluation from a folder, with validation."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.records import Note
from raglift.errors import RunError, is_out_of_memory
from raglift.metrics.computing import Scores
from raglift.metrics.parsing import read_metric
from raglift.storage.forms import CHUNK, HEADER, QUERY, TRACE, is_number
from raglift.storage.layout import (
    CHUNKS,
    DAMAGE,
    FORMAT,
    QUERIES,
    RUN,
    RUN_FILES,
    SCORE_KEYS,
    SCORES,
    TRACES,
    error_text,
    hash_of,
    read_json,
    read_lines,
    score_keys,
)
from raglift.types.dataset import Dataset
from raglift.types.rankings import Call, Inventory, Ranking, Run, StageTrace, Trace, hits_of
from raglift.utilities.limits import LARGEST_SCORE, is_file, is_folder, is_stream, is_there, user_path
from raglift.utilities.validation import WrongKind, quoted, read_as, shown

if TYPE_CHECKING:
    from pyarrow import Array, ChunkedArray

    from raglift.results.evaluation import Evaluation
    from raglift.storage.forms import SavedCall, SavedInventory, SavedRun, SavedStage
    from raglift.types.documents import Chunk
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


def read_evaluation(folder: str | Path, into: type[Evaluation]) -> Evaluation:
    """Read an evaluation that was saved.

    The documents are not saved with it, so they are not in the dataset that comes back.

    Args:
        folder: where it was saved.
        into: the class, which is defined in a later package.

    Raises:
        RunError: the folder is missing, damaged, or from a newer version; the message names the file and line.
    """
    source = user_path(folder)
    try:
        if not is_file(source / RUN):
            raise RunError(_no_run(source))
        if (odd := next(filter(is_stream, (source / name for name in RUN_FILES)), None)) is not None:
            raise RunError(f"{odd}: found a pipe or a device; expected a file, as `raglift evaluate -o` writes it")
    except OSError as error:
        raise RunError(f"{source}: cannot be read: {error_text(error)}; expected the right to look into it") from error
    head = read_json(source / RUN)
    if not isinstance(head, dict) or type(head.get("format")) is not int:
        raise RunError(f"{source / RUN}: found no format number; expected the {RUN} of a saved evaluation")
    if head["format"] > FORMAT:
        raise RunError(
            f"{source / RUN}: found format {head['format']}; expected {FORMAT} or lower: "
            "it was written by a newer raglift; upgrade with pip install -U raglift"
        )
    with _no_garbage_collection():
        chunks = read_lines(source / CHUNKS, partial(read_as, CHUNK))
        queries = tuple(read_lines(source / QUERIES, partial(read_as, QUERY)))
        traces = tuple(read_lines(source / TRACES, partial(_trace, chunks)))
    if [trace.query_id for trace in traces] != [query.id for query in queries]:
        raise _damaged(source / TRACES, f"found other queries than in {QUERIES}")
    if len({query.id for query in queries}) < len(queries):
        raise _damaged(source / QUERIES, "found an id twice; expected each query once")
    try:
        return _evaluation(source, head, chunks, queries, traces, into)
    except RunError:
        raise
    except DAMAGE as error:
        raise _damaged(source / RUN, error_text(error)) from error


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Turn the cyclic garbage collector off: it would traverse the records read so far again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _no_run(source: Path) -> str:
    """Return why a path is not a saved evaluation."""
    if not is_there(source):
        return f"{source}: found no such folder; expected that of a saved evaluation: check the path"
    found = f"a folder without {RUN}" if is_folder(source) else "a file"
    return f"{source}: found {found}; expected the folder of a saved evaluation, as `raglift evaluate -o` writes it"


def _damaged(path: Path, found: str) -> RunError:
    return RunError(f"{path}: damaged: {found}; run the evaluation again")


def _read_scores(
    path: Path, query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: tuple[Metric, ...]
) -> Scores:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # Dictionary-encoded, equal texts are stored once. `read_table` would import pandas, which takes half a second
        with parquet.ParquetFile(path, read_dictionary=SCORE_KEYS) as file:
            rows, expected = file.metadata.num_rows, len(query_ids) * len(stages) * len(metrics)
            if rows != expected:
                raise _damaged(path, f"found {rows:,} rows; expected {expected:,}, one a query, stage and metric")
            if "value" not in file.schema_arrow.names:
                raise _damaged(path, 'found no column "value"')
            table = file.read(columns=[*SCORE_KEYS, "value"])
        table.validate(full=True)  # a damaged file may hold texts that are no UTF-8
        keys = score_keys(query_ids, stages, metrics)
        of_them = all(_is_same(table.column(name), *keys[name]) for name in SCORE_KEYS)
        values = _numbers(table.column("value").cast(pa.float64()))
    except RunError:
        raise
    except KeyError as error:  # of a column that is to be dictionary-encoded
        raise _damaged(path, f"found no column {quoted(os.fsdecode(error.args[0]))}") from error
    except FileNotFoundError as error:  # pyarrow's says the path alone
        raise RunError(f"{path}: missing; run the evaluation again") from error
    except (*DAMAGE, OSError, pa.ArrowException, MemoryError) as error:
        if is_out_of_memory(error):
            raise MemoryError(f"{path}: there is not enough memory to read it") from error
        raise RunError(f"{path}: cannot be read: {error_text(error)}; run the evaluation again") from error
    if (np.abs(values) > LARGEST_SCORE).any():
        raise _damaged(path, f"found a score larger than {LARGEST_SCORE:g}")
    if not of_them:
        raise _damaged(path, "found other queries, stages or metrics than in the other files")
    return Scores(query_ids, stages, metrics, values.reshape(len(stages), len(metrics), len(query_ids)).copy())


def _is_same(found: ChunkedArray, texts: list[str], numbers: NDArray[np.int32]) -> bool:
    """Return whether a column is as expected, compared by the texts' numbers: the texts take many times the memory."""
    import pyarrow as pa

    if found.null_count or not len(found):
        return len(found) == len(numbers) == 0
    column = (found if pa.types.is_dictionary(found.type) else found.dictionary_encode()).unify_dictionaries()
    column = column.combine_chunks()
    places = {text: number for number, text in reversed([*enumerate(texts)])}
    known = np.array([places.get(text, -1) for text in column.dictionary.to_pylist()], dtype=np.int32)
    return np.array_equal(known[_numbers(column.indices)], np.array([places[text] for text in texts])[numbers])


def _numbers(column: Array | ChunkedArray) -> NDArray[Any]:
    """Return numbers as they are held, missing ones as NaN; pyarrow's own function imports pandas."""
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    found: NDArray[Any] = whole.to_numpy(zero_copy_only=False) if column.null_count else np.from_dlpack(whole)
    return found


def _evaluation(
    source: Path,
    head: dict[str, Any],
    chunks: list[Chunk],
    queries: tuple[Query, ...],
    traces: tuple[Trace, ...],
    into: type[Evaluation],
) -> Evaluation:
    header = read_as(HEADER, head)
    names = tuple(stage.name for stage in header.stages)
    _check_stages(source, names, traces)
    metrics = tuple(read_metric(metric, header.own_metrics) for metric in header.metrics)
    inventory = None if header.inventory is None else _inventory(header.inventory, chunks, queries)
    return into(
        # the spec unchanged, with what a later raglift has added to it
        run=Run(header.stages, traces, head["spec"], header.run_notes, inventory, header.cost),
        dataset=Dataset(queries, name=header.dataset),
        scores=_read_scores(source / SCORES, tuple(query.id for query in queries), names, metrics),
        profile=header.profile,
        truncated=header.truncated,
        truncated_tokens=header.truncated_tokens,
        beyond_candidates=header.beyond_candidates,
        remarks=(*_changes(source, header.files), *header.notes),
    )


def _changes(source: Path, hashes: Mapping[str, str]) -> Iterator[Note]:
    """Say which files are no longer those that were saved, and so do not fit the scores."""
    known = [name for name in RUN_FILES if name in hashes]
    if changed := ", ".join(name for name in known if hash_of(source / name) != hashes[name]):
        yield Note(f"{changed}: changed since the run was saved; raglift rescore makes the figures fit")


def _inventory(saved: SavedInventory, chunks: list[Chunk], queries: tuple[Query, ...]) -> Inventory:
    """Return what was known of all chunks of an index; its numbers must be those of what is saved."""
    unknown = next((number for number in saved.touching if not 0 <= number < len(chunks)), None)
    if unknown is not None:
        raise _no_chunk(unknown, chunks)
    touching = tuple(chunks[number] for number in saved.touching)
    facts = [len(fact.passages) for query in queries if query.is_labelled for fact in query.facts]
    for touch in saved.touches:
        query, fact, alternative, number = touch
        known = 0 <= query < len(queries) and 0 <= fact < len(facts) and 0 <= alternative < facts[fact]
        if not known or not 0 <= number < len(touching):
            raise WrongKind(f"inventory.touches: found the touch {list(touch)}; expected numbers of what is saved")
    return Inventory(saved.chunks, touching, saved.touches, saved.minimum_length, saved.unicode_folding)


def _check_stages(source: Path, names: tuple[str, ...], traces: tuple[Trace, ...]) -> None:
    """Raise unless each query went through the stages in order."""
    for number, trace in enumerate(traces, start=1):
        for each in (trace, *trace.repetitions):
            done = tuple(stage.stage for stage in each.stages)
            in_calls = {stage.stage for call in each.calls or () for stage in call.stages}
            if done != names[: len(done)] or not in_calls <= set(names):
                found = ", ".join(map(quoted, (*done, *sorted(in_calls - set(done)))))
                told_stages = f"found the stages {found}; expected them as in {RUN}"
                raise RunError(f"{source / TRACES}:{number}: damaged: {told_stages}; run the evaluation again")


def _trace(chunks: list[Chunk], line: Any) -> Trace:
    saved = read_as(TRACE, line)
    repetitions = tuple(Trace(**_run(chunks, again)) for again in saved.repetitions)
    return Trace(**_run(chunks, saved), repetitions=repetitions, matching=saved.matching)


def _run(chunks: list[Chunk], saved: SavedRun) -> dict[str, Any]:
    """Return what a trace knows of one run of a query."""
    calls = saved.calls
    return {
        "query_id": saved.query_id,
        "stages": _stages(chunks, saved.stages),
        "error": saved.error,
        "calls": None if calls is None else tuple(_call(chunks, call) for call in calls),
        "context": None if saved.context is None else _ranking(chunks, saved.context),
        "retries": saved.retries,
    }


def _call(chunks: list[Chunk], saved: SavedCall) -> Call:
    stages = _stages(chunks, saved.stages)
    return Call(saved.query, stages, saved.tool, saved.arguments, saved.tokens, saved.seconds, saved.error)


def _stages(chunks: list[Chunk], saved: Iterable[SavedStage]) -> tuple[StageTrace, ...]:
    return tuple(StageTrace(stage.stage, _ranking(chunks, stage.hits), stage.seconds, stage.retries) for stage in saved)


def _ranking(chunks: list[Chunk], saved: list[Any]) -> Ranking:
    """Return the hits of a stage, checked here and not by pydantic: there may be millions."""
    if not saved:
        return Ranking()
    numbers, scores = _columns(saved) or zip(*(_read_hit(chunks, hit) for hit in saved), strict=True)
    if min(numbers) < 0 or max(numbers) >= len(chunks):
        raise _no_chunk(next(number for number in numbers if not 0 <= number < len(chunks)), chunks)
    return Ranking(hits_of(map(chunks.__getitem__, numbers), scores))


def _columns(saved: list[Any]) -> tuple[tuple[int, ...], tuple[float | None, ...]] | None:
    """Return the numbers of the chunks, and the scores; None where not all hits are an integer and a float or null."""
    try:
        numbers, scores = zip(*saved, strict=True)
    except (TypeError, ValueError):
        return None
    are_plain = {*map(type, numbers)} <= {int} and {*map(type, scores)} <= {float, type(None)}
    return (numbers, scores) if are_plain else None


def _read_hit(chunks: list[Chunk], hit: Any) -> tuple[int, float | None]:
    """Return the number of a chunk and a score."""
    if type(hit) is not list or len(hit) != 2:
        raise WrongKind(f"hits: found {shown(hit)}; expected the number of a chunk and a score")
    number, score = hit
    if type(score) is not float and score is not None:
        if not is_number(score):
            raise WrongKind(f"hits: found the score {shown(score)}; expected a number or null")
        score = float(score)
    if type(number) is not int:
        raise _no_chunk(number, chunks)
    return number, score


def _no_chunk(number: Any, chunks: list[Chunk]) -> WrongKind:
    return WrongKind(f"found the chunk {shown(number)}; expected one of the {len(chunks)} in {CHUNKS}")
