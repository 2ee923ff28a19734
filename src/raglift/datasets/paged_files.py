"""PDF and DOCX files as the texts of their pages."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from raglift.errors import MissingDependency
from raglift.types.documents import PAGE_BREAK
from raglift.utilities.limits import allowed, most_bytes
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from raglift.utilities.validation import Location


@dataclass(frozen=True)
class PagedText:
    """What was read of a PDF or DOCX file."""

    pages: tuple[str, ...]
    """The text of each page, without white space at its ends; empty where a page has none, as one that was scanned."""

    @property
    def text(self) -> str:
        """The pages in one text, as LangChain's PyPDFLoader joins them."""
        return f"\n{PAGE_BREAK}".join(self.pages)

    @property
    def without_text(self) -> int:
        """How many pages have no text."""
        return sum(not page for page in self.pages)


# PDF, by pypdf. It is what the PDF loaders of LangChain, LlamaIndex and Haystack use, so that the texts are the same.


def _read_pdf(data: bytes, location: Location) -> PagedText | None:
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError
    except ImportError:
        raise MissingDependency("pypdf", "documents", "reading PDF files") from None
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # without a handler Python prints what it logs
    pages: list[str] = []
    left = most_bytes()
    try:
        # Pages are looked up one after the other: the number that a file states may be anything
        for page in PdfReader(io.BytesIO(data)).pages:
            pages.append(_clean(page.extract_text()))
            left -= len(pages[-1])
            if left < 0:
                location.fault(f"more than {most_bytes():,} characters of text", allowed())
                return None
    except FileNotDecryptedError:
        location.fault("a PDF that is encrypted", "one that opens without a password: save a copy without it")
        return None
    except DependencyError:
        raise MissingDependency("cryptography", "documents", "reading encrypted PDF files") from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 — damaged files make pypdf raise all kinds of errors
        location.fault(f"a damaged PDF ({_first_line(error)})", "a PDF that opens in a viewer: save it again")
        return None
    if not pages:
        location.fault("a PDF without pages", "a PDF that opens in a viewer: save it again")
        return None
    return PagedText(tuple(pages))


def _clean(text: str) -> str:
    """Return a page's text without what no text file could hold."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\r\n", "\n").replace("\r", "\n").replace(PAGE_BREAK, " ").replace("\0", "\ufffd").strip()


# DOCX, opened by python-docx, whose parser expands no entities. The body is read as XML, because python-docx's own
# iteration leaves out content controls, text boxes and where pages begin.


_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_SKIPPED = {f"{_WORD}moveFrom", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
"""What stands elsewhere too: the former place of text that was moved, and what older programs show instead."""


def _read_docx(data: bytes, location: Location) -> PagedText | None:
    try:
        import docx
    except ImportError:
        raise MissingDependency("docx", "documents", "reading DOCX files") from None
    if data.startswith(b"\xd0\xcf\x11\xe0"):  # an OLE container holds what Word encrypted, and the old .doc
        location.fault("an encrypted DOCX, or a DOC", "a DOCX that opens without a password: save a copy of it")
        return None
    try:
        if not _fits(data, location):
            return None
        body = docx.Document(io.BytesIO(data)).element.body
        if body.getroottree().docinfo.doctype:  # the format has none, and what it defines would be left out
            location.fault("a DOCX with a document type definition", "a DOCX that Word saved")
            return None
        is_laid_out = next(body.iter(f"{_WORD}lastRenderedPageBreak"), None) is not None
        text = "".join(_texts(body, is_laid_out=is_laid_out))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 — of a damaged file the parser, the archive or the package may complain
        location.fault(f"a damaged DOCX ({_first_line(error)})", "a DOCX that opens in Word: save it again")
        return None
    return PagedText(tuple(page.strip() for page in text.split(PAGE_BREAK)))


def _fits(data: bytes, location: Location) -> bool:
    """Whether an archive unpacks to no more than is taken; if not, a fault.

    Raises:
        BadZipFile: it is none.
    """
    with ZipFile(io.BytesIO(data)) as archive:
        total = sum(part.file_size for part in archive.infolist())
    if total > most_bytes():
        location.fault(f"a DOCX that unpacks to {total:,} bytes", allowed())
        return False
    return True


def _texts(element: Any, *, is_laid_out: bool, in_cell: bool = False) -> Iterator[str]:
    """Yield the texts below an element, and the white space and page breaks between them.

    Args:
        element: the element.
        is_laid_out: whether the file says where pages began when it was last laid out; otherwise pages begin where
            somebody inserted a page break.
        in_cell: whether it is in a cell of a table, where paragraphs are lines.
    """
    for child in element:
        tag = child.tag
        if tag in (f"{_WORD}t", _MATH_TEXT):
            yield child.text or ""
        elif tag == f"{_WORD}tab" and element.tag == f"{_WORD}r":
            yield "\t"
        elif tag == f"{_WORD}noBreakHyphen":
            yield "-"
        elif tag in (f"{_WORD}br", f"{_WORD}cr"):
            is_page = child.get(f"{_WORD}type") == "page"
            yield PAGE_BREAK if is_page and not is_laid_out else "\n"
        elif tag == f"{_WORD}lastRenderedPageBreak":
            yield PAGE_BREAK
        elif isinstance(tag, str) and tag not in _SKIPPED:
            yield from _texts(child, is_laid_out=is_laid_out, in_cell=in_cell or tag == f"{_WORD}tc")
            if tag == f"{_WORD}p":
                yield "\n" if in_cell else "\n\n"
            elif tag == f"{_WORD}tbl":
                yield "\n"


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return quoted(lines[0]) if lines else type(error).__name__


READERS: Mapping[str, Callable[[bytes, Location], PagedText | None]] = {".pdf": _read_pdf, ".docx": _read_docx}
"""What reads a file, by the ending of its name: it returns None, and notes a fault, where it cannot."""
PACKAGES: Mapping[str, str] = {".pdf": "pypdf", ".docx": "docx"}
"""The package that each of them needs."""
EXTRA = "documents"
"""The extra of raglift that brings the packages."""
