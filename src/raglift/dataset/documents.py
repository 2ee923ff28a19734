"""Documents from files, folders, mappings and records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from raglift.dataset.decoding import decode_text, read_bytes
from raglift.dataset.document_lines import LINES_SUFFIXES, read_document_lines
from raglift.errors import DatasetError
from raglift.faults import Place
from raglift.paths import is_file, is_folder, user_path
from raglift.records import Document
from raglift.records.dataset import check_documents

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.errors import Fault

__all__ = ["DocumentSource", "read_documents"]

DocumentSource: TypeAlias = "Sequence[Document] | Mapping[str, str] | str | os.PathLike[str] | None"
"""What documents can be given as: records, a mapping from id to text, or a file or folder."""

_SUFFIXES = frozenset({".txt", ".md"})


def read_documents(documents: DocumentSource) -> tuple[Document, ...]:
    """Return the documents that were given, with unique ids.

    Args:
        documents: None for no documents; records; a mapping from id to text; a path to a file, whose name is
            the id; a path to a `.jsonl` file with one document on each line (`read_document_lines`); or a path
            to a folder, with all `*.txt` and `*.md` below it, whose ids are the paths below
            it, with forward slashes. Hidden files, and links out of the folder, are skipped.

    Raises:
        DatasetError: a file is missing or not UTF-8, a folder has no documents, or an id occurs twice.
    """
    faults: list[Fault] = []
    if documents is None:
        return ()
    if isinstance(documents, (str, os.PathLike)):
        source = str(documents)
        found = _from_path(user_path(documents), faults)
    elif isinstance(documents, Mapping):
        source = "documents"
        found = check_documents([Document(key, text) for key, text in documents.items()], faults)
    else:
        source = "documents"
        found = check_documents(documents, faults)
    if faults:
        raise DatasetError(source, faults)
    return found


def _from_path(path: Path, faults: list[Fault]) -> tuple[Document, ...]:
    if is_file(path) and path.suffix.lower() in LINES_SUFFIXES:
        return read_document_lines(path, faults)
    if is_file(path):
        return _from_files({path.name: path}, faults)
    place = Place(str(path), faults)
    if not is_folder(path):
        place.fault(
            "no such file or folder",
            "a text file, a .jsonl file of documents, a folder of *.txt and *.md files, or the name of a corpus",
        )
        return ()
    files = _files_below(path)
    if not files:
        place.fault("a folder without documents", "*.txt or *.md files in it")
    return _from_files(files, faults)


def _files_below(folder: Path) -> dict[str, Path]:
    """Return the text files below a folder by relative path, in order of that path."""
    root = folder.resolve()
    files = {}
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if hidden or path.suffix.lower() not in _SUFFIXES or not is_file(path):
            continue
        # a link may lead anywhere: what a downloaded archive points to outside itself is not its document
        if path.resolve().is_relative_to(root):
            files[relative.as_posix()] = path
    return dict(sorted(files.items()))


def _from_files(files: Mapping[str, Path], faults: list[Fault]) -> tuple[Document, ...]:
    documents = []
    for doc_id, path in files.items():
        place = Place(doc_id, faults)
        data = read_bytes(path, place)
        text = None if data is None else decode_text(data, place)
        if text is not None:
            documents.append(Document(doc_id, text))
    return tuple(documents)
