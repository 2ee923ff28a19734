"""An evaluation from a folder, checked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.errors import RunError
from raglift.faults import quoted, shown
from raglift.limits import LARGEST_SCORE, allowed, most_bytes
from raglift.metrics import PROFILES, read_metric
from raglift.paths import is_file, is_folder, is_there, user_path
from raglift.records import (
    Annotator,
    Chunk,
    Dataset,
    Fact,
    Hit,
    Passage,
    Query,
    Ranking,
    Run,
    StageInfo,
    StageTrace,
    Trace,
)
from raglift.result_records import EvaluationRecord, Scores
from raglift.store.costs import read_cost
from raglift.store.fields import ANNOTATOR, CHUNK, FACT, HEAD, PASSAGE, QUERY, STAGE, STAGE_TRACE, TRACE
from raglift.store.kinds import NUMBER, WrongKind, check_record
from raglift.store.layout import CHUNKS, FORMAT, QUERIES, RUN, SCORES, TRACES, score_keys
from raglift.store.parts import check_spec, chunk_at, of_older, read_inventory
from raglift.store.plain_files import DAMAGE, read_json, read_lines, told

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from raglift.records import Inventory, Metric

__all__ = ["read_evaluation"]


def read_evaluation(folder: str | Path) -> EvaluationRecord:
    """Read an evaluation that was saved.

    The documents are not saved with it, so they are not in the dataset that comes back.

    Raises:
        RunError: the folder is missing, damaged, or from a newer version; the message names the file and line.
    """
    source = user_path(folder)
    try:
        if not is_file(source / RUN):
            raise RunError(_no_run(source))
    except OSError as error:
        raise RunError(f"{source}: cannot be read: {told(error)}; expected the right to look into it") from error
    head = read_json(source / RUN)
    if not isinstance(head, dict) or type(head.get("format")) is not int:
        raise RunError(f"{source / RUN}: found no format number; expected the {RUN} of a saved evaluation")
    if head["format"] > FORMAT:
        raise RunError(
            f"{source / RUN}: found format {head['format']}; expected {FORMAT} or lower: "
            "it was written by a newer raglift; upgrade with pip install -U raglift"
        )
    chunks = read_lines(source / CHUNKS, _chunk_of)
    queries = tuple(read_lines(source / QUERIES, _query))
    traces = tuple(read_lines(source / TRACES, partial(_trace, chunks)))
    if [trace.query_id for trace in traces] != [query.id for query in queries]:
        raise _damaged(source / TRACES, f"found other queries than in {QUERIES}")
    try:
        return _evaluation(source, head, queries, traces, read_inventory(head.get("inventory"), chunks, queries))
    except RunError:
        raise
    except DAMAGE as error:
        raise _damaged(source / RUN, told(error)) from error


def _no_run(source: Path) -> str:
    """Return why a path is no saved evaluation."""
    if not is_there(source):
        return f"{source}: found nothing there; expected the folder of a saved evaluation: check the path"
    found = f"a folder without {RUN}" if is_folder(source) else "a file"
    return f"{source}: found {found}; expected the folder of a saved evaluation, as evaluation.save or --save writes it"


def _damaged(path: Path, found: str) -> RunError:
    return RunError(f"{path}: damaged: {found}; run the evaluation again")


def _check_size(path: Path, rows: int) -> None:
    """Raise unless a file has as many rows as there are scores, and unpacks to no more than is taken into memory.

    Raises:
        RunError: it has other rows, or too much in them.
        OSError: it cannot be read.
    """
    from pyarrow import parquet

    metadata = parquet.read_metadata(path)
    if metadata.num_rows != rows:
        raise _damaged(path, f"found {metadata.num_rows:,} rows; expected {rows:,}, one a query, stage and metric")
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if size > most_bytes():
        raise RunError(f"{path}: found what unpacks to {size:,} bytes; expected {allowed()}")


def _read_scores(
    path: Path, query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: tuple[Metric, ...]
) -> Scores:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        _check_size(path, len(query_ids) * len(stages) * len(metrics))
        keys = score_keys(query_ids, stages, metrics)
        names = list(keys.columns)
        # As numbers of a dictionary, texts that are equal take no room of their own. What pandas wrote about its own
        # types is not looked at: it is as untrusted as the rest
        table = parquet.read_table(path, columns=[*names, "value"], partitioning=None, read_dictionary=names)
        table.validate(full=True)  # a damaged file may hold texts that are no UTF-8
        frame = table.to_pandas(ignore_metadata=True)
        of_them = not any(table.column(name).null_count for name in names) and all(
            _is_same(frame[name], keys[name]) for name in names
        )
        values = frame["value"].to_numpy(dtype=np.float64)
    except RunError:
        raise
    except FileNotFoundError as error:  # pyarrow's says the path alone
        raise RunError(f"{path}: missing; run the evaluation again") from error
    except (*DAMAGE, OSError, pa.ArrowException, MemoryError) as error:  # a damaged size can be that of any memory
        raise RunError(f"{path}: cannot be read: {told(error)}; run the evaluation again") from error
    if (np.abs(values) > LARGEST_SCORE).any():
        raise _damaged(path, f"found a score larger than {LARGEST_SCORE:g}")
    if not of_them:
        raise _damaged(path, "found other queries, stages or metrics than in the other files")
    return Scores(query_ids, stages, metrics, values.reshape(len(stages), len(metrics), len(query_ids)).copy())


def _is_same(found: pd.Series[Any], expected: pd.Series[Any]) -> bool:
    """Return whether a column is as expected, compared as it holds it: Python's texts take many times the memory."""
    known = getattr(found.dtype, "categories", None)
    if known is not None and not expected.isin(known).all():
        return False
    return bool(found.equals(expected.astype(found.dtype)))


