"""Reviews: the real server, decisions over HTTP as the page sends them, and SIGKILL in the middle of them."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from killing.corpus import part_of_lighthouse
from killing.job import Count, Fault, Kill, Moments, Tally, left_over
from killing.process import Command, Started, events_of, prepare, start
from raglift.datasets.jsonl import read_queries, write_queries
from raglift.retrieval.chunkers import parse_chunker
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever
from raglift.types.labels import Query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Reviewing", "review_often"]

DECISIONS = 60
DEPTH = 5
LONGEST_CHAIN = 5
_PATIENCE = 60.0


@dataclass
class _Work:
    """A review that goes through a fixed list of decisions."""

    folder: Path
    done: int = 0
    """How many decisions were acknowledged."""
    states: list[str] = field(default_factory=list)
    """What the file was after each number of decisions, where nobody kills."""
    stale: int = 0
    """Decisions that were on disk though nobody was told: sent, done, and not acknowledged."""

    @property
    def labels(self) -> Path:
        return self.folder / "labels.jsonl"

    def state(self) -> str:
        return hashlib.sha256(self.labels.read_bytes()).hexdigest()


class Reviewing:
    """`raglift labels review`, killed while decisions come in, and started again on the same file.

    Args:
        place: where its inputs are written.
    """

    name = "review"

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        data = part_of_lighthouse(6, 6)
        system = build_retriever(data, LocalSystem("bm25", parse_chunker("recursive:900/50")))
        run = evaluate(system, data, reranker=None, ks=(1, 3), depth="deep", candidates=DEPTH, progress=False)
        self._run = run.save(place / "run")
        self._queries = [Query(query.id, query.text) for query in data]
        chance = random.Random(5)  # noqa: S311 — which grade
        chunks = [len(trace.stages[-1].ranking) for trace in run.run.traces]
        asked = [number % len(chunks) for number in range(DECISIONS)]
        self.decisions = [(index, chance.randrange(chunks[index]), chance.randrange(4)) for index in asked]

    def begin(self, folder: Path) -> _Work:
        """Return a review of which nothing is done."""
        folder.mkdir(parents=True)
        work = _Work(folder)
        write_queries(self._queries, work.labels)
        return work

    def start(self, work: _Work) -> Started:
        """Start the server."""
        stdout = work.folder / "stdout"
        stdout.unlink(missing_ok=True)
        arguments = ("labels", "review", "labels.jsonl", str(self._run), "-k", str(DEPTH), "--no-browser")
        return start(Command(arguments, work.folder, {"RAGLIFT_CACHE": str(work.folder / "cache")}))

    def go_on(self, work: _Work) -> Iterator[int]:
        """Send the decisions that are not done, and yield how many are acknowledged; stop where the server does."""
        try:
            with closing(_page(work.folder / "stdout")) as page:
                while work.done < len(self.decisions):
                    _decide(page, *self.decisions[work.done])
                    work.done += 1
                    yield work.done
        except (httpx.TransportError, TimeoutError):
            return


def _page(printed: Path) -> httpx.Client:
    """Open the address that the server printed, as a browser does."""
    end = time.monotonic() + _PATIENCE
    while not (printed.exists() and printed.read_text("utf-8").endswith("\n")):
        if time.monotonic() > end:
            raise TimeoutError("the review does not start")
        time.sleep(0.005)
    address = printed.read_text("utf-8").strip()
    base = address.partition("/?")[0]
    page = httpx.Client(base_url=base, headers={"origin": base}, trust_env=False, timeout=_PATIENCE)
    page.get(address).raise_for_status()
    return page


def _decide(page: httpx.Client, index: int, chunk: int, grade: int) -> None:
    """Give a chunk a grade, as the page does; return when the server says that it is saved.

    Raises:
        Fault: it is not.
    """
    shown = page.get(f"/api/query/{index}").raise_for_status().json()
    operation = {"kind": "grade", "chunk": chunk, "grade": grade}
    decision = {"version": shown["query"]["version"], "operation": operation}
    answer = page.post(f"/api/query/{index}", json=decision)
    found: dict[str, Any] = answer.json()
    if answer.status_code != 200 or found["saving"]["unsaved"] or found["saving"]["problem"]:
        raise Fault(f"a decision was not saved: {answer.status_code} {found.get('error') or found.get('saving')}")


def review_often(job: Reviewing, place: Path, kills: int, seed: int) -> Tally:
    """Kill a review until it was killed so often; after each chain of kills, finish it and compare.

    The file must at all times be that of the decisions that were acknowledged, or of one more: the one that was under
    way. It is compared byte by byte with what it is in a review that nobody kills.

    Args:
        job: the review.
        place: a new folder.
        kills: how many.
        seed: of the moments.

    Raises:
        Fault: a decision is lost, or done twice, or the file is damaged; the message names the seed.
    """
    prepare()
    whole = job.begin(place / "whole")
    whole.states.append(whole.state())
    started = job.start(whole)
    whole.states.extend(whole.state() for _ in job.go_on(whole))
    _stop(started)
    tally = Tally(job.name, time.monotonic() - started.at)
    if len(whole.states) != DECISIONS + 1:
        raise Fault(f"a review without kills ended after {len(whole.states) - 1} decisions: {started.said()[-500:]}")
    chance = random.Random(seed)  # noqa: S311 — when to kill
    moments = Moments(chance, tally.seconds, events_of(started.command))
    while len(tally.kills) < kills:
        work = job.begin(place / f"chain-{tally.chains}")
        work.states = whole.states
        try:
            _chain(job, work, moments, kills, tally)
        except AssertionError as error:
            raise Fault(f"{job.name}, seed {seed}, {work.folder}: {error}") from error
        shutil.rmtree(work.folder)
    return tally


def _chain(job: Reviewing, work: _Work, moments: Moments, kills: int, tally: Tally) -> None:
    for number in range(LONGEST_CHAIN):
        if len(tally.kills) >= kills:
            break
        started = job.start(work)
        asking = threading.Thread(target=_all, args=(job, work))
        asking.start()
        moments.wait(started, number, asking.is_alive)
        if not asking.is_alive():
            _stop(started)
            tally.ended_first += 1
            break
        started.kill()
        _end_waiting(work)
        asking.join()
        phase = [kind for _, kind, *_ in events_of(started.command)][-1:] or ["begins"]
        tally.kills.append(Kill(job.name, work.done / DECISIONS, phase[0], number))
        _look(work)
    if work.done < DECISIONS:
        started = job.start(work)
        _all(job, work)
        _stop(started)
    if work.done != DECISIONS or work.state() != work.states[-1]:
        raise Fault(f"after {work.done} decisions: another file than without a kill")
    left_over(work.folder)
    tally.counts.append(Count(DECISIONS, 0, work.stale))
    tally.chains += 1


def _all(job: Reviewing, work: _Work) -> None:
    for _ in job.go_on(work):
        pass


def _end_waiting(work: _Work) -> None:
    """Have a client that waits for the address of a server that was killed before it printed one give up."""
    printed = work.folder / "stdout"
    if not (printed.exists() and printed.read_text("utf-8").endswith("\n")):
        printed.write_text("http://127.0.0.1:1/?token=none\n", encoding="utf-8")


def _look(work: _Work) -> None:
    """The file is that of the acknowledged decisions, or of one more, which then is not sent again."""
    found = work.state()
    if len(read_queries(work.labels)) == 0:
        raise Fault("the file is empty")
    if found == work.states[work.done]:
        return
    if work.done == DECISIONS or found != work.states[work.done + 1]:
        raise Fault(f"{work.done} decisions were acknowledged, and the file is neither theirs nor that of one more")
    work.done += 1
    work.stale += 1


def _stop(started: Started) -> None:
    """End a server as Ctrl-C does."""
    os.kill(int(started.process.pid or 0), signal.SIGTERM)
    started.finish()
