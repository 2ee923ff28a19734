"""Files that are larger than the limit, or unpack to more, and values without an end: one clear error."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import raglift as rl
from raglift.datasets.documents import read_documents
from raglift.errors import DatasetError, RagliftError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.storage.rankings.read import read_run
from raglift.utilities.limits import VARIABLE

LIMIT = 3_000_000
ALLOW = rf"3,000,000 bytes; if the file is yours, allow more by setting {VARIABLE}"


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(LIMIT))


def zipped(path: Path, piece: bytes, times: int) -> Path:
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(times):
            file.write(piece)
    assert path.stat().st_size < 100_000
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("run.trec.gz", b"q1 Q0 d1 1 0.5 run\n" * 10_000),
        ("run.trec.gz", b"x" * 200_000),
    ],
    ids=["rows", "one line"],
)
def test_a_compressed_file_unpacks_to_so_much_and_no_more(tmp_path: Path, name: str, piece: bytes) -> None:
    with pytest.raises(
        DatasetError, match=rf"unpacks to more than {ALLOW[:15]}|a line of more than 1,048,576 bytes|1001 faults"
    ):
        read_run(zipped(tmp_path / name, piece, 100))


@pytest.mark.parametrize("name", ["queries.jsonl", "lamp.md"])
def test_a_file_that_is_mostly_hole_is_refused_by_its_size(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(10**12)  # a terabyte, of which a disk keeps nothing
    read: Callable[[Path], object] = read_documents if name.endswith(".md") else rl.load_dataset
    with pytest.raises(DatasetError, match=rf"more than 3,000,000 bytes; expected at most {ALLOW}"):
        read(path)


DEEP = "[" * 100_000
DIGITS = "9" * 1_000_000


@pytest.mark.parametrize("value", [DEEP, DIGITS], ids=["deep", "digits"])
@pytest.mark.parametrize("name", ["queries.jsonl", "run.jsonl", "run.json"])
def test_nesting_and_digits_without_end_are_one_clear_error(
    evaluation: Evaluation, tmp_path: Path, name: str, value: str
) -> None:
    path = tmp_path / name
    text = f'{{"id": "q", "query_id": "q", "format": 1, "query": {value}'
    if name == "run.json":
        path = evaluation.save(tmp_path / "saved") / name
    path.write_text(text if value is DEEP else text + "}", "utf-8")
    read: Callable[[Path], object] = rl.load_dataset
    if name == "run.jsonl":
        read = read_run
    elif name == "run.json":
        read = lambda path: load_evaluation(path.parent)  # noqa: E731 — one of three
    with pytest.raises(RagliftError) as caught:
        read(path)
    assert len(str(caught.value)) < 3000
    assert sys.getrecursionlimit() >= 1000
