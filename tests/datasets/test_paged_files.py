"""PDF and DOCX files as documents: their pages, and what cannot be read of them. The files are real ones."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from fpdf import FPDF
from fpdf.enums import EncryptionMethod

from raglift.datasets.documents import read_documents
from raglift.errors import DatasetError, DocumentWarning, MissingDependency
from raglift.types.documents import Document
from raglift.utilities.limits import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

LAMP = "The keeper lights the lamp at dusk and trims its wick at midnight."
HORN = "In fog the horn is blown twice every minute until the ships answer."


def pdf(*pages: str, opened_by: str | None = None) -> bytes:
    """A PDF with a page for each text; an encrypted one if there is a password, which may be empty."""
    file = FPDF()
    if opened_by is not None:
        file.set_encryption("owner", opened_by, encryption_method=EncryptionMethod.AES_256)
    file.set_font("Helvetica", size=12)
    for text in pages:
        file.add_page()
        if text:
            file.multi_cell(0, 8, text)
    return bytes(file.output())


def word(*blocks: str) -> bytes:
    """A DOCX with a paragraph for each text; `<` begins one that is XML, and a form feed is a page break."""
    file = docx.Document()
    for block in blocks:
        if block == "\f":
            file.add_page_break()
        elif block.startswith("<"):
            file.element.body.insert_element_before(parse_xml(block.replace(">", f" {nsdecls('w')}>", 1)), "w:sectPr")
        else:
            file.add_paragraph(block)
    data = io.BytesIO()
    file.save(data)
    return data.getvalue()


def read(folder: Path, name: str, data: bytes) -> Document:
    (folder / name).write_bytes(data)
    (document,) = read_documents(folder / name)
    return document


def page_texts(document: Document) -> list[str]:
    return [document.text[start:end] for start, end in document.pages]


def faults_of(folder: Path, include: Sequence[str] = ()) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        read_documents(folder, include=include)
    return [str(fault) for fault in caught.value.faults]


class TestPages:
    """Where the pages of a file begin and end in the document's text."""

    def test_of_a_pdf(self, tmp_path: Path) -> None:
        document = read(tmp_path, "manual.PDF", pdf(LAMP, HORN))
        assert (document.id, document.text) == ("manual.PDF", f"{LAMP}\n\f{HORN}")
        assert page_texts(document) == [LAMP, HORN]


