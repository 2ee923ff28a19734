"""Evaluations on disk: plain files in one folder, never a pickle.

run.json         what was asked and measured: spec, stages, notes, versions, dataset hash; the format's version
queries.jsonl    the queries with their labels, as they were resolved
chunks.jsonl     each distinct chunk that was returned or that touches a passage, once
traces.jsonl     one line a query: for each stage the hits (chunk number, score) and seconds, or the error
scores.parquet   one row a query, stage and metric
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.errors import RunError
from raglift.matching import MatchRule
from raglift.metrics import parse
from raglift.records import (
    Chunk,
    Dataset,
    Evaluation,
    Fact,
    Hit,
    Inventory,
    Passage,
    Query,
    Ranking,
    Run,
    Scores,
    StageInfo,
    StageTrace,
    Trace,
)
from raglift.store.plain_files import DAMAGE, plain, read_json, read_lines, write_json, write_lines

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records import Metric

__all__ = ["FORMAT", "check_free", "load_evaluation", "save_evaluation"]

FORMAT = 1
"""The version of the files; a folder with a higher one was written by a newer raglift."""

_RUN, _QUERIES, _CHUNKS, _TRACES, _SCORES = (
    "run.json",
    "queries.jsonl",
    "chunks.jsonl",
    "traces.jsonl",
    "scores.parquet",
)
_CHUNK_FIELDS = ("id", "doc_id", "start", "end", "text")


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
    target = Path(folder).expanduser()
    try:
        check_free(target, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as temporary:
            written = Path(temporary) / "run"
            written.mkdir()
            _write(evaluation, written)
            _put(written, target, Path(temporary) / "retired")
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise RunError(f"{target}: cannot be written: {error}; nothing was changed there") from error
    return target


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise unless an evaluation can be saved to a folder without destroying anything else.

    Args:
        folder: where it would be saved.
        overwrite: whether an evaluation that is already there may be replaced.

    Raises:
        RunError: the folder holds something; an evaluation counts as something unless it may be replaced.
    """
    occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if occupied and not (overwrite and _is_evaluation(folder)):
        found, hint = "something there already", "choose another folder"
        if _is_evaluation(folder):
            found, hint = "an evaluation there already", f"{hint}, or replace it (overwrite=True, or --overwrite)"
        elif overwrite:
            found = "something there already that is not a saved evaluation alone, and so is not overwritten"
        raise RunError(f"{folder}: found {found}; expected a new or empty folder: {hint}")


