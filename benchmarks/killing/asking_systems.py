"""A user's own slow system, in Python: `evaluate --system --output --resume`, and a sweep over it.

The system writes down each question as it comes, with the process that asked it. What a process had been told when it
was killed must not be asked again; the question that it was at may be.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from killing.job import Count, Fault, left_over
from killing.process import Command
from killing.sweeping import is_same
from raglift.errors import RunError
from raglift.results.evaluation import load_evaluation
from raglift.sweep.engine import load_sweep_result

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.results.evaluation import Evaluation

__all__ = ["AskingOne", "AskingTwo"]

SYSTEM = """
import os, time
from raglift.datasets.loading import load_dataset

TEXTS = [document.text[:400] for document in load_dataset("lighthouse").documents]


def note(name, query):
    with open("asked", "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {name} {query}\\n")


def ranked(query, k):
    words = set(query.lower().split())
    found = sorted(TEXTS, key=lambda text: -len(words & set(text.lower().split())))
    return [{"id": f"c{TEXTS.index(text)}", "text": text, "score": 1 / (2 + n)} for n, text in enumerate(found[:k])]


def slow(query, k):
    note("slow", query)
    time.sleep(0.03)
    return ranked(query, k)


def slower(query, k):
    note("slower", query)
    time.sleep(0.05)
    return ranked(query[::-1], k)
"""
SWEEP = """
dataset: lighthouse
systems: {slow: "slow_system:slow", slower: "slow_system:slower"}
candidates: 3
ks: [1, 3]
primary: ndcg@3
budget: null
"""
_IN_FLIGHT = 1


class AskingOne:
    """`raglift evaluate --system … --output … --resume`.

    Args:
        place: for inputs; there are none.
    """

    name = "evaluate --system"

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self._saved: set[Path] = set()
        """The folders in which a kill came after the run was saved: answers may be left beside it."""

    def begin(self, folder: Path) -> None:
        """Write the system to the folder in which it is asked."""
        (folder / "slow_system.py").write_text(SYSTEM, encoding="utf-8")

    def command(self, folder: Path, number: int) -> Command:  # noqa: ARG002 — the same command goes on
        """Return the command; where the kill came after the run was saved, one that reads it."""
        arguments: tuple[str, ...] = ("evaluate", "lighthouse", "--system", "slow_system:slow", "-k", "1,3")
        arguments = (*arguments, "--output", "run", "--resume")
        if (folder / "run").exists():
            arguments = ("rescore", "run")
        return Command(arguments, folder, {"RAGLIFT_CACHE": str(folder / "cache")})

    def look(self, folder: Path, whole: Path) -> None:  # noqa: ARG002 — of every job
        """What is saved is whole."""
        self._check_saved(folder)

    def compare(self, folder: Path, whole: Path) -> None:
        """The same rankings and figures, and no answers left."""
        if not is_same(_loaded(folder / "run"), _loaded(whole / "run")):
            raise Fault("other rankings or figures than without a kill")
        if (folder / "run.unfinished").exists() and folder not in self._saved:
            raise Fault("run.unfinished: found it beside the finished run")
        left_over(folder)

    def count(self, folder: Path, killed: int) -> Count:
        """Count questions.

        Raises:
            Fault: one was asked again that no killed process was at.
        """
        by_process: dict[str, list[str]] = {}
        for process, question in self._asked(folder):
            by_process.setdefault(process, []).append(question)
        asked, in_flight, wrong = Counter[str](), Counter[str](), []
        for questions in by_process.values():
            for question in questions:
                if asked[question] and not in_flight[question]:
                    wrong.append(question)
                elif asked[question]:
                    in_flight[question] -= 1
                asked[question] += 1
            in_flight[questions[-1]] += 1
        if wrong:
            raise Fault(f"{len(wrong)} answered questions were asked again after {killed} kills, as {wrong[0]!r}")
        return Count(len(asked), asked.total() - len(asked), _IN_FLIGHT)

    def _check_saved(self, folder: Path) -> None:
        if (folder / "run").exists():
            self._saved.add(folder)
            _loaded(folder / "run")

    def _asked(self, folder: Path) -> list[tuple[str, str]]:
        """Return each question that was asked, with the process that asked it."""
        path = folder / "asked"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


class AskingTwo(AskingOne):
    """`raglift sweep` over two systems of a user's. Prompts are not filled, so each question is asked once."""

    name = "sweep over own systems"

    def begin(self, folder: Path) -> None:
        """Write the systems and the sweep to the folder in which they are asked."""
        super().begin(folder)
        (folder / "own.yaml").write_text(SWEEP, encoding="utf-8")

    def command(self, folder: Path, number: int) -> Command:  # noqa: ARG002 — the same command goes on
        """Return the command."""
        arguments = ("sweep", "own.yaml", "-o", "sweep", "--resume")
        return Command(arguments, folder, {"RAGLIFT_CACHE": str(folder / "cache")})

    def compare(self, folder: Path, whole: Path) -> None:
        """The same rankings and figures in every cell, and no answers left."""
        expected, found = load_sweep_result(whole / "sweep"), load_sweep_result(folder / "sweep")
        if not len(found.finished) == len(expected.finished) == 2:
            raise Fault(f"found {len(found.finished)} finished cells; expected 2")
        for left, right in zip(expected.results, found.results, strict=True):
            if left.evaluation is None or right.evaluation is None or not is_same(left.evaluation, right.evaluation):
                raise Fault(f"{left.cell.name}: other rankings or figures than without a kill")
        if (folder / "sweep" / "answers").exists():
            raise Fault("answers: found them beside finished cells")
        left_over(folder)

    def _check_saved(self, folder: Path) -> None:
        for place in (folder / "sweep" / "cells").glob("[!.]*"):
            _loaded(place)


def _loaded(place: Path) -> Evaluation:
    try:
        return load_evaluation(place)
    except RunError as error:
        raise Fault(str(error)) from error