def test_paragraphs_and_tables_of_a_docx_are_read(tmp_path: Path) -> None:
    cells = "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in "ab")
    document = read(tmp_path, "a.docx", word("The lamp", f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>", LAMP))
    assert document.text == f"The lamp\n\na\tb\n\n{LAMP}"
    assert document.pages == ((0, len(document.text)),)


def test_a_merged_cell_of_a_docx_is_in_each_row_and_column_that_it_covers(tmp_path: Path) -> None:
    file = docx.Document()
    table = file.add_table(4, 4)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"c{number}"
    table.cell(0, 1).merge(table.cell(2, 2))
    table.cell(3, 0).merge(table.cell(3, 1))
    file.save(tmp_path / "merged.docx")
    (document,) = read_documents(tmp_path / "merged.docx")
    assert document.text == "\n".join("\t".join(cell.text for cell in row.cells) for row in table.rows)


def merged(row: str, property_of_first: str, *, rows: int = 2) -> bytes:
    """A DOCX with a table: a row, and further ones whose first cell has a property."""
    other = f"<w:tr><w:tc><w:tcPr><w:{property_of_first}/></w:tcPr><w:p/></w:tc></w:tr>"
    return word(LAMP, f"<w:tbl><w:tr>{row}</w:tr>{other * (rows - 1)}</w:tbl>")


CELL = "<w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>"


@pytest.mark.parametrize(
    "data",
    [
        merged(CELL, 'gridSpan w:val="2000000000"'),
        merged('<w:tc><w:tcPr><w:vMerge w:val="continue"/></w:tcPr><w:p/></w:tc>', 'vMerge w:val="continue"'),
        merged(CELL, 'vMerge w:val="continue"', rows=3000),
    ],
    ids=["wide", "no first row", "long"],
)
def test_cells_of_a_docx_that_claim_to_cover_very_much_are_read(tmp_path: Path, data: bytes) -> None:
    document = read(tmp_path, "a.docx", data)
    assert document.text.startswith(LAMP)
    assert len(document.text) < 10_000


def test_a_docx_whose_merged_cells_repeat_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = f"<w:tc><w:p><w:r><w:t>{LAMP * 100}</w:t></w:r></w:p></w:tc>"
    (tmp_path / "a.docx").write_bytes(data := merged(cell, 'vMerge w:val="continue"', rows=2000))
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "2000000")
    assert len(data) < 100_000
    (fault,) = faults_of(tmp_path)
    assert fault.startswith("a.docx: found more than 2,000,000 characters")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.docx", merged(CELL, 'gridSpan w:val="many"'), "found a damaged or encrypted DOCX"),
        ("a.pdf", pdf(LAMP)[:400], "found a damaged PDF"),
        ("a.pdf", pdf(LAMP, opened_by="secret"), "found a PDF that is encrypted"),
        ("a.docx", word(LAMP)[:4000], "found a damaged or encrypted DOCX"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_file(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    (tmp_path / "good.md").write_text(LAMP)
    (fault,) = faults_of(tmp_path)
    assert fault.startswith(f"{name}: {message}")


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(pdf("", ""))
    (tmp_path / "half.pdf").write_bytes(pdf(LAMP, "", HORN))
    with pytest.warns(DocumentWarning) as caught:
        (document,) = read_documents(tmp_path)
    assert page_texts(document) == [LAMP, "", HORN]
    said = str(caught[0].message)
    assert "1 PDF or DOCX file has no text (scanned?), left out: scan.pdf" in said
    assert "1 of 3 pages has no text (blank, or scanned?): half.pdf" in said
    with pytest.raises(DatasetError, match=r"scan\.pdf: found no text on any page; was it scanned\?"):
        read_documents(tmp_path / "scan.pdf")


class TestSize:
    """A small file cannot fill the memory."""

    def test_of_the_text_of_a_pdf(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.pdf").write_bytes(pdf(*[HORN * 20] * 3))
        monkeypatch.setenv(VARIABLE, "3000")
        (fault,) = faults_of(tmp_path)
        assert fault.startswith("a.pdf: found more than 3,000 characters of text; expected at most 3,000 bytes")


class TestWithoutTheExtra:
    """pypdf or python-docx is not installed."""

    @pytest.fixture(autouse=True)
    def without(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("raglift.datasets.folders.find_spec", lambda name: None)
        monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
        (tmp_path / "a.pdf").write_bytes(pdf(LAMP))

    def test_the_files_of_a_folder_are_counted_and_the_others_read(self, tmp_path: Path) -> None:
        (tmp_path / "b.md").write_text(HORN)
        with pytest.warns(DocumentWarning, match=r"1 of 2 files not read: 1 \*\.pdf .*'raglift\[documents\]'"):
            assert [document.id for document in read_documents(tmp_path)] == ["b.md"]

    def test_a_file_that_is_asked_for_needs_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(MissingDependency, match=r"'raglift\[documents\]'"):
            read_documents(tmp_path / "a.pdf")
        with pytest.raises(MissingDependency, match=r"'raglift\[documents\]'"):
            read_documents(tmp_path, include="*.pdf")
        monkeypatch.setitem(__import__("sys").modules, "docx", None)
        (tmp_path / "a.docx").write_bytes(word(LAMP))
        with pytest.raises(MissingDependency, match=r"'raglift\[documents\]'"):
            read_documents(tmp_path / "a.docx")


def test_a_docx_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.docx").write_bytes(data := word(LAMP * 10_000))
    monkeypatch.setenv(VARIABLE, str(len(data)))
    (fault,) = faults_of(tmp_path)
    assert fault.startswith("a.docx: found a DOCX that unpacks to ")
