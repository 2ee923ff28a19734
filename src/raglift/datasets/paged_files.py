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
    from collections.abc import Callable, Mapping

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


# DOCX, by python-docx, whose parser expands no entities.


def _read_docx(data: bytes, location: Location) -> PagedText | None:
    try:
        import docx
    except ImportError:
        raise MissingDependency("docx", "documents", "reading DOCX files") from None
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            total = sum(part.file_size for part in archive.infolist())
        if total > most_bytes():
            location.fault(f"a DOCX that unpacks to {total:,} bytes", allowed())
            return None
        blocks = list(docx.Document(io.BytesIO(data)).iter_inner_content())
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 — of a damaged file the parser, the archive or the package may complain
        location.fault(
            f"a damaged or encrypted DOCX ({_first_line(error)})", "a DOCX that opens in Word: save it again"
        )
        return None
    texts = [block.text if hasattr(block, "text") else _text_of_table(block) for block in blocks]
    return PagedText(("\n\n".join(text.strip() for text in texts if text.strip()),))


def _text_of_table(table: Any) -> str:
    return "\n".join("\t".join(cell.text for cell in row.cells) for row in table.rows)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return quoted(lines[0]) if lines else type(error).__name__


READERS: Mapping[str, Callable[[bytes, Location], PagedText | None]] = {".pdf": _read_pdf, ".docx": _read_docx}
"""What reads a file, by the ending of its name: it returns None, and notes a fault, where it cannot."""
PACKAGES: Mapping[str, str] = {".pdf": "pypdf", ".docx": "docx"}
"""The package that each of them needs."""
EXTRA = "documents"
"""The extra of raglift that brings the packages."""
