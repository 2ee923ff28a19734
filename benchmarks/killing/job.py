"""One kind of work that is killed: how it is started, gone on with, and compared with work that nobody killed."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from killing.process import Started, events_of, prepare, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from killing.process import Command

__all__ = ["Count", "Fault", "Job", "Kill", "Moments", "Tally", "kill_often", "left_over", "twice"]

LONGEST_CHAIN = 6
WRITES = ("saves", "keeps", "writes")
"""Events that a file or the cache is written after."""
_STEP = 0.002


class Fault(AssertionError):
    """Something was lost, damaged or done twice."""


class Count(NamedTuple):
    """What was computed or paid for in one folder."""

    items: int
    """Distinct texts, pairs or prompts."""
    again: int
    """How often one of them was computed or asked again."""
    most: int
    """The most that one killed process had under way."""


class Job(Protocol):
    """Work that can be begun, killed and gone on with."""

    name: str

    def begin(self, folder: Path) -> None:
        """Get an empty folder ready."""

    def command(self, folder: Path, number: int) -> Command:
        """Return what begins or goes on with the work in a folder: at its start number `number` there."""

    def look(self, folder: Path, whole: Path) -> None:
        """Look at what a killed process left, before anything goes on with it.

        Raises:
            Fault: something is lost or damaged.
        """

    def compare(self, folder: Path, whole: Path) -> None:
        """Compare finished work with the work that nobody killed.

        Raises:
            Fault: it differs.
        """

    def count(self, folder: Path, killed: int) -> Count:
        """Count what was done, and what of it was done again.

        Raises:
            Fault: more was done again than was under way.
        """


@dataclass(frozen=True)
class Kill:
    """One process that was killed."""

    job: str
    moment: float
    """After which part of the time that the whole work takes; of a review, of its decisions."""
    phase: str
    """The kind of the last event before it."""
    resumed: int
    """How often the work had been killed before."""


@dataclass
class Tally:
    """What came of killing one job."""

    name: str
    seconds: float = 0.0
    """How long the work takes that nobody kills."""
    kills: list[Kill] = field(default_factory=list)
    ended_first: int = 0
    """How many processes had ended before their moment came."""
    chains: int = 0
    """How often the work was begun afresh, finished and compared."""
    counts: list[Count] = field(default_factory=list)
    """Of each chain."""


def kill_often(job: Job, place: Path, kills: int, seed: int) -> Tally:
    """Kill a job until it was killed so often; after each chain of kills, finish the work and compare.

    Two of three moments are anywhere in the time that the whole work takes; the third is while something is written.

    Args:
        job: the work.
        place: a new folder.
        kills: how many.
        seed: of the moments.

    Raises:
        Fault: something was lost, damaged or done twice; the message names the seed and the folder, which stays.
    """
    prepare()
    chance = random.Random(seed)  # noqa: S311 — when to kill
    whole = place / "whole"
    whole.mkdir(parents=True)
    job.begin(whole)
    tally = Tally(job.name, start(job.command(whole, 0)).finish())
    moments = Moments(chance, tally.seconds, events_of(job.command(whole, 0)))
    while len(tally.kills) < kills:
        folder = place / f"chain-{tally.chains}"
        folder.mkdir()
        try:
            _chain(job, folder, whole, moments, kills, tally)
        except AssertionError as error:
            raise Fault(f"{job.name}, seed {seed}, {folder}: {error}") from error
        shutil.rmtree(folder)
    return tally


def _chain(job: Job, folder: Path, whole: Path, moments: Moments, kills: int, tally: Tally) -> None:
    """Begin, kill, go on, kill … until the work is finished, and compare."""
    job.begin(folder)
    killed = 0
    for number in range(LONGEST_CHAIN):
        if len(tally.kills) >= kills:
            break
        started = start(job.command(folder, number))
        moments.wait(started, number)
        seconds = time.monotonic() - started.at
        if not started.kill():
            started.finish()  # raises where it failed by itself
            tally.ended_first += 1
            if number == 0:
                moments.faster(seconds)
            break
        moment = min(seconds / tally.seconds, 1.0)
        tally.kills.append(Kill(job.name, moment, _last_phase(started), number))
        killed += 1
        job.look(folder, whole)
    start(job.command(folder, LONGEST_CHAIN)).finish()
    job.compare(folder, whole)
    tally.counts.append(job.count(folder, killed))
    tally.chains += 1


class Moments:
    """When to kill: two of three moments are anywhere in the time of the whole work, the third while it writes.

    Args:
        chance: draws them.
        seconds: how long the whole work takes.
        events: what its process wrote down.
    """

    def __init__(self, chance: random.Random, seconds: float, events: Sequence[Sequence[Any]]) -> None:
        self._chance, self._seconds, self._drawn = chance, seconds, 0
        self._even = _even(chance)
        self._writing = [kind for _, kind, *_ in events if kind in WRITES]

    def wait(self, started: Started, resumed: int, goes_on: Callable[[], bool] | None = None) -> None:
        """Wait for the next moment, or until the work is over.

        Args:
            started: who works.
            resumed: how often the work was killed before: it has less to go.
            goes_on: whether there is work left, where its process does not end by itself.
        """
        goes_on = goes_on or (lambda: started.is_running)
        self._drawn += 1
        if self._drawn % 3 or not self._writing:
            time.sleep(next(self._even) * self._seconds / (1 + resumed))
            return
        kind = self._chance.choice(sorted(set(self._writing)))
        which = self._chance.randint(1, self._writing.count(kind))
        while goes_on() and self._count(started, kind) < which:
            time.sleep(_STEP)
        time.sleep(self._chance.uniform(0.0, 0.03))

    def faster(self, seconds: float) -> None:
        """The whole work took no longer now: the machine has less to do besides."""
        self._seconds = min(self._seconds, seconds)

    def _count(self, started: Started, kind: str) -> int:
        own = started.process.pid
        return sum(found == kind and process == own for process, found, *_ in events_of(started.command))


def _even(chance: random.Random) -> Iterator[float]:
    """Yield moments between 0 and 1, ten tenths in turn in random order, so that none of them is left out."""
    while True:
        for tenth in chance.sample(range(10), 10):
            yield (tenth + chance.random()) / 10


def _last_phase(started: Started) -> str:
    """Return the kind of the last event that a killed process wrote down."""
    own = [kind for process, kind, *_ in events_of(started.command) if process == started.process.pid]
    return own[-1] if own else "begins"


def twice(events: Sequence[Sequence[Any]]) -> Count:
    """Count what models computed, by the events of all processes.

    Raises:
        Fault: something was computed again that had been kept, or kept twice.
    """
    kept: set[str] = set()
    computed: Counter[str] = Counter()
    under_way: dict[int, list[str]] = {}
    for process, kind, items, _ in events:
        if kind in ("embeds", "scores"):
            if kept.intersection(items):
                raise Fault(f"{len(kept.intersection(items))} items of a finished batch were computed again")
            under_way[process] = items
            computed.update(items)
        elif kind == "keeps" and kept.intersection(items):
            raise Fault(f"{len(kept.intersection(items))} entries were kept twice")
        elif kind == "kept":
            kept.update(items)
            under_way.pop(process, None)
    most = max(map(len, under_way.values()), default=0)
    return Count(len(computed), computed.total() - len(computed), most)


def left_over(folder: Path) -> None:
    """Raise a Fault if a folder holds what a killed process had half written."""
    found = sorted(path for path in folder.rglob(".*") if not path.name.endswith(".lock"))
    if found:
        raise Fault(f"left over by a killed process: {', '.join(str(path.relative_to(folder)) for path in found[:5])}")
