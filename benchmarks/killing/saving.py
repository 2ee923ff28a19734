"""`evaluate --output --overwrite`: two processes in one group with one cache, and a folder each that is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from killing.corpus import write_part
from killing.job import Count, Fault, left_over, twice
from killing.process import Command, events_of
from killing.sweeping import is_same
from raglift.errors import RunError
from raglift.results.evaluation import load_evaluation

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.results.evaluation import Evaluation

__all__ = ["Saving"]

RUNS = ("run-a", "run-b")
SIZES = (1000, 500)
RETRIEVERS = ("dense", "bm25")


class Saving:
    """Two evaluations at a time, each saved over what the one before it saved.

    Args:
        place: where its inputs are written.
    """

    name = "evaluate --output --overwrite"

    def __init__(self, place: Path) -> None:
        self._data = str(write_part(place / "island"))
        self._there: dict[Path, bool] = {}

    def begin(self, folder: Path) -> None:
        """Nothing is saved yet."""
        self._there.update({folder / run: False for run in RUNS})

    def command(self, folder: Path, number: int) -> Command:
        """Return the commands; every second time, the chunks are those of the other."""
        sizes = SIZES if number % 2 == 0 else SIZES[::-1]
        settings = ("--embedding", "minilm", "--dtype", "float32", "--reranker", "none")
        first, second = (
            (
                "evaluate",
                self._data,
                "--retriever",
                retriever,
                "--chunker",
                f"recursive:{size}/0",
                "--output",
                run,
                "--overwrite",
            )
            for retriever, size, run in zip(RETRIEVERS, sizes, RUNS, strict=True)
        )
        own = {"RAGLIFT_CACHE": str(folder / "cache")}
        return Command((*first, *settings), folder, own, beside=((*second, *settings),))

    def look(self, folder: Path, whole: Path) -> None:
        """What was saved before is there, or what takes its place: whole."""
        for run in RUNS:
            place = folder / run
            if not place.exists():
                if self._there[place]:
                    raise Fault(f"{run}: found nothing, and there was an evaluation before")
                continue
            self._there[place] = True
            found = _loaded(place)
            if len(found.dataset) != len(_loaded(whole / run).dataset):
                raise Fault(f"{run}: found {len(found.dataset)} queries")

    def compare(self, folder: Path, whole: Path) -> None:
        """The same rankings and figures, and nothing next to them."""
        for run in RUNS:
            if not is_same(_loaded(folder / run), _loaded(whole / run)):
                raise Fault(f"{run}: other rankings or figures than without a kill")
        left_over(folder)

    def count(self, folder: Path, killed: int) -> Count:
        """Count texts: a killed process loses the batch that it was at."""
        found = twice(events_of(self.command(folder, 0)))
        if found.again > killed * found.most:
            raise Fault(f"{found.again} texts were computed again after {killed} kills")
        return found


def _loaded(place: Path) -> Evaluation:
    try:
        return load_evaluation(place)
    except RunError as error:
        raise Fault(str(error)) from error
