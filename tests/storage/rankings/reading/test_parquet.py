"""Parquet: one row per hit, ordered by rank, score or row; only the columns that are needed are read."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from raglift.errors import DatasetError
from raglift.storage.rankings.read import read_qrels, read_run
from raglift.utilities.display import UNPRINTABLE


@pytest.fixture
def file(tmp_path: Path):
    def write(name: str = "run.parquet", **columns: Any) -> Path:
        path = tmp_path / name
        parquet.write_table(pa.table(columns), path, row_group_size=2)
        return path

    return write


def faults_of(path: Path) -> list[str]:
    with pytest.raises(DatasetError) as error:
        read_run(path)
    return [str(fault) for fault in error.value.faults]


QUERIES, IDS = ["q", "r", "q", "q"], ["a", "a", "b", "c"]


def test_rows_keep_their_order(file) -> None:
    assert dict(read_run(file(query_id=QUERIES, id=IDS))) == {"q": ["a", "b", "c"], "r": ["a"]}


def test_scores_order_them_and_ids_what_is_equal_in_64_bits(file) -> None:
    run = read_run(file(query_id=QUERIES, id=IDS, score=[1.0, 0.0, 1.0, 1.0 + 2**-30]))
    assert dict(run) == {"q": ["c", "b", "a"], "r": ["a"]}


@pytest.mark.parametrize(("kind", "least"), [(pa.uint64(), 0), (pa.int8(), -128)])
def test_scores_may_be_integers_of_any_kind(file, kind: pa.DataType, least: int) -> None:
    run = read_run(file(query_id=["q"] * 3, id=IDS[1:], score=pa.array([least, 5, 3], kind)))
    assert dict(run) == {"q": ["b", "c", "a"]}


def test_ranks_order_them_whatever_the_scores_say(file) -> None:
    run = read_run(file(query_id=QUERIES, id=IDS, rank=[3, 1, 1, 2], score=[9.0, 1.0, 2.0, 3.0]))
    assert dict(run) == {"q": ["b", "c", "a"], "r": ["a"]}


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_may_be_of_any_kind_and_other_columns_of_any_content(file, kind: pa.DataType) -> None:
    columns = {"query_id": pa.array(QUERIES, kind), "id": pa.array(IDS, kind), "text": [None, b"\xff", b"", b""]}
    assert read_run(file(**columns))["q"] == ["a", "b", "c"]


def test_numbers_are_ids_too(file) -> None:
    assert dict(read_run(file(query_id=[1, 1], id=[10, 9], score=[1, 1]))) == {"1": ["9", "10"]}


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"qid": QUERIES, "id": IDS}, ['no column "query_id"']),
        ({"query_id": QUERIES, "id": IDS, "score": IDS}, ["found a column of string; expected a column of numbers"]),
        (
            {"query_id": [None, "r", "q", "q"], "id": ["a", "", "b", "b"]},
            ["row 1.query_id", "row 2.id", "row 4: found the id"],
        ),
        (
            {"query_id": QUERIES, "id": IDS, "rank": [None, 1, 2, 3]},
            ["row 1.rank: found null; expected a rank in each"],
        ),
        ({"query_id": QUERIES, "id": IDS, "score": [1.0, 2.0, nan, 3.0]}, ["row 3.score: found NaN; expected a score"]),
        ({"query_id": pa.array([], pa.string()), "id": pa.array([], pa.string())}, ["found no rows"]),
        ({"query_id": QUERIES, "id": IDS, "rank": [1, 1, 2, 2]}, ["row 4.rank: found the rank 2 of row 3"]),
    ],
)
def test_what_is_wrong_is_named(file, columns: dict[str, Any], found: list[str]) -> None:
    faults = faults_of(file(**columns))
    assert len(faults) == len(found)
    assert all(part in fault for part, fault in zip(found, faults, strict=True))


def test_what_is_no_parquet_is_said(tmp_path: Path) -> None:
    (tmp_path / "run.parquet").write_bytes(b"q1 Q0 a 1 1 t\n")
    assert "found no Parquet file" in faults_of(tmp_path / "run.parquet")[0]
    (tmp_path / "folder.parquet").mkdir()
    assert "Is a directory" in faults_of(tmp_path / "folder.parquet")[0]


def test_labels_are_one_row_each(file) -> None:
    assert read_qrels(file(query_id=["q", "q", "r"], id=["a", "b", "a"], grade=[2, 0, 1])) == {
        "q": {"a": 2, "b": 0},
        "r": {"a": 1},
    }
    with pytest.raises(DatasetError, match=r"row 1\.grade: found 2000") as error:
        read_qrels(file(query_id=["q", "r"], id=["a", None], grade=[2000, 1]))
    assert len(error.value.faults) == 2


def test_texts_that_are_no_utf_8_are_said(file) -> None:
    path = file(query_id=["q", "r"], id=["wrecked-id", "b"])
    path.write_bytes(path.read_bytes().replace(b"wrecked-id", b"wrecked-\xff\xff"))
    (fault,) = faults_of(path)
    assert "run.parquet: found no Parquet file that can be read" in fault


@pytest.mark.parametrize("name", ["query_id", "id", "score"])
def test_a_column_that_is_there_twice_is_said(tmp_path: Path, name: str) -> None:
    columns = {"query_id": pa.array(["q"]), "id": pa.array(["a"]), "score": pa.array([1.0])}
    table = pa.Table.from_arrays([*columns.values(), columns[name]], names=[*columns, name])
    path = tmp_path / "run.parquet"
    parquet.write_table(table, path)
    assert faults_of(path) == [f"run.parquet: {name}: found 2 columns of this name; expected one column of each name"]


def test_what_arrow_says_of_a_damaged_file_can_be_printed(file) -> None:
    path = file(query_id=QUERIES, id=IDS)
    data = path.read_bytes()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:begin] + data[begin + 2 :])  # of what describes the columns
    with pytest.raises(DatasetError, match="no Parquet file that can be read") as error:
        read_run(path)
    assert UNPRINTABLE.search(str(error.value)) is None


@pytest.mark.slow
def test_the_list_of_faults_has_an_end(file) -> None:
    faults = faults_of(file(query_id=["q"] * 1100, id=[""] * 1100))
    assert len(faults) == 1001
    assert "the rest was not looked at" in faults[-1]


def test_every_fault_of_labels_is_named(file) -> None:
    with pytest.raises(DatasetError) as error:
        read_qrels(file("labels.parquet", query_id=["q", None, "q"], id=["a", "b", "c"], grade=[1, 1, 1001]))
    assert [fault.where for fault in error.value.faults] == [
        "labels.parquet: row 2.query_id",
        "labels.parquet: row 3.grade",
    ]
