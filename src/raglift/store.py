"""Evaluations on disk: plain files in one folder, never a pickle.

run.json         what was asked and measured: spec, stages, notes, versions, dataset hash; the format's version
queries.jsonl    the queries with their labels, as they were resolved
chunks.jsonl     each distinct chunk that was returned, once
traces.jsonl     one line a query: for each stage the hits (chunk number, score) and seconds, or the error
scores.parquet   one row a query, stage and metric
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.errors import ConfigurationError, RunError
from raglift.metrics import parse
from raglift.records import (
    Chunk,
    Dataset,
    Evaluation,
    Fact,
    Hit,
    Passage,
    Query,
    Ranking,
    Run,
    Scores,
    StageInfo,
    StageTrace,
    Trace,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FORMAT", "load_evaluation", "save_evaluation"]

FORMAT = 1
"""The version of the files; a folder with a higher one was written by a newer raglift."""

_RUN, _QUERIES, _CHUNKS, _TRACES, _SCORES = (
    "run.json",
    "queries.jsonl",
    "chunks.jsonl",
    "traces.jsonl",
    "scores.parquet",
)


def save_evaluation(evaluation: Evaluation, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write an evaluation to a folder; all of it or nothing.

    Args:
        evaluation: what to write.
        folder: where; its parents are made when missing.
        overwrite: replace an evaluation that is already there.

    Returns:
        The folder.

    Raises:
        RunError: the folder exists (and is not an evaluation to be overwritten), or cannot be written.
    """
    target = Path(folder).expanduser()
    occupied = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if occupied and not (overwrite and (target / _RUN).is_file()):
        hint = "choose another folder" if overwrite else "choose another folder, or pass overwrite=True"
        raise RunError(f"{target}: found something there already; expected a new or empty folder: {hint}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as temporary:
            written = Path(temporary) / "run"
            written.mkdir()
            _write(evaluation, written)
            if target.exists():
                retired = Path(temporary) / "retired"
                os.replace(target, retired)
            os.replace(written, target)
    except OSError as error:
        raise RunError(f"{target}: cannot be written: {error}; nothing was changed there") from error
    return target


def load_evaluation(folder: str | Path) -> Evaluation:
    """Read an evaluation that was saved.

    The documents are not saved with it, so they are not in the dataset that comes back.

    Raises:
        RunError: the folder is missing, damaged, or from a newer version; the message names the file and line.
    """
    source = Path(folder).expanduser()
    if not (source / _RUN).is_file():
        raise RunError(f"{source}: found no {_RUN}; expected the folder of a saved evaluation")
    head = _read_json(source / _RUN)
    if not isinstance(head, dict) or not isinstance(head.get("format"), int):
        raise RunError(f"{source / _RUN}: found no format number; expected the {_RUN} of a saved evaluation")
    if head["format"] > FORMAT:
        raise RunError(
            f"{source / _RUN}: found format {head['format']}; expected {FORMAT} or lower: "
            "it was written by a newer raglift; upgrade with pip install -U raglift"
        )
    try:
        return _evaluation(source, head)
    except (KeyError, TypeError, ValueError, IndexError, ConfigurationError) as error:
        raise RunError(
            f"{source}: damaged: {type(error).__name__}: {error}; run the evaluation again"
        ) from error


def _write(evaluation: Evaluation, folder: Path) -> None:
    run = evaluation.run
    chunks: dict[tuple[Any, ...], int] = {}
    _write_lines(folder / _TRACES, (_trace_line(trace, chunks) for trace in run.traces))
    _write_lines(
        folder / _CHUNKS,
        (
            dict(
                zip(
                    ("id", "doc_id", "start", "end", "text", "metadata"),
                    (*key[:5], json.loads(key[5])),
                    strict=True,
                )
            )
            for key in chunks
        ),
    )
    _write_lines(
        folder / _QUERIES, (_without_defaults(asdict(query)) for query in evaluation.dataset.queries)
    )
    head = {
        "format": FORMAT,
        "dataset": evaluation.dataset.name,
        "spec": dict(run.spec),
        "stages": [asdict(stage) for stage in run.stages],
        "run_notes": run.notes,
        "profile": evaluation.profile,
        "metrics": [str(metric) for metric in evaluation.scores.metrics],
        "truncated": dict(evaluation.truncated),
        "notes": evaluation.notes,
    }
    (folder / _RUN).write_text(json.dumps(head, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    _write_scores(evaluation.scores, folder / _SCORES)


def _trace_line(trace: Trace, chunks: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    def number(chunk: Chunk) -> int:
        metadata = json.dumps(dict(chunk.metadata), ensure_ascii=False, sort_keys=True, default=str)
        key = (chunk.id, chunk.doc_id, chunk.start, chunk.end, chunk.text, metadata)
        return chunks.setdefault(key, len(chunks))

    stages = [
        {
            "stage": stage.stage,
            "seconds": round(stage.seconds, 6),
            "hits": [[number(hit.chunk), _finite(hit.score)] for hit in stage.ranking],
        }
        for stage in trace.stages
    ]
    return {"query_id": trace.query_id, "stages": stages, "error": trace.error}


def _finite(score: float | None) -> float | str | None:
    """Return a score as JSON can hold it: infinities and NaN as text."""
    return score if score is None or math.isfinite(score) else str(score)


def _write_scores(scores: Scores, path: Path) -> None:
    import pandas as pd

    stages, metrics, queries = scores.values.shape
    frame = pd.DataFrame(
        {
            "query_id": list(scores.query_ids) * (stages * metrics),
            "stage": np.repeat(np.array(scores.stages, dtype=object), metrics * queries),
            "metric": np.tile(
                np.repeat(np.array([str(m) for m in scores.metrics], dtype=object), queries), stages
            ),
            "value": scores.values.ravel(),
        }
    )
    frame.to_parquet(path, index=False)


def _read_scores(
    source: Path, query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: list[str]
) -> Scores:
    import pandas as pd

    try:
        frame = pd.read_parquet(source / _SCORES)
    except (OSError, ValueError) as error:  # pyarrow's own errors are among these
        raise RunError(f"{source / _SCORES}: cannot be read: {error}; run the evaluation again") from error
    values = frame["value"].to_numpy(dtype=np.float64).reshape(len(stages), len(metrics), len(query_ids))
    return Scores(query_ids, stages, tuple(parse(metric) for metric in metrics), values)


def _evaluation(source: Path, head: dict[str, Any]) -> Evaluation:
    chunks = [Chunk(**line) for line in _read_lines(source / _CHUNKS)]
    queries = tuple(_query(line) for line in _read_lines(source / _QUERIES))
    traces = tuple(_trace(line, chunks) for line in _read_lines(source / _TRACES))
    stages = tuple(
        StageInfo(**{**stage, "depth_fixed": tuple(stage["depth_fixed"])}) for stage in head["stages"]
    )
    names = tuple(stage.name for stage in stages)
    return Evaluation(
        run=Run(stages, traces, head["spec"], tuple(head["run_notes"])),
        dataset=Dataset(queries, name=head["dataset"]),
        scores=_read_scores(source, tuple(query.id for query in queries), names, head["metrics"]),
        profile=head["profile"],
        truncated=head["truncated"],
        notes=tuple(head["notes"]),
    )


def _trace(line: dict[str, Any], chunks: list[Chunk]) -> Trace:
    stages = tuple(
        StageTrace(
            stage["stage"],
            Ranking(
                tuple(
                    Hit(chunks[number], rank, None if score is None else float(score))
                    for rank, (number, score) in enumerate(stage["hits"], start=1)
                )
            ),
            stage["seconds"],
        )
        for stage in line["stages"]
    )
    return Trace(line["query_id"], stages, line["error"])


def _query(line: dict[str, Any]) -> Query:
    facts = tuple(
        Fact(tuple(Passage(**passage) for passage in fact["passages"])) for fact in line.pop("facts", ())
    )
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


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n", errors="surrogatepass") as file:
        file.writelines(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines)


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8", newline="\n", errors="surrogatepass") as file:
            for number, line in enumerate(file, start=1):
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise RunError(f"{path}:{number}: damaged: {error}; run the evaluation again") from error
                if not isinstance(record, dict):
                    raise RunError(f"{path}:{number}: found a {type(record).__name__}; expected an object")
                yield record
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error}") from error


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read: {error}; run the evaluation again") from error
