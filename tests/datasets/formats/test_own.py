from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(doc_id=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
def test_any_id_is_read_back(doc_id: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    dataset = Dataset(QUERIES, (Document(doc_id, "text"),), "d")
    path = write_dataset(dataset, tmp_path_factory.mktemp("own") / "d")
    assert load_dataset(path) == dataset
