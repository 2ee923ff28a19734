"""Small files that unpack to a lot, and large or deep ones: refused by size, before they fill the memory."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import raglift as rl
from raglift.base.limits import VARIABLE
from raglift.datasets.documents import read_documents
from raglift.datasets.jsonl import read_queries
from raglift.errors import ConfigurationError, DatasetError, RagliftError, RunError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.storage.rankings.read import read_qrels, read_run

LIMIT = 3_000_000
ALLOW = rf"3,000,000 bytes; if the file is yours, allow more by setting {VARIABLE}"
MANY = 2_000_000


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this were a machine with little memory; the usual limit is 2 GiB."""
    monkeypatch.setenv(VARIABLE, str(LIMIT))


def zipped(path: Path, piece: bytes, times: int) -> Path:
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(times):
            file.write(piece)
    assert path.stat().st_size < 100_000
    return path


def repeated(path: Path, row: dict[str, Any], rows: int) -> Path:
    """Write a Parquet file in which one row is many times, which takes next to no room."""
    group = {name: [value] * 100_000 for name, value in row.items()}
    table = pa.table(group)
    with parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(rows // 100_000):
            writer.write_table(table)
    assert path.stat().st_size < 60_000
    return path


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("run.trec.gz", b"q1 Q0 d1 1 0.5 run\n" * 10_000),
        ("run.jsonl.gz", b'{"query_id": "q1", "id": "d1"}\n' * 2_000),
        ("run.trec.gz", b" " * 200_000 + b"\n"),
        ("run.trec.gz", b"\n" * 200_000),
        ("run.trec.gz", b"x" * 200_000),
    ],
    ids=["rows", "objects", "spaces", "blank lines", "one line"],
)
def test_a_compressed_file_unpacks_to_so_much_and_no_more(tmp_path: Path, name: str, piece: bytes) -> None:
    with pytest.raises(
        DatasetError, match=rf"unpacks to more than {ALLOW[:15]}|a line of more than 1,048,576 bytes|1001 faults"
    ):
        read_run(zipped(tmp_path / name, piece, 100))


def test_a_compressed_file_within_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.trec.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(f"q1 Q0 d{number} 1 {number} run\n" for number in range(50_000))
    assert len(read_run(path)["q1"]) == 50_000


@pytest.mark.parametrize(
    ("row", "read"),
    [
        ({"query_id": "q1", "id": "d1", "score": 0.5}, read_run),
        ({"query_id": "q1", "id": "d1", "grade": 1}, read_qrels),
    ],
    ids=["run", "labels"],
)
def test_parquet_of_equal_rows_is_refused_by_its_footer(
    tmp_path: Path, row: dict[str, Any], read: Callable[[Path], object]
) -> None:
    path = repeated(tmp_path / "bomb.parquet", row, MANY)
    with pytest.raises(DatasetError, match=rf"2,000,000 rows, which unpack to .* at most {ALLOW}"):
        read(path)


def test_a_long_text_in_each_row_takes_its_space_once(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    parquet.write_table(pa.table({"query_id": ["q"] * 100, "id": ["x" * 500_000] * 100}), path)
    usual = pa.default_memory_pool()
    counting = pa.system_memory_pool()
    pa.set_memory_pool(counting)
    try:
        with pytest.raises(DatasetError, match="a second time for the query"):
            read_run(path)
    finally:
        pa.set_memory_pool(usual)
    assert 0 < counting.max_memory() < 15_000_000  # of 50,000,000


def test_questions_of_autorag_likewise(tmp_path: Path) -> None:
    row = {"qid": "q1", "query": "who?", "retrieval_gt": "d1", "generation_gt": "x"}
    repeated(tmp_path / "qa.parquet", row, MANY)
    with pytest.raises(DatasetError, match=ALLOW):
        rl.load_dataset(tmp_path, format="autorag")


def test_scores_that_are_not_those_of_the_run_are_not_unpacked(evaluation: Evaluation, tmp_path: Path) -> None:
    folder = evaluation.save(tmp_path / "run")
    row = {"query_id": "q1", "stage": "retrieve", "metric": "ndcg@5", "value": 0.5}
    repeated(folder / "scores.parquet", row, MANY)
    with pytest.raises(RunError, match=r"found 2,000,000 rows; expected [\d,]+, one a query, stage and metric"):
        load_evaluation(folder)


def test_a_run_that_claims_more_scores_than_it_has_is_damaged(evaluation: Evaluation, tmp_path: Path) -> None:
    folder = evaluation.save(tmp_path / "run")
    head = json.loads((folder / "run.json").read_text("utf-8"))
    head["metrics"] = [f"ndcg@{depth}" for depth in range(1, 10_000)]
    (folder / "run.json").write_text(json.dumps(head), "utf-8")
    with pytest.raises(RunError, match="damaged"):
        load_evaluation(folder)


@pytest.mark.parametrize("name", ["queries.jsonl", "lamp.md", "data.csv", "squad.json"])
def test_a_file_that_is_mostly_hole_is_refused_by_its_size(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(10**12)  # a terabyte, of which a disk keeps nothing
    read: Callable[[Path], object] = read_documents if name.endswith(".md") else rl.load_dataset
    with pytest.raises(DatasetError, match=rf"more than 3,000,000 bytes; expected at most {ALLOW}"):
        read(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_device_that_never_ends_ends(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").symlink_to("/dev/zero")
    with pytest.raises(DatasetError, match="more than 3,000,000 bytes"):
        read_queries(tmp_path / "queries.jsonl")


DEEP = "[" * 100_000
DIGITS = "9" * 1_000_000


@pytest.mark.parametrize("value", [DEEP, DIGITS, f"-{DIGITS}", f"1e{DIGITS}"], ids=["deep", "digits", "minus", "power"])
@pytest.mark.parametrize("name", ["queries.jsonl", "squad.json", "run.jsonl", "run.json", "chunks.jsonl"])
def test_nesting_and_digits_without_end_are_one_clear_error(
    evaluation: Evaluation, tmp_path: Path, name: str, value: str
) -> None:
    path = tmp_path / name
    text = f'{{"id": "q", "query_id": "q", "format": 1, "query": {value}'
    if name in ("run.json", "chunks.jsonl"):
        path = evaluation.save(tmp_path / "saved") / name
    path.write_text(text if value is DEEP else text + "}", "utf-8")
    read: Callable[[Path], object] = rl.load_dataset
    if name == "run.jsonl":
        read = read_run
    elif name in ("run.json", "chunks.jsonl"):
        read = lambda path: load_evaluation(path.parent)  # noqa: E731 — one of three
    with pytest.raises(RagliftError) as told:
        read(path)
    assert len(str(told.value)) < 3000
    assert sys.getrecursionlimit() >= 1000


@pytest.mark.parametrize("given", ["many", "-1", "0", "1e9", "9" * 50])
def test_a_limit_that_is_no_number_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(VARIABLE, given)
    (tmp_path / "lamp.md").write_text("The lamp is lit at dusk.")
    with pytest.raises(ConfigurationError, match=f"{VARIABLE}: found"):
        read_documents(tmp_path / "lamp.md")
