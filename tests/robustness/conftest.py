"""Adverse conditions that are real: a disk that is full, a folder that may not be written, a command as it is typed."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query

LAMP = "The lamp is lit at dusk and put out at dawn, and the keeper trims the wick. " * 40
FOG = "When fog comes in, the horn gives two blasts every forty-five seconds. " * 40
MIB = 2**20


def make_evaluation(score: float = 1.0) -> Evaluation:
    """Return an evaluation of a few dozen kilobytes, whose first score tells it apart."""
    queries = tuple(Query(f"q{n}", f"when is the lamp lit? {n}", (Fact((Passage(LAMP),)),)) for n in range(10))
    dataset = Dataset(queries, (Document("lamp.md", LAMP), Document("fog.md", FOG)), "island")
    results = {query.text: [(f"{LAMP} {query.id}", score), (f"{FOG} {query.id}", 0.25)] for query in queries}
    return evaluate(FakeRetriever(results), dataset, reranker=FakeReranker({}), ks=(1, 5))


@pytest.fixture(scope="session")
def evaluation() -> Evaluation:
    return make_evaluation()


@dataclass(frozen=True)
class Disk:
    """A folder on a disk that can be full."""

    path: Path
    is_own: bool
    """Whether it is a file system of its own; else the process may not write files past a size, which is as real."""

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave no room for the block."""
        if not self.is_own:
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            return
        filler = self.path / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        try:
            yield
        finally:
            filler.unlink()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    """A small file system where one may be mounted, else a folder with a limit on the size of files."""
    path = tmp_path_factory.mktemp("disk")
    mounting = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path)]
    is_own = shutil.which("mount") is not None and subprocess.run(mounting, capture_output=True).returncode == 0
    try:
        yield Disk(path, is_own)
    finally:
        if is_own:
            subprocess.run(["umount", "-l", str(path)], check=True)


def content(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, hidden ones too, but for what fills the disk."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "filler")
    return {os.fspath(path.relative_to(folder)): path.read_bytes() for path in files}
