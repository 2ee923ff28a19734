from __future__ import annotations

from pathlib import Path

import pytest

from raglift.datasets.formats.own import LINES
from raglift.datasets.formats.writing import write_dataset
from raglift.datasets.loading import load_dataset
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Query

QUERIES = (Query("q", "When?"),)


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param((Document("b/winds.MD", "one"), Document("a.txt", "\ntwo \n")), id="names of files"),
        pytest.param((Document("../out.md", "x"), Document("/etc/out.md", "y")), id="paths out of the folder"),
        pytest.param((Document("a.md", "\ufeffx\r\ny\0"), Document("A.md", "")), id="odd characters"),
        pytest.param((Document("a.md", "x", {"title": "x"}),), id="metadata"),
        pytest.param((), id="none"),
    ],
)
def test_documents_are_read_back_as_they_were(documents: tuple[Document, ...], tmp_path: Path) -> None:
    path = write_dataset(Dataset(QUERIES, documents, "d"), tmp_path / "d")
    assert load_dataset(path) == Dataset(QUERIES, documents, "d")
    assert {file.name for file in tmp_path.rglob("*")} == {"d", "queries.jsonl", *([LINES] if documents else [])}