def _is_evaluation(folder: Path) -> bool:
    """Whether a folder holds a saved evaluation and nothing else that replacing it would destroy."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return _RUN in names and names <= {_RUN, _QUERIES, _CHUNKS, _TRACES, _SCORES}


def load_evaluation(folder: str | Path) -> Evaluation:
    """Read an evaluation that was saved.

    The documents are not saved with it, so they are not in the dataset that comes back.

    Raises:
        RunError: the folder is missing, damaged, or from a newer version; the message names the file and line.
    """
    source = Path(folder).expanduser()
    if not (source / _RUN).is_file():
        raise RunError(f"{source}: found no {_RUN}; expected the folder of a saved evaluation")
    head = read_json(source / _RUN)
    if not isinstance(head, dict) or not isinstance(head.get("format"), int):
        raise RunError(f"{source / _RUN}: found no format number; expected the {_RUN} of a saved evaluation")
    if head["format"] > FORMAT:
        raise RunError(
            f"{source / _RUN}: found format {head['format']}; expected {FORMAT} or lower: "
            "it was written by a newer raglift; upgrade with pip install -U raglift"
        )
    chunks = read_lines(source / _CHUNKS, lambda line: Chunk(**line))
    queries = tuple(read_lines(source / _QUERIES, _query))
    traces = tuple(read_lines(source / _TRACES, partial(_trace, chunks)))
    if [trace.query_id for trace in traces] != [query.id for query in queries]:
        raise _damaged(source / _TRACES, f"found other queries than in {_QUERIES}")
    try:
        return _evaluation(source, head, queries, traces, _inventory(head, chunks, queries))
    except DAMAGE as error:
        if isinstance(error, RunError):
            raise
        raise _damaged(source / _RUN, f"{type(error).__name__}: {error}") from error


def _damaged(path: Path, found: str) -> RunError:
    return RunError(f"{path}: damaged: {found}; run the evaluation again")


def _put(written: Path, target: Path, retired: Path) -> None:
    """Move a folder to its place; whatever stands there comes back when that fails."""
    if target.exists():
        target.replace(retired)
    try:
        written.replace(target)
    except BaseException:
        if retired.exists():
            retired.replace(target)
        raise


def _write(evaluation: Evaluation, folder: Path) -> None:
    run = evaluation.run
    chunks: dict[tuple[Any, ...], int] = {}
    write_lines(folder / _TRACES, (_trace_line(trace, chunks) for trace in run.traces))
    inventory = None if run.inventory is None else _inventory_line(run.inventory, chunks)
    write_lines(
        folder / _CHUNKS,
        (
            dict(zip(_CHUNK_FIELDS, values, strict=True)) | {"metadata": json.loads(metadata)}
            for *values, metadata in chunks
        ),
    )
    write_lines(folder / _QUERIES, (_without_defaults(asdict(query)) for query in evaluation.dataset.queries))
    head = {
        "format": FORMAT,
        "dataset": evaluation.dataset.name,
        "spec": run.spec,
        "stages": [asdict(stage) for stage in run.stages],
        "run_notes": run.notes,
        "profile": evaluation.profile,
        "metrics": [str(metric) for metric in evaluation.scores.metrics],
        "truncated": evaluation.truncated,
        "notes": evaluation.notes,
        "inventory": inventory,
    }
    write_json(folder / _RUN, head)
    scores = evaluation.scores
    frame = _score_keys(scores.query_ids, scores.stages, scores.metrics)
    frame.assign(value=scores.values.ravel()).to_parquet(folder / _SCORES, index=False)


def _number(chunk: Chunk, chunks: dict[tuple[Any, ...], int]) -> int:
    """Return the number of a chunk among those that are saved; a new one is added to them."""
    metadata = json.dumps(plain(chunk.metadata), sort_keys=True)
    key = (*(getattr(chunk, name) for name in _CHUNK_FIELDS), metadata)
    return chunks.setdefault(key, len(chunks))


def _inventory_line(inventory: Inventory, chunks: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    return {
        "chunks": inventory.chunks,
        "touching": [_number(chunk, chunks) for chunk in inventory.touching],
        "touches": inventory.touches,
        "minimum_length": inventory.minimum_length,
        "unicode_folding": inventory.unicode_folding,
    }


def _inventory(head: dict[str, Any], chunks: list[Chunk], queries: tuple[Query, ...]) -> Inventory | None:
    saved = head.get("inventory")
    if saved is None:
        return None
    touching = tuple(_chunk(chunks, number) for number in saved["touching"])
    facts = [len(fact.passages) for query in queries if query.is_labelled for fact in query.facts]
    touches = []
    for query, fact, alternative, number in saved["touches"]:
        known = 0 <= query < len(queries) and 0 <= fact < len(facts) and 0 <= alternative < facts[fact]
        if not known or not 0 <= number < len(touching):
            raise IndexError(f"found the touch {[query, fact, alternative, number]}; expected numbers of what is saved")
        touches.append((query, fact, alternative, number))
    looked_for = int(saved["minimum_length"]), bool(saved["unicode_folding"])
    return Inventory(int(saved["chunks"]), touching, tuple(touches), *looked_for)


def _trace_line(trace: Trace, chunks: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    stages = [
        {
            "stage": stage.stage,
            "seconds": stage.seconds,
            "hits": [[_number(hit.chunk, chunks), hit.score] for hit in stage.ranking],
        }
        for stage in trace.stages
    ]
    return {"query_id": trace.query_id, "stages": stages, "error": trace.error}


def _score_keys(query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: tuple[Metric, ...]) -> pd.DataFrame:
    """Return what each row of the scores is about, in the order of the values."""
    import pandas as pd

    texts = [str(metric) for metric in metrics]
    rows = [(query, stage, metric) for stage in stages for metric in texts for query in query_ids]
    return pd.DataFrame(rows, columns=["query_id", "stage", "metric"], dtype=object)


def _read_scores(
    path: Path, query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: tuple[Metric, ...]
) -> Scores:
    import pandas as pd

    keys = _score_keys(query_ids, stages, metrics)
    try:
        frame = pd.read_parquet(path)
        found = frame[list(keys.columns)].astype(object)
        values = frame["value"].to_numpy(dtype=np.float64)
    except (OSError, KeyError, TypeError, ValueError) as error:  # pyarrow's own errors are among these
        raise RunError(f"{path}: cannot be read: {error}; run the evaluation again") from error
    if found.to_numpy().tolist() != keys.to_numpy().tolist():
        raise _damaged(path, "found other queries, stages or metrics than in the other files")
    return Scores(query_ids, stages, metrics, values.reshape(len(stages), len(metrics), len(query_ids)).copy())


def _evaluation(
    source: Path,
    head: dict[str, Any],
    queries: tuple[Query, ...],
    traces: tuple[Trace, ...],
    inventory: Inventory | None,
) -> Evaluation:
    stages = tuple(StageInfo(**{**stage, "depth_fixed": tuple(stage["depth_fixed"])}) for stage in head["stages"])
    metrics = tuple(parse(metric) for metric in head["metrics"])
    MatchRule(**head["spec"]["match"])  # what cannot be a rule could not be matched again
    names = tuple(stage.name for stage in stages)
    return Evaluation(
        run=Run(stages, traces, head["spec"], tuple(head["run_notes"]), inventory),
        dataset=Dataset(queries, name=head["dataset"]),
        scores=_read_scores(source / _SCORES, tuple(query.id for query in queries), names, metrics),
        profile=head["profile"],
        truncated=head["truncated"],
        notes=tuple(head["notes"]),
    )


def _trace(chunks: list[Chunk], line: dict[str, Any]) -> Trace:
    stages = tuple(
        StageTrace(
            stage["stage"],
            Ranking(tuple(_hit(chunks, rank, *hit) for rank, hit in enumerate(stage["hits"], start=1))),
            stage["seconds"],
        )
        for stage in line["stages"]
    )
    return Trace(line["query_id"], stages, line["error"])


def _hit(chunks: list[Chunk], rank: int, number: int, score: float | str | None) -> Hit:
    return Hit(_chunk(chunks, number), rank, None if score is None else float(score))


def _chunk(chunks: list[Chunk], number: int) -> Chunk:
    if not 0 <= number < len(chunks):
        raise IndexError(f"found the chunk {number}; expected one of the {len(chunks)} in {_CHUNKS}")
    return chunks[number]


def _query(line: dict[str, Any]) -> Query:
    facts = tuple(Fact(tuple(Passage(**passage) for passage in fact["passages"])) for fact in line.pop("facts", ()))
    irrelevant = tuple(Passage(**passage) for passage in line.pop("judged_irrelevant", ()))
    return Query(facts=facts, judged_irrelevant=irrelevant, tags=tuple(line.pop("tags", ())), **line)


_DEFAULTS = {field.name: field.default for record in (Passage, Query) for field in fields(record)}


def _without_defaults(value: Any) -> Any:
    """Leave out what a record would have anyway, so that the file reads like labels."""
    if isinstance(value, dict):
        return {
            key: _without_defaults(part)
            for key, part in value.items()
            if key not in _DEFAULTS or part != _DEFAULTS[key]
        }
    if isinstance(value, (list, tuple)):
        return [_without_defaults(part) for part in value]
    return value
