"""An evaluation from a folder, checked."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.errors import RunError
from raglift.matching import MatchRule
from raglift.metrics import read_metric
from raglift.records import (
    Annotator,
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
from raglift.store.costs import read_cost
from raglift.store.layout import CHUNKS, FORMAT, QUERIES, RUN, SCORES, TRACES, score_keys
from raglift.store.plain_files import DAMAGE, read_json, read_lines

if TYPE_CHECKING:
    from raglift.records import Metric

__all__ = ["load_evaluation"]


def load_evaluation(folder: str | Path) -> Evaluation:
    """Read an evaluation that was saved.

    The documents are not saved with it, so they are not in the dataset that comes back.

    Raises:
        RunError: the folder is missing, damaged, or from a newer version; the message names the file and line.
    """
    source = Path(folder).expanduser()
    if not (source / RUN).is_file():
        raise RunError(_no_run(source))
    head = read_json(source / RUN)
    if not isinstance(head, dict) or not isinstance(head.get("format"), int):
        raise RunError(f"{source / RUN}: found no format number; expected the {RUN} of a saved evaluation")
    if head["format"] > FORMAT:
        raise RunError(
            f"{source / RUN}: found format {head['format']}; expected {FORMAT} or lower: "
            "it was written by a newer raglift; upgrade with pip install -U raglift"
        )
    chunks = read_lines(source / CHUNKS, lambda line: Chunk(**line))
    queries = tuple(read_lines(source / QUERIES, _query))
    traces = tuple(read_lines(source / TRACES, partial(_trace, chunks)))
    if [trace.query_id for trace in traces] != [query.id for query in queries]:
        raise _damaged(source / TRACES, f"found other queries than in {QUERIES}")
    try:
        return _evaluation(source, head, queries, traces, _inventory(head, chunks, queries))
    except DAMAGE as error:
        if isinstance(error, RunError):
            raise
        raise _damaged(source / RUN, f"{type(error).__name__}: {error}") from error


def _no_run(source: Path) -> str:
    """Return why a path is no saved evaluation."""
    if not source.exists():
        return f"{source}: found nothing there; expected the folder of a saved evaluation: check the path"
    found = f"a folder without {RUN}" if source.is_dir() else "a file"
    return f"{source}: found {found}; expected the folder of a saved evaluation, as evaluation.save or --save writes it"


def _damaged(path: Path, found: str) -> RunError:
    return RunError(f"{path}: damaged: {found}; run the evaluation again")


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


def _read_scores(
    path: Path, query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: tuple[Metric, ...]
) -> Scores:
    import pandas as pd

    keys = score_keys(query_ids, stages, metrics)
    try:
        frame = pd.read_parquet(path)
        # Compared as the column holds them: as Python's texts they take many times the memory
        of_them = all(frame[name].equals(keys[name].astype(frame[name].dtype)) for name in keys.columns)
        values = frame["value"].to_numpy(dtype=np.float64)
    except FileNotFoundError as error:  # pyarrow's says the path alone
        raise RunError(f"{path}: missing; run the evaluation again") from error
    except (OSError, KeyError, TypeError, ValueError) as error:  # pyarrow's own errors are among these
        raise RunError(f"{path}: cannot be read: {error}; run the evaluation again") from error
    if not of_them:
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
    metrics = tuple(read_metric(metric, head.get("own_metrics", {})) for metric in head["metrics"])
    MatchRule(**head["spec"]["match"])  # what cannot be a rule could not be matched again
    names = tuple(stage.name for stage in stages)
    return Evaluation(
        run=Run(stages, traces, head["spec"], tuple(head["run_notes"]), inventory, read_cost(head.get("cost"))),
        dataset=Dataset(queries, name=head["dataset"]),
        scores=_read_scores(source / SCORES, tuple(query.id for query in queries), names, metrics),
        profile=head["profile"],
        truncated=head["truncated"],
        truncated_tokens=head.get("truncated_tokens", {}),
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
        raise IndexError(f"found the chunk {number}; expected one of the {len(chunks)} in {CHUNKS}")
    return chunks[number]


def _query(line: dict[str, Any]) -> Query:
    facts = tuple(Fact(tuple(_passage(passage) for passage in fact["passages"])) for fact in line.pop("facts", ()))
    irrelevant = tuple(_passage(passage) for passage in line.pop("judged_irrelevant", ()))
    annotator = _annotator(line)
    return Query(
        facts=facts, judged_irrelevant=irrelevant, tags=tuple(line.pop("tags", ())), annotator=annotator, **line
    )


def _passage(value: dict[str, Any]) -> Passage:
    return Passage(annotator=_annotator(value), **value)


def _annotator(value: dict[str, Any]) -> Annotator | None:
    annotator = value.pop("annotator", None)
    return None if annotator is None else Annotator(**annotator)