def _evaluation(
    source: Path,
    head: dict[str, Any],
    queries: tuple[Query, ...],
    traces: tuple[Trace, ...],
    inventory: Inventory | None,
) -> EvaluationRecord:
    check_record(head, HEAD, with_others=True)
    check_spec(head["spec"])
    if head["profile"] not in PROFILES:
        raise WrongKind(f"profile: found {shown(head['profile'])}; expected one of {', '.join(PROFILES)}")
    stages = tuple(_stage(stage, f"stages[{number}]") for number, stage in enumerate(head["stages"]))
    metrics = tuple(read_metric(metric, head.get("own_metrics", {})) for metric in head["metrics"])
    names = tuple(stage.name for stage in stages)
    _check_stages(source, names, traces)
    return EvaluationRecord(
        run=Run(stages, traces, head["spec"], tuple(head["run_notes"]), inventory, read_cost(head.get("cost"))),
        dataset=Dataset(queries, name=head["dataset"]),
        scores=_read_scores(source / SCORES, tuple(query.id for query in queries), names, metrics),
        profile=head["profile"],
        truncated=head["truncated"],
        truncated_tokens=head.get("truncated_tokens", {}),
        notes=tuple(head["notes"]),
    )


def _stage(saved: dict[str, Any], where: str) -> StageInfo:
    check_record(saved, STAGE, where)
    return StageInfo(**{**saved, "depth_fixed": tuple(saved.get("depth_fixed", ()))})


def _check_stages(source: Path, names: tuple[str, ...], traces: tuple[Trace, ...]) -> None:
    """Raise unless the stages have names of their own, and each query went through them in order."""
    if len(set(names)) < len(names):
        raise WrongKind(f"stages: found {', '.join(map(quoted, names))}; expected each name once")
    for number, trace in enumerate(traces, start=1):
        done = tuple(stage.stage for stage in trace.stages)
        if done != names[: len(done)]:
            told_stages = f"found the stages {', '.join(map(quoted, done))}; expected them as in {RUN}"
            raise RunError(f"{source / TRACES}:{number}: damaged: {told_stages}; run the evaluation again")


def _trace(chunks: list[Chunk], line: Any) -> Trace:
    check_record(line, TRACE)
    return Trace(line["query_id"], tuple(_stage_trace(chunks, stage) for stage in line["stages"]), line["error"])


def _stage_trace(chunks: list[Chunk], saved: dict[str, Any]) -> StageTrace:
    check_record(saved, STAGE_TRACE, "stages")
    hits = tuple(_hit(chunks, rank, *hit) for rank, hit in enumerate(saved["hits"], start=1))
    return StageTrace(saved["stage"], Ranking(hits), float(saved["seconds"]))


def _hit(chunks: list[Chunk], rank: int, number: int, score: float | str | None) -> Hit:
    if score is not None and type(score) is not float:
        if not NUMBER.fits(score):
            raise WrongKind(f"hits: found the score {shown(score)}; expected {NUMBER.words} or null")
        score = float(score)
    return Hit(chunk_at(chunks, number), rank, score)


def _chunk_of(line: Any) -> Chunk:
    try:
        check_record(line, CHUNK)
    except WrongKind:
        check_record(line := of_older(line), CHUNK)
    return Chunk(**line)


def _query(line: Any) -> Query:
    check_record(line, QUERY)
    facts = tuple(_fact(fact) for fact in line.pop("facts", ()))
    irrelevant = tuple(_passage(passage, "judged_irrelevant") for passage in line.pop("judged_irrelevant", ()))
    annotator = _annotator(line, "annotator")
    return Query(
        facts=facts, judged_irrelevant=irrelevant, tags=tuple(line.pop("tags", ())), annotator=annotator, **line
    )


def _fact(value: dict[str, Any]) -> Fact:
    check_record(value, FACT, "facts")
    return Fact(tuple(_passage(passage, "passages") for passage in value["passages"]))


def _passage(value: dict[str, Any], where: str) -> Passage:
    check_record(value, PASSAGE, where)
    return Passage(annotator=_annotator(value, f"{where}.annotator"), **value)


def _annotator(value: dict[str, Any], where: str) -> Annotator | None:
    annotator = value.pop("annotator", None)
    if annotator is None:
        return None
    check_record(annotator, ANNOTATOR, where)
    return Annotator(**annotator)
