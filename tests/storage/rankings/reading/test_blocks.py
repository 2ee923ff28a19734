"""What Arrow is given to read."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, json

from raglift.storage.rankings.forms import RUN_COLUMNS
from raglift.storage.rankings.read_json_lines import _in_bulk
from raglift.storage.rankings.read_tables import arrow_copy, bulk_table


@pytest.mark.parametrize("block", [b"", b"q1 Q0 a 1 3 t\n", bytes(range(256)) * 10_000])
def test_a_copy_holds_the_same(block: bytes) -> None:
    copy = arrow_copy(block)
    assert copy.to_pybytes() == block
    assert copy.size == len(block)


class OneBlock(io.RawIOBase):
    """A file that gives the very bytes that it is made of to read, once."""

    def __init__(self, content: bytes) -> None:
        self.content = [content]

    def read(self, size: int = -1) -> bytes:
        return self.content.pop() if self.content else b""


def read_columns(file: Any) -> Any:
    return bulk_table(file, RUN_COLUMNS, {RUN_COLUMNS[0]: pa.string()})


def read_objects(file: Any) -> Any:
    return _in_bulk(file, {"query_id": "q1", "hits": ["a"]})


@pytest.mark.parametrize(
    ("read", "module", "name", "content"),
    [
        (read_columns, csv, "read_csv", b"q1 Q0 a 1 3 t\n"),
        (read_objects, json, "read_json", b'{"query_id": "q1", "hits": ["a"]}\n'),
    ],
    ids=["columns", "JSON Lines"],
)
def test_threads_of_arrows_read_what_is_not_pythons(
    read: Callable[[Any], Any], module: Any, name: str, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One that lets go of Python's memory while the interpreter ends would abort the process
    places, original = [], getattr(module, name)

    def watched(source: pa.Buffer, *rest: Any) -> Any:
        places.append(source.address)
        return original(source, *rest)

    monkeypatch.setattr(module, name, watched)
    assert read(OneBlock(content)) is not None
    assert len(places) == 1
    assert np.frombuffer(content, dtype=np.uint8).ctypes.data != places[0]
