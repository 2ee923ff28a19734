"""Damaged input for everything in raglift that reads: as many examples as asked for, over all readers alike.

The readers, and what is done to their input, are those of `tests/fuzzing`, whose tests make a bounded number of
attempts; here Hypothesis draws others for each chunk of a reader's examples. A chunk that is done is in `chunks.jsonl`,
so a run that was stopped resumes where it stopped, and one with more examples adds to it; a chunk with faults is run
again. What breaks a reader is kept in `faults/`, the smallest input for each kind; a process that dies or hangs is a
fault, too. Hypothesis comes with the `dev` extra. Run it as

    python benchmarks/fuzzing.py --examples 1000000 [--processes 2] [--readers 'documents*'] [--out runs/fuzzing]
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CHUNK = 500
"""Examples that Hypothesis draws at a time; it holds all of them in memory."""
LIMIT = 900.0
"""This many seconds may a chunk take; what hangs is ended after them."""
_TESTS = Path(__file__).parents[1] / "tests"


@dataclass(frozen=True)
class Chunk:
    """Some of a reader's examples, drawn by a seed of their own."""

    reader: str
    number: int
    examples: int


@dataclass(frozen=True)
class Done:
    """How a chunk came out."""

    reader: str
    number: int
    asked: int
    outcomes: Mapping[str, int]
    """How many examples were returned, refused, or faults."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is left of the chunks, and print the table; 1 where there are faults, 2 where nothing can be run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--examples", type=int, default=10_000, help="over all readers; of them, those done before count"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--readers", default="*", help="a pattern of their names")
    parser.add_argument("--out", type=Path, default=Path("runs/fuzzing"))
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("hypothesis") is None:
        sys.stderr.write("fuzzing.py: Hypothesis is not installed; it comes with the dev extra: pip install '.[dev]'\n")
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    if options.work is not None:
        return _work(options.work, options.out)
    names = [name for name in _readers() if fnmatch(name, options.readers)]
    if not names:
        parser.error(f"--readers: no reader is like {options.readers!r}; there are {', '.join(_readers())}")
    log = Log(options.out)
    left = [chunk for chunk in _plan(names, options.examples) if not log.has(chunk)]
    _run(left, log, options.processes, options.out)
    sys.stdout.write(_table(names, log.known.values()) + "\n")
    return int(any(done.outcomes.get("fault") for done in log.known.values()))


def _readers() -> dict[str, Any]:
    sys.path[:] = [str(_TESTS), *(path for path in sys.path if path not in (str(_TESTS), str(Path(__file__).parent)))]
    from fuzzing.catalogue import READERS

    return {reader.name: reader for reader in READERS}


def _plan(names: Sequence[str], examples: int) -> Iterator[Chunk]:
    """Yield chunks in turn over the readers, so that a run that is stopped has looked at all alike."""
    each = -(-examples // len(names))
    for number in range(-(-each // CHUNK)):
        for name in names:
            yield Chunk(name, number, min(CHUNK, each - number * CHUNK))


class Log:
    """The chunks that are done, in a file that grows by a line for each."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "chunks.jsonl"
        self._lock = threading.Lock()
        self.known: dict[tuple[str, int], Done] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                done = Done(**json.loads(line))
                self.known[done.reader, done.number] = done

    def has(self, chunk: Chunk) -> bool:
        """Whether a chunk was done without a fault."""
        done = self.known.get((chunk.reader, chunk.number))
        return done is not None and done.asked >= chunk.examples and not done.outcomes.get("fault")

    def add(self, done: Done) -> None:
        """Note a chunk that is done."""
        with self._lock:
            self.known[done.reader, done.number] = done
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(done)) + "\n")


