"""What is left of work that is killed: 200 SIGKILLs, and after each the work is gone on with and compared.

Sweeps (in one process, and with Ray's worker processes), grading, generating, reviews, evaluations that are saved over
others, and evaluations and sweeps of a user's own slow systems: real processes and models, a language model's server on
this machine that counts what it is asked, and decisions over HTTP. Each is first done without a kill. Then it is begun
in an empty folder, killed with all its processes after a random time, looked at, gone on with, killed again … until it
ends, and then compared: the same rankings, figures and files, nothing finished computed, asked or paid for again,
nothing left lying about. Run it as

    python benchmarks/kills.py [--kills 200] [--seed 0] [--only sweep] [--workers 2]
    python benchmarks/kills.py --operations [--step 1]

The second line kills before each single operation on files of a saving, a sweep and a grading instead: random moments
seldom hit the time between two of them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from killing.asking import Generating, Grading
from killing.asking_systems import AskingOne, AskingTwo
from killing.files import stop_everywhere
from killing.job import Fault, Tally, kill_often
from killing.probes import PHASES
from killing.process import QUIET
from killing.reviewing import Reviewing, review_often
from killing.saving import Saving
from killing.sweeping import Sweeping

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from killing.job import Job

PARTS = {
    "ray": 0.01,
    "sweep": 0.25,
    "review": 0.16,
    "save": 0.16,
    "system": 0.05,
    "system-sweep": 0.05,
    "grade": 0.16,
    "generate": 0.16,
}
"""Which part of the kills each kind of work gets; those that are asked for share all of them."""
COLUMNS = {"seconds": 8, "kills": 7, "resumed": 9, "compared": 10, "items": 8, "again": 7, "at most": 9}


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, compare, print what came of it; 1 where anything was lost or done twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=PARTS, action="append", help="Only this kind of work; may be repeated.")
    parser.add_argument("--workers", type=int, default=3, help="How many kinds of work are killed at the same time.")
    parser.add_argument("--operations", action="store_true", help="Kill before each operation on files instead.")
    parser.add_argument("--step", type=int, default=1, help="Only before each first of so many operations.")
    asked = parser.parse_args(arguments)
    if asked.operations:
        return operations(Path(tempfile.mkdtemp(prefix="raglift-kills-")), asked.step)
    parts = {name: PARTS[name] for name in asked.only or PARTS}
    shares = {name: max(round(asked.kills * part / sum(parts.values())), 1) for name, part in parts.items()}
    place = Path(tempfile.mkdtemp(prefix="raglift-kills-"))
    os.environ["PYTHONWARNINGS"] = QUIET  # before anything keeps count of semaphores
    begun = time.monotonic()
    # Each in a process of its own: a process that waits for another's children takes their exit codes from it
    with ProcessPoolExecutor(asked.workers, multiprocessing.get_context("spawn")) as crew:
        under_way = [crew.submit(killed, name, place / name, share, asked.seed) for name, share in shares.items()]
        found = [each.result() for each in under_way]
    tallies = [each for each in found if isinstance(each, Tally)]
    faults = [each for each in found if isinstance(each, str)]
    say("\n".join(["", *table(tallies), "", *by_phase(tallies), "", *by_moment(tallies)]))
    say(f"\n{sum(len(each.kills) for each in tallies)} kills, seed {asked.seed}, {time.monotonic() - begun:.0f} s")
    say("\n".join(faults) or "nothing was lost, nothing finished was done again, nothing was left over")
    return bool(faults)


def operations(place: Path, step: int) -> int:
    """Kill before each operation on files, and print before how many; 1 where anything was lost."""
    grading = Grading(place / "grade" / "inputs")
    jobs: list[tuple[Job, bool]] = [
        (Saving(place / "save" / "inputs"), True),
        (Sweeping(place / "sweep" / "inputs"), False),
        (grading, True),
    ]
    say(f"{'work':30}{'operations on files':>21}{'killed before':>15}")
    try:
        for number, (job, over) in enumerate(jobs):
            found = stop_everywhere(job, place / str(number), over=over, step=step)
            say(f"{found.name:30}{found.operations:21}{found.kills:15}")
    except Fault as fault:
        say(str(fault))
        return 1
    finally:
        grading.close()
    say("each time, the work was gone on with, and was what it is without a kill")
    return 0


def killed(name: str, place: Path, kills: int, seed: int) -> Tally | str:
    """Kill one kind of work so often, and return what came of it, or what was wrong."""
    began: dict[str, Callable[[Path], Tally]] = {
        "sweep": lambda inputs: kill_often(Sweeping(inputs), place, kills, seed),
        "ray": lambda inputs: kill_often(Sweeping(inputs, "ray"), place, kills, seed),
        "grade": lambda inputs: _asking(Grading(inputs), place, kills, seed),
        "generate": lambda inputs: _asking(Generating(inputs), place, kills, seed),
        "review": lambda inputs: review_often(Reviewing(inputs), place, kills, seed),
        "save": lambda inputs: kill_often(Saving(inputs), place, kills, seed),
        "system": lambda inputs: kill_often(AskingOne(inputs), place, kills, seed),
        "system-sweep": lambda inputs: kill_often(AskingTwo(inputs), place, kills, seed),
    }
    try:
        tally = began[name](place / "inputs")
    except Exception as fault:  # noqa: BLE001 — the other kinds of work go on
        traceback.print_exc()
        return f"{name}: {fault}"
    say(f"{tally.name}: {len(tally.kills)} kills, {tally.chains} times finished and compared")
    return tally


def _asking(job: Grading | Generating, place: Path, kills: int, seed: int) -> Tally:
    try:
        return kill_often(job, place, kills, seed)
    finally:
        job.close()


def table(tallies: Sequence[Tally]) -> list[str]:
    """Return a line for each kind of work."""
    heads = "".join(f"{head:>{width}}" for head, width in COLUMNS.items())
    lines = [f"{'work':30}{heads}"]
    for each in tallies:
        resumed = sum(kill.resumed > 0 for kill in each.kills)
        items, again = (sum(getattr(count, name) for count in each.counts) for name in ("items", "again"))
        most = max((count.most for count in each.counts), default=0)
        lines.append(
            f"{each.name:30}{each.seconds:8.1f}{len(each.kills):7}{resumed:9}{each.chains:10}{items:8}{again:7}{most:9}"
        )
    return lines


def by_phase(tallies: Sequence[Tally]) -> list[str]:
    """Return how many kills there were in each phase of the work."""
    counts = Counter(kill.phase for each in tallies for kill in each.kills)
    lines = [f"{'what the process was at':62}{'kills':>7}"]
    return [*lines, *(f"{told:62}{counts[kind]:7}" for kind, told in PHASES.items() if counts[kind])]


def by_moment(tallies: Sequence[Tally]) -> list[str]:
    """Return how many kills there were in each tenth of the time that the whole work takes."""
    counts = Counter(min(int(kill.moment * 10), 9) for each in tallies for kill in each.kills)
    lines = ["".join([f"{'moment, in tenths of the whole work':40}", *(f"{tenth + 1:5}" for tenth in range(10))])]
    return [*lines, "".join([f"{'kills':40}", *(f"{counts[tenth]:5}" for tenth in range(10))])]


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
