"""Documents from a folder: which files are read, what is said of the others, and the pages of PDF and DOCX files."""

from __future__ import annotations

import inspect
import io
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

from raglift.errors import DocumentWarning, Fault, MissingDependency
from raglift.types.documents import PAGE_BREAK, Document
from raglift.utilities.display import counted, listed, printable
from raglift.utilities.limits import allowed, is_file, most_bytes, resolved
from raglift.utilities.progress import track
from raglift.utilities.strict_files import decode_document, read_bytes
from raglift.utilities.validation import Location, quoted


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
        inner = docx.Document(io.BytesIO(data)).iter_inner_content()
        blocks = [[[block.text]] if hasattr(block, "text") else _cells(block) for block in inner]
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 — of a damaged file the parser, the archive or the package may complain
        location.fault(
            f"a damaged or encrypted DOCX ({_first_line(error)})", "a DOCX that opens in Word: save it again"
        )
        return None
    if sum(len(text) for rows in blocks for row in rows for text in row) > most_bytes():
        location.fault(f"more than {most_bytes():,} characters of text", allowed())
        return None
    texts = ["\n".join("\t".join(row) for row in rows) for rows in blocks]
    return PagedText(("\n\n".join(text.strip() for text in texts if text.strip()),))


_MOST_COLUMNS = 63
"""Of a table in Word."""


def _cells(table: Any) -> list[list[str]]:
    """Return the texts of a table's rows; the text of a merged cell is in each row and column that the cell covers.

    As in python-docx's `row.cells`, which repeats a cell as often as the file says, be it a billion times, and goes up
    from each row to the one where a cell begins.
    """
    from docx.table import _Cell

    rows: list[list[str]] = []
    above: dict[int, str] = {}
    for row in table.rows:
        texts: list[str] = []
        covered: dict[int, str] = {}
        column = row.grid_cols_before
        for cell in row._tr.tc_lst:  # noqa: SLF001 — there is no other way to a cell without what it covers
            text = above.get(column, "") if cell.vMerge == "continue" else _Cell(cell, table).text
            width = min(cell.grid_span, _MOST_COLUMNS)
            covered |= dict.fromkeys(range(column, column + width), text)
            texts += [text] * width
            column += width
        rows.append(texts)
        above = covered
    return rows


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return quoted(lines[0]) if lines else type(error).__name__


READERS: Mapping[str, Callable[[bytes, Location], PagedText | None]] = {".pdf": _read_pdf, ".docx": _read_docx}
"""What reads a file, by the ending of its name: it returns None, and notes a fault, where it cannot."""
PACKAGES: Mapping[str, str] = {".pdf": "pypdf", ".docx": "docx"}
"""The package that each of them needs."""
EXTRA = "documents"
"""The extra of raglift that brings the packages."""


_TEXTS = (".md", ".txt")
_READ = "*.txt, *.md, *.pdf or *.docx files in it"
_LISTED = 5


@dataclass
class _Notes:
    """What is to be said of files that were read, by the path of each."""

    empty: list[str] = field(default_factory=list)
    """PDF and DOCX files in which no page has text: they are no documents."""
    partial: dict[str, PagedText] = field(default_factory=dict)
    """Those in which some pages have none."""

    def lines(self) -> Iterator[str]:
        """Yield what there is to say."""
        if self.empty:
            were = "PDF or DOCX files have" if len(self.empty) > 1 else "PDF or DOCX file has"
            yield f"{len(self.empty):,} {were} no text (scanned?), left out: {listed(self.empty, _LISTED)}"
        if self.partial:
            pages = sum(paged.without_text for paged in self.partial.values())
            of = sum(len(paged.pages) for paged in self.partial.values())
            have = "has" if pages == 1 else "have"
            where = listed(self.partial, _LISTED)
            yield f"{pages:,} of {counted(of, 'page')} {have} no text (blank, or scanned?): {where}"


def read_file(path: Path, faults: list[Fault], encoding: str | None = None) -> tuple[Document, ...]:
    """Return the document that a text, PDF or DOCX file is; a fault if it is none."""
    notes = _Notes()
    documents = _read_files({path.name: path}, faults, notes, encoding)
    if notes.empty:
        expected = "a file with text: recognize it first (OCR), as with ocrmypdf"
        Location(path.name, faults).fault("no text on any page; was it scanned?", expected)
        return ()
    _warn(path.name, list(notes.lines()))
    return documents


def read_folder(
    folder: Path, include: Sequence[str], faults: list[Fault], encoding: str | None = None
) -> tuple[Document, ...]:
    """Return the documents in the files below a folder, in the order of their paths, which are the ids."""
    files, outside = _files_below(folder)
    location = Location(str(folder), faults)
    included = _matching(files, include, location)
    chosen = {path: file for path, file in files.items() if path in included or _is_read(file)}
    skipped = [path for path in files if path not in chosen]
    notes = _Notes()
    documents = _read_files(chosen, faults, notes, encoding)
    said = [*_skipped_lines(files, skipped, outside), *notes.lines()]
    if not documents and not faults:
        location.fault("a folder without documents" + "".join(f"; {line}" for line in said), _READ)
    elif not faults:
        _warn(str(folder), said)
    return documents


