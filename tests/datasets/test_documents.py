from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from raglift.datasets.documents import read_documents
from raglift.errors import DatasetError, DocumentWarning
from raglift.types.documents import Document

if TYPE_CHECKING:
    from pathlib import Path


def fault_of(documents: object) -> str:
    with pytest.raises(DatasetError) as caught:
        read_documents(documents)  # type: ignore[arg-type]
    (fault,) = caught.value.faults
    return str(fault)


def test_records_and_mappings_are_taken_as_they_are() -> None:
    records = [Document("b", "B\r\n"), Document("a", "A", {"year": 1805})]
    assert read_documents(records) == tuple(records)
    assert read_documents({"b": "B\r\n", "a": "A"}) == (Document("b", "B\r\n"), Document("a", "A"))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["text"], r"documents: \[0\]: found an object of type str; expected a raglift Document"),
        ({"a": 3}, r"documents: \[0\].text: found 3; expected the text of \"a\""),
        ({7: "x"}, r"documents: \[0\].id: found 7; expected an id"),
        ([Document("a", "x"), Document("", "y")], r"documents: \[1\].id: found \"\"; expected an id"),
        (
            [Document("a", "x"), Document("a", "y")],
            r"documents: \[1\].id: found the id \"a\" of documents\[0\]",
        ),
    ],
)
def test_malformed_records(documents: object, message: str) -> None:
    assert re.match(message, fault_of(documents))


def test_a_file_is_one_document(tmp_path: Path) -> None:
    path = tmp_path / "book.text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read_documents(path) == (Document("book.text", "one\ntwo\nthree\n"),)
    assert read_documents(str(path)) == read_documents(path)


@pytest.mark.filterwarnings("ignore::raglift.errors.DocumentWarning")
def test_a_folder_is_its_texts(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    for name in ["b.md", "a/c.txt", "a/B.TXT", "data.csv", ".hidden.md", ".git/x.md", "a/.x/y.txt"]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert [document.id for document in read_documents(folder)] == ["a/B.TXT", "a/c.txt", "b.md"]
    assert read_documents(folder)[2].text == "b.md"


def test_what_is_not_read_of_a_folder_is_counted(tmp_path: Path) -> None:
    for name in ["a.md", "b.qmd", "c/d.QMD", "e.png", "Makefile", ".git/config"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"\x89PNG\0" if name == "e.png" else b"words")
    (tmp_path / "out.md").symlink_to("/etc/hostname")
    with pytest.warns(DocumentWarning) as caught:
        read_documents(tmp_path)
    (warning,) = caught
    assert str(warning.message) == (
        f"{tmp_path}: 4 of 5 files not read: 2 *.qmd, 1 without an ending, 1 *.png (as Makefile); "
        "to read *.qmd as text too: include='*.qmd', or --include '*.qmd'; 1 link out of the folder not followed"
    )
    assert warning.filename == __file__


@pytest.mark.parametrize(
    ("include", "doc_ids"),
    [
        ("*.qmd", ["a.md", "b.qmd", "c/d.QMD"]),
        ("**/*.qmd", ["a.md", "b.qmd", "c/d.QMD"]),
        (["c/*.qmd", "Make*"], ["Makefile", "a.md", "c/d.QMD"]),
    ],
)
@pytest.mark.filterwarnings("ignore::raglift.errors.DocumentWarning")
def test_patterns_include_more_of_a_folder(tmp_path: Path, include: str | list[str], doc_ids: list[str]) -> None:
    for name in ["a.md", "b.qmd", "c/d.QMD", "Makefile", "e.html"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [document.id for document in read_documents(tmp_path, include=include)] == doc_ids
    with pytest.raises(DatasetError, match=r'include: "\*.rst" matches none of 5 files'):
        read_documents(tmp_path, include=["*.qmd", "*.rst"])
    with pytest.raises(DatasetError, match=r'include: "\." matches none'):
        read_documents(tmp_path, include=[".", ""])


@pytest.mark.filterwarnings("ignore::raglift.errors.DocumentWarning")
def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "documents", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (folder / "inside.txt").write_text("inside")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "links").symlink_to(outside)
    (folder / "loop.txt").symlink_to(folder / "loop.txt")
    (folder / "alias.txt").symlink_to("inside.txt")
    assert [document.id for document in read_documents(folder)] == ["alias.txt", "inside.txt"]


def test_a_folder_in_which_nothing_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    (tmp_path / "b.png").write_bytes(b"\x89PNG")
    with pytest.raises(DatasetError, match=r"found a folder without documents; 1 of 1 file not read: 1 \*\.png"):
        read_documents(tmp_path)
