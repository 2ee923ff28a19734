"""Sweeps: two chunkings, two retrievers, with and without a reranker, with the models that are embedded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from killing.corpus import write_part
from killing.job import Count, Fault, left_over, twice
from killing.process import Command, events_of
from raglift.errors import RunError
from raglift.sweep.engine import load_sweep_result

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.results.evaluation import Evaluation

__all__ = ["Sweeping", "is_same"]

SWEEP = """
dataset: {dataset}
chunkers: [recursive:1000/100, recursive:500/0]
retrievers: [dense, bm25]
rerankers: [none, late-interaction]
embeddings: [minilm]
candidates: 3
ks: [1, 3]
primary: ndcg@3
dtype: float32
"""
CELLS = 8


class Sweeping:
    """`raglift sweep`, killed and gone on with by `--resume`.

    Args:
        place: where its inputs are written.
        engine: `local`, or `ray` for worker processes.
    """

    def __init__(self, place: Path, engine: str = "local") -> None:
        self.name = "sweep" if engine == "local" else f"sweep, {engine} workers"
        self._engine = engine
        self._file = place / "sweep.yaml"
        place.mkdir(parents=True, exist_ok=True)
        self._file.write_text(SWEEP.format(dataset=write_part(place / "island")), encoding="utf-8")

    def begin(self, folder: Path) -> None:
        """A sweep needs nothing but its file."""

    def command(self, folder: Path, number: int) -> Command:
        """Return the same command, with `--resume` from the second start on."""
        resume = () if number == 0 else ("--resume",)
        arguments = ("sweep", str(self._file), "-o", "sweep", "--engine", self._engine, *resume)
        return Command(arguments, folder, {"RAGLIFT_CACHE": str(folder / "cache")})

    def look(self, folder: Path, whole: Path) -> None:  # noqa: ARG002 — of every job
        """Every cell that has its name is whole."""
        if not (folder / "sweep" / "sweep.json").exists():
            return
        try:
            found = load_sweep_result(folder / "sweep")
        except RunError as error:
            raise Fault(str(error)) from error
        if found.failed:
            raise Fault(f"a cell is kept as failed: {found.failed[0].error}")

    def compare(self, folder: Path, whole: Path) -> None:
        """The same rankings and figures in every cell, and nothing next to them."""
        expected, found = load_sweep_result(whole / "sweep"), load_sweep_result(folder / "sweep")
        if not len(found.finished) == len(expected.finished) == CELLS:
            raise Fault(f"found {len(found.finished)} finished cells; expected {CELLS}")
        for left, right in zip(expected.results, found.results, strict=True):
            if left.cell != right.cell or left.evaluation is None or right.evaluation is None:
                raise Fault(f"{left.cell.name}: found {right.cell.name}")
            if not is_same(left.evaluation, right.evaluation):
                raise Fault(f"{left.cell.name}: other rankings or figures than without a kill")
        left_over(folder)

    def count(self, folder: Path, killed: int) -> Count:
        """Count texts and pairs: a killed process loses the batch that it was at."""
        found = twice(events_of(self.command(folder, 0)))
        if found.again > killed * found.most:
            raise Fault(f"{found.again} items were computed again after {killed} kills")
        return found


def is_same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations have the same hits with the same scores, and the same figures, to the last bit."""
    return _hits(one) == _hits(other) and np.array_equal(one.scores.values, other.scores.values, equal_nan=True)


def _hits(evaluation: Evaluation) -> list[object]:
    return [
        [(stage.stage, [(hit.chunk.id, hit.score) for hit in stage.ranking]) for stage in trace.stages]
        for trace in evaluation.run.traces
    ]
