"""One kind of work that is killed: how it is started, gone on with, and compared with work that nobody killed."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from killing.process import Started, events_of, prepare, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from killing.process import Command

__all__ = ["Fault", "Job", "Kill", "Tally", "kill_often", "twice"]

LONGEST_CHAIN = 6


class Fault(AssertionError):
    """Something was lost, damaged or done twice."""


class Job(Protocol):
    """Work that can be begun, killed and gone on with."""

    name: str

    def command(self, folder: Path, number: int) -> Command:
        """Return what begins or goes on with the work in a folder: at its start number `number` there."""
        ...

    def look(self, folder: Path) -> None:
        """Look at what a killed process left, before anything goes on with it.

        Raises:
            Fault: something is lost or damaged.
        """
        ...

    def compare(self, folder: Path, whole: Path) -> None:
        """Compare finished work with the work that nobody killed.

        Raises:
            Fault: it differs.
        """
        ...


@dataclass(frozen=True)
class Kill:
    """One process that was killed."""

    job: str
    moment: float
    """After which part of the time that the whole work takes: 0 to 1."""
    phase: str
    """The kind of the last event before it."""
    resumed: int
    """How often the work had been killed before."""


@dataclass
class Tally:
    """What came of killing one job."""

    kills: list[Kill] = field(default_factory=list)
    ended_first: int = 0
    """How many processes had ended before their moment came."""
    chains: int = 0
    """How often the work was begun afresh."""
    twice: int = 0
    """Items (texts, pairs, prompts) that were computed or asked more than once."""
    most_twice: int = 0
    """The most of them for one kill."""
    items: int = 0
    """Distinct items that were computed or asked."""


def kill_often(job: Job, place: Path, kills: int, seed: int) -> Tally:
    """Kill a job until it was killed so often; after each chain of kills, finish the work and compare.

    Args:
        job: the work.
        place: an empty folder.
        kills: how many.
        seed: of the moments.

    Raises:
        Fault: something was lost, damaged or done twice; the message names the seed.
    """
    prepare()
    whole = place / "whole"
    whole.mkdir(parents=True)
    seconds = start(job.command(whole, 0)).finish()
    chance, tally = random.Random(seed), Tally()
    moments = _moments(chance)
    while len(tally.kills) < kills:
        folder = place / f"chain-{tally.chains}"
        folder.mkdir()
        tally.chains += 1
        try:
            _chain(job, folder, whole, seconds, moments, kills, tally)
        except AssertionError as error:
            raise Fault(f"{job.name}, seed {seed}, {folder}: {error}") from error
        shutil.rmtree(folder)
    return tally


def _chain(
    job: Job, folder: Path, whole: Path, seconds: float, moments: Iterator[float], kills: int, tally: Tally
) -> None:
    """Begin, kill, go on, kill … until the work is finished, and compare."""
    killed = 0
    for number in range(LONGEST_CHAIN):
        if len(tally.kills) >= kills:
            break
        moment = next(moments)
        started = start(job.command(folder, number))
        time.sleep(moment * seconds)
        if not started.kill():
            started.finish()  # raises where it failed by itself
            tally.ended_first += 1
            break
        tally.kills.append(Kill(job.name, moment, _last_phase(started), number))
        killed += 1
        job.look(folder)
    start(job.command(folder, LONGEST_CHAIN)).finish()
    job.compare(folder, whole)
    _count(job.command(folder, 0), killed, tally)


def _moments(chance: random.Random) -> Iterator[float]:
    """Yield moments between 0 and 1, ten tenths in turn in random order, so that none of them is left out."""
    while True:
        for tenth in chance.sample(range(10), 10):
            yield (tenth + chance.random()) / 10


def _last_phase(started: Started) -> str:
    """Return the kind of the last event that a killed process wrote down."""
    own = [kind for process, kind, _ in events_of(started.command) if process == started.process.pid]
    return own[-1] if own else "begins"


def _count(command: Command, killed: int, tally: Tally) -> None:
    again, distinct, most = twice(events_of(command))
    tally.twice += again
    tally.items += distinct
    tally.most_twice = max(tally.most_twice, most)
    if again and not killed:
        raise Fault(f"{again} items were computed twice, though nothing was killed")


def twice(events: list[list[Any]]) -> tuple[int, int, int]:
    """Count what was computed more than once: in all, how many distinct items there are, and most for one process.

    Raises:
        Fault: something was computed again that had been kept, or kept twice.
    """
    kept: set[str] = set()
    computed: Counter[str] = Counter()
    under_way: dict[int, list[str]] = {}
    again = most = 0
    for process, kind, items in events:
        if kind in ("embeds", "scores"):
            if kept.intersection(items):
                raise Fault(f"{len(kept.intersection(items))} items of a finished batch were computed again")
            under_way[process] = items
            again += sum(computed[item] > 0 for item in items)
            computed.update(items)
        elif kind == "keeps" and kept.intersection(items):
            raise Fault(f"{len(kept.intersection(items))} entries were kept twice")
        elif kind == "kept":
            kept.update(items)
            most = max(most, 0)
            under_way.pop(process, None)
    lost = [len(items) for items in under_way.values()]
    return again, len(computed), max(lost, default=0)
