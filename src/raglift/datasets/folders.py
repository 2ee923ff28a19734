"""Documents from a folder of files: which files are read, and what is said of those that are not."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from raglift.datasets.paged_files import EXTRA, PACKAGES, READERS
from raglift.errors import DocumentWarning
from raglift.types.documents import Document
from raglift.utilities.display import counted, printable
from raglift.utilities.limits import is_file, resolved
from raglift.utilities.progress import track
from raglift.utilities.strict_files import decode_document, read_bytes
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from raglift.datasets.paged_files import PagedText
    from raglift.errors import Fault


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
            yield f"{len(self.empty):,} {were} no text (scanned?), left out: {_listed(self.empty)}"
        if self.partial:
            pages = sum(paged.without_text for paged in self.partial.values())
            of = sum(len(paged.pages) for paged in self.partial.values())
            have = "has" if pages == 1 else "have"
            yield f"{pages:,} of {counted(of, 'page')} {have} no text (blank, or scanned?): {_listed(self.partial)}"


def read_file(path: Path, faults: list[Fault], encoding: str | None = None) -> tuple[Document, ...]:
    """Return the document that a text, PDF or DOCX file is; a fault if it is none.

    Raises:
        MissingDependency: what reads it is not installed.
    """
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
    """Return the documents in the files below a folder, in the order of their paths, which are the ids.

    Raises:
        MissingDependency: a pattern includes a file, and what reads it is not installed.
    """
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
    return suffix in _TEXTS or (suffix in READERS and _is_installed(suffix))


def _is_installed(suffix: str) -> bool:
    return find_spec(PACKAGES[suffix]) is not None


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
        listed = ", ".join(f"{many:,} {kind}" for kind, many in kinds[:_LISTED])
        others = sum(many for _, many in kinds[_LISTED:])
        more = f", {others:,} of other kinds" if others else ""
        yield f"{len(skipped):,} of {counted(len(files), 'file')} not read: {listed}{more} (as {skipped[0]})"
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


def _listed(paths: Sequence[str] | Mapping[str, object]) -> str:
    names = list(paths)
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


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
