from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.datasets.formats.own import LINES
from raglift.datasets.formats.writing import write_dataset
from raglift.datasets.loading import load_dataset
from raglift.records.dataset import Dataset
from raglift.records.documents import Document
from raglift.records.labels import Query

QUERIES = (Query("q", "When?"),)


def round_trip(folder: Path, *documents: Document) -> Path:
    dataset = Dataset(QUERIES, documents, "d")
    path = write_dataset(dataset, folder / "d")
    assert load_dataset(path) == dataset
    return path


def test_ids_that_are_names_of_texts_become_files(tmp_path: Path) -> None:
    path = round_trip(
        tmp_path, Document("b/winds.MD", "one"), Document("tides.txt", "\ntwo \n"), Document("é n.md", "")
    )
    assert (path / "documents" / "b" / "winds.MD").read_text(encoding="utf-8") == "one"
    assert not (path / LINES).exists()


@pytest.mark.parametrize(
    "doc_id",
    [
        *(
            "../out.md",
            "/etc/out.md",
            "a/../../out.md",
            "..",
            ".",
            "a//b.md",
            "./a.md",
            "~/a.md/",
            "C:\\a.md",
            "a\\..\\b.md",
        ),
        *("4983", "a", ".hidden.md", "a/.b.md", "a.md ", " a.md", "a\n.md", "a\0.md", "a:b.md", "CON.md", "x/aux.txt"),
        *("e\u0301.md", "a" * 300 + ".md", "b/" * 80 + "a.md"),
    ],
)
def test_no_id_leads_out_of_the_folder(doc_id: str, tmp_path: Path) -> None:
    path = round_trip(tmp_path, Document(doc_id, "text"))
    assert [file.name for file in sorted(tmp_path.rglob("*"))] == ["d", "documents.jsonl", "queries.jsonl"]
    assert (path / LINES).is_file()


@pytest.mark.parametrize(
    "documents",
    [
        (Document("b.md", "x"), Document("a.md", "y")),  # not in the order of files
        (Document("A.md", "x"), Document("a.md", "y")),  # one file, to some systems
        (Document("a.md", "x"), Document("a.md/b.md", "y")),  # a file and a folder
        (Document("a.md", "x\r\ny"),),  # would become line feeds
        (Document("a.md", "\ufeffx"),),
        (Document("a.md", "x\0y"),),
        (Document("a.md", "x", {"title": "x"}),),
    ],
)
def test_documents_that_files_would_change_become_lines(documents: tuple[Document, ...], tmp_path: Path) -> None:
    assert (round_trip(tmp_path, *documents) / LINES).is_file()


def test_a_dataset_without_documents(tmp_path: Path) -> None:
    assert [path.name for path in round_trip(tmp_path).iterdir()] == ["queries.jsonl"]


@given(st.text(st.sampled_from("a./\\:~ \n\0é") | st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_id_stays_inside(doc_id: str) -> None:
    import tempfile

    if not doc_id.strip():
        return
    with tempfile.TemporaryDirectory() as folder:
        path = round_trip(Path(folder), Document(doc_id, "text"), Document("zz.md", "other"))
        assert {entry.name for entry in path.iterdir()} <= {"queries.jsonl", "documents", LINES}
        assert [entry.name for entry in Path(folder).iterdir()] == ["d"]