def _files_below(folder: Path) -> tuple[dict[str, Path], int]:
    """Return the files below a folder by relative path, in order of that path, and how many links lead out of it."""
    root = resolved(folder)
    files = {}
    outside = 0
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts) or not (is_file(path) or path.is_symlink()):
            continue
        # a link may point anywhere: files outside a downloaded archive are not its documents
        if not _is_below(path, root):
            outside += 1
        elif is_file(path):
            files[relative.as_posix()] = path
    return dict(sorted(files.items())), outside


def _is_below(path: Path, root: Path) -> bool:
    """Whether a file is below a folder once links are followed; False for a link that leads to itself."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _matching(files: Mapping[str, Path], include: Sequence[str], location: Location) -> set[str]:
    """Return the paths that match a pattern; a fault for a pattern that matches none."""
    matching: set[str] = set()
    for pattern in include:
        end = PurePosixPath(pattern.lower().removeprefix("**/"))  # a pattern fits the end of a path, at any depth
        found = {path for path in files if end.parts and PurePosixPath(path.lower()).match(str(end))}
        if not found:
            expected = f"a pattern that fits some, as {quoted('*.qmd')}"
            location.fault(f"include: {quoted(pattern)} matches none of {counted(len(files), 'file')}", expected)
        matching |= found
    return matching


def _is_read(file: Path) -> bool:
    """Whether a file of a folder is read without having been asked for."""
    suffix = file.suffix.lower()
    return suffix in _TEXTS or (suffix in READERS and find_spec(PACKAGES[suffix]) is not None)


def _read_files(
    files: Mapping[str, Path], faults: list[Fault], notes: _Notes, encoding: str | None
) -> tuple[Document, ...]:
    documents: list[Document] = []
    slow = sum(path.suffix.lower() in READERS for path in files.values())
    with track("read documents", len(files), "files", show=None if slow > 1 else False) as advance:
        for doc_id, path in files.items():
            text = _read_text(doc_id, path, Location(doc_id, faults), notes, encoding)
            if text is not None:
                documents.append(Document(doc_id, text))
            advance(1)
    return tuple(documents)


def _read_text(doc_id: str, path: Path, location: Location, notes: _Notes, encoding: str | None) -> str | None:
    """Return the text of a file; None, and a fault or a note, without one."""
    data = read_bytes(path, location)
    read = READERS.get(path.suffix.lower())
    if data is None or read is None:
        return None if data is None else decode_document(data, location, encoding)
    paged = read(data, location)
    if paged is None:
        return None
    if paged.without_text == len(paged.pages):
        notes.empty.append(doc_id)
        return None
    if paged.without_text:
        notes.partial[doc_id] = paged
    return paged.text


# What was not read.


def _skipped_lines(files: Mapping[str, Path], skipped: Sequence[str], outside: int) -> Iterator[str]:
    """Yield which files of a folder were not read, and how they can be."""
    if skipped:
        kinds = Counter(map(_kind, skipped)).most_common()
        counts = ", ".join(f"{many:,} {kind}" for kind, many in kinds[:_LISTED])
        others = sum(many for _, many in kinds[_LISTED:])
        more = f", {others:,} of other kinds" if others else ""
        yield f"{len(skipped):,} of {counted(len(files), 'file')} not read: {counts}{more} (as {skipped[0]})"
        yield from _hints([kind for kind, _ in kinds])
    if outside:
        yield f"{counted(outside, 'link')} out of the folder not followed"


def _hints(kinds: Sequence[str]) -> Iterator[str]:
    """Yield how to have more read: by installing what reads it, or by naming the most frequent other kind."""
    missing = [kind for kind in kinds if kind.removeprefix("*") in READERS]
    if missing:
        yield f"to read {' and '.join(missing)}: pip install 'raglift[{EXTRA}]'"
    other = next((kind for kind in kinds if "*" in kind and kind not in missing), None)
    if other is not None:
        yield f"to read {other} as text too: include={other!r}, or --include {other!r}"


def _kind(path: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    return f"*{suffix}" if suffix else "without an ending"


def _warn(source: str, lines: Sequence[str]) -> None:
    """Issue a warning that points at the line outside of raglift that asked for the documents."""
    if not lines:
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "raglift":
        level, frame = level + 1, frame.f_back
    # On one line, whatever line ends the names of files have
    text = " ".join(printable(f"{source}: {'; '.join(lines)}").split())
    warnings.warn(text, DocumentWarning, stacklevel=level)