def _run(chunks: Sequence[Chunk], log: Log, processes: int, out: Path) -> None:
    waiting: queue.SimpleQueue[Chunk] = queue.SimpleQueue()
    for chunk in chunks:
        waiting.put(chunk)
    threads = [threading.Thread(target=_employ, args=(waiting, log, out)) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _employ(waiting: queue.SimpleQueue[Chunk], log: Log, out: Path) -> None:
    """Hand chunks to a process of its own, and to another one where that dies."""
    memory = Path("/dev/shm")  # noqa: S108 — only as a quick place for a folder of our own
    folder = Path(tempfile.mkdtemp(prefix="raglift-fuzzing-", dir=memory if memory.is_dir() else None))
    worker = None
    try:
        while True:
            try:
                chunk = waiting.get_nowait()
            except queue.Empty:
                return
            worker = worker if worker is not None and worker.poll() is None else _worker(folder, out)
            answer = _ask(worker, chunk)
            if answer is None:
                worker.wait()
                _keep_crash(folder, out, chunk, worker.returncode)
                answer = {"fault": 1}
            log.add(Done(chunk.reader, chunk.number, chunk.examples, answer))
    finally:
        if worker is not None:
            worker.kill()
            worker.communicate()
        shutil.rmtree(folder, ignore_errors=True)


def _worker(folder: Path, out: Path) -> subprocess.Popen[str]:
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, __file__, "--work", str(folder), "--out", str(out)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 — this script


def _ask(worker: subprocess.Popen[str], chunk: Chunk) -> dict[str, int] | None:
    """Return how a chunk came out; None if the process died of it, or had to be ended."""
    if worker.stdin is None or worker.stdout is None:
        raise AssertionError
    timer = threading.Timer(LIMIT, worker.kill)
    timer.start()
    try:
        worker.stdin.write(json.dumps(asdict(chunk)) + "\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
    except BrokenPipeError:
        return None
    finally:
        timer.cancel()
    return json.loads(line) if line else None


def _keep_crash(folder: Path, out: Path, chunk: Chunk, code: int) -> None:
    files = folder / _slug(chunk.reader) / "input"
    kept = _new_folder(out, chunk.reader)
    if files.is_dir():
        shutil.copytree(files, kept, dirs_exist_ok=True)
    (kept / "kind.txt").write_text(f"the process ended with {code} in chunk {chunk.number}\n", encoding="utf-8")


def _work(folder: Path, out: Path) -> int:
    """Do the chunks that come on standard input, one a line; answer with their outcomes."""
    warnings.simplefilter("error")
    readers = _readers()
    from fuzzing.reader import Bench
    from fuzzing.running import survey

    benches: dict[str, Any] = {}
    smallest: dict[tuple[str, str], int] = {}
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a reader prints is no answer
    for line in sys.stdin:
        chunk = Chunk(**json.loads(line))
        if chunk.reader not in benches:
            benches[chunk.reader] = Bench(readers[chunk.reader], folder / _slug(chunk.reader))
        keep = _Keeper(out, chunk.reader, smallest)
        outcomes: Counter[str] = survey(benches[chunk.reader], chunk.examples, chunk.number, keep)
        answers.write(json.dumps(outcomes) + "\n")
        answers.flush()
    return 0


@dataclass(frozen=True)
class _Keeper:
    """Writes the smallest input of each kind of fault to a folder."""

    out: Path
    reader: str
    smallest: dict[tuple[str, str], int]

    def __call__(self, error: Any, damage: Mapping[str, bytes | None]) -> None:
        size = sum(len(data or b"") for data in damage.values())
        if size >= self.smallest.get((self.reader, error.kind), size + 1):
            return
        self.smallest[self.reader, error.kind] = size
        folder = _new_folder(self.out, self.reader)
        (folder / "kind.txt").write_text(f"{error}\n", encoding="utf-8", errors="backslashreplace")
        for path, data in damage.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data or b"")


def _new_folder(out: Path, reader: str) -> Path:
    for number in itertools.count():
        folder = out / "faults" / f"{_slug(reader)}-{os.getpid()}-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _table(names: Sequence[str], done: Iterable[Done]) -> str:
    """Return what came out for each reader, and in all."""
    totals = {name: Counter[str]() for name in names}
    for each in done:
        if each.reader in totals:
            totals[each.reader].update(each.outcomes)
    totals["all"] = sum(totals.values(), Counter())
    lines = ["| reader | examples | returned | refused | faults |", "|---|--:|--:|--:|--:|"]
    for name, of in totals.items():
        figures = (of.total(), of["returned"], of["refused"], of["fault"])
        lines.append(f"| {name} | " + " | ".join(f"{figure:,}" for figure in figures) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
