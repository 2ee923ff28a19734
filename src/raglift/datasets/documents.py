"""Documents read from whatever a user has: files, folders, JSON Lines, mappings or records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias, cast

from raglift.datasets.folders import read_file, read_folder
from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.types.dataset import check_documents
from raglift.types.documents import Document
from raglift.types.parsing import read_characters, read_id
from raglift.utilities.limits import is_file, is_folder, is_stream, user_path
from raglift.utilities.strict_files import check_encoding, parse_object, stream_lines
from raglift.utilities.validation import Location, quoted, shown

# Documents as JSON Lines: raglift's own `documents.jsonl`, and the `corpus.jsonl` of a BEIR folder.


LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""How the names of JSON Lines files end."""


def read_document_lines(path: Path, faults: list[Fault]) -> tuple[Document, ...]:
    """Return the documents of a JSON Lines file, read line by line.

    Each line is `{"_id": …, "title": …, "text": …, "metadata": {…}}`, as in BEIR; the id may also be called `id`, and
    title and metadata may be missing. Title and text are joined by a space, as BEIR does; the title is also in the
    document's metadata, as do the fields of `metadata`. Other fields are left alone.
    """
    location = Location(path.name, faults)
    entries = ((here, parse_object(line, here)) for here, line in stream_lines(path, location))
    documents = documents_of((here, entry) for here, entry in entries if entry is not None)
    if not documents and not faults:
        location.fault("no documents", "one JSON object on each line")
    return documents


def documents_of(entries: Iterable[tuple[Location, Mapping[str, Any]]]) -> tuple[Document, ...]:
    """Return the documents of the rows of a table, each with its place; an id that comes again is a fault."""
    documents: dict[str, Document] = {}
    first: dict[str, Location] = {}
    for here, entry in entries:
        document = read_document(entry, here)
        if document is None:
            continue
        if document.id in first:
            here.fault(f"the id {quoted(document.id)} of {first[document.id]}", "a unique id")
        first.setdefault(document.id, here)
        documents.setdefault(document.id, document)
    return tuple(documents.values())


def read_document(entry: Mapping[str, Any], location: Location) -> Document | None:
    """Return the document that a line of `corpus.jsonl` describes; None, and a fault, when it describes none."""
    name = "id" if "id" in entry and "_id" not in entry else "_id"
    for field in (name, "text"):
        if field not in entry:
            (location / field).fault("no such field", f"the field {field!r} on every line")
            return None
    doc_id = read_id(entry[name], location / name)
    text = read_characters(entry["text"], location / "text")
    title = None if entry.get("title") is None else read_characters(entry["title"], location / "title")
    metadata = entry.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        (location / "metadata").fault(shown(metadata), "an object")
        return None
    if not doc_id or text is None or (title is None and entry.get("title") is not None):
        return None
    if not title:
        return Document(doc_id, text, metadata or {})
    return Document(doc_id, f"{title} {text}" if text else title, {**(metadata or {}), "title": title})


def write_document_lines(documents: Iterable[Document], file: TextIO) -> None:
    """Write documents so that `read_document_lines` reads equal ones."""
    for document in documents:
        metadata = dict(document.metadata)
        title, text = _parted(document.text, metadata.get("title"))
        entry: dict[str, Any] = {"_id": document.id, "title": title, "text": text}
        if title:
            del metadata["title"]
        if metadata:
            entry["metadata"] = metadata
        file.write(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n")


def _parted(text: str, title: object) -> tuple[str, str]:
    """Return title and text separately if the text begins with the title."""
    if not isinstance(title, str) or not title:
        return "", text
    if text == title:
        return title, ""
    rest = text.removeprefix(f"{title} ")
    return (title, rest) if rest and rest != text else ("", text)


# Documents from files, folders, mappings and records.


DocumentSource: TypeAlias = "Sequence[Document] | Mapping[str, str] | str | os.PathLike[str] | None"
"""What documents can be given as: records, a mapping from id to text, or a file or folder."""


def read_documents(
    documents: DocumentSource, *, encoding: str | None = None, include: str | Sequence[str] = ()
) -> tuple[Document, ...]:
    """Return the documents that were given, with unique ids.

    Args:
        documents: None for no documents; records; a mapping from id to text; a path to a file, whose name is
            the id; a path to a `.jsonl` file with one document on each line (`read_document_lines`);
            or a path to a folder, with all `*.txt`, `*.md`, `*.pdf` and `*.docx` below it, whose ids are the paths
            below it, with forward slashes. Hidden files, and links out of the folder, are not read.
        encoding: of the text files that are not in UTF-8 and have no byte-order mark, as `cp1252`.
        include: what is also read of a folder, as text: patterns of names (`*.qmd`) or of the ends of paths
            (`guides/*.html`), in any letter case.

    Raises:
        ConfigurationError: no such encoding; patterns, and no folder.
        DatasetError: a file is missing, damaged or in another encoding, a folder has no documents, a pattern matches no
            file, or an id occurs twice; every fault is listed.
        MissingDependency: a PDF or DOCX file is given, or included, and what reads it is not installed.

    Warns:
        DocumentWarning: files of a folder were not read, or pages have no text: how many, and which.
    """
    faults: list[Fault] = []
    encoding = check_encoding(encoding)
    patterns = (include,) if isinstance(include, str) else tuple(include)
    path = user_path(documents) if isinstance(documents, (str, os.PathLike)) else None
    if patterns and (path is None or not is_folder(path)):
        given = "documents that are no folder" if path is None else f"{path}, which is no folder"
        raise ConfigurationError(f"include: found it with {given}; expected it with a folder of files")
    if documents is None:
        return ()
    if path is not None:
        source = str(documents)
        found = read_folder(path, patterns, faults, encoding) if is_folder(path) else _from_file(path, faults, encoding)
    else:
        source = "documents"
        records = [Document(*item) for item in documents.items()] if isinstance(documents, Mapping) else documents
        found = check_documents(cast("Sequence[object]", records), faults)
    if faults:
        raise DatasetError(source, faults)
    return found


def _from_file(path: Path, faults: list[Fault], encoding: str | None) -> tuple[Document, ...]:
    if not is_file(path):
        Location(str(path), faults).fault(
            "a pipe or a device" if is_stream(path) else "no such file or folder",
            "a text, PDF or DOCX file, a .jsonl file of documents, a folder of such files, or the name of a corpus",
        )
        return ()
    if path.suffix.lower() in LINES_SUFFIXES:
        return read_document_lines(path, faults)
    return read_file(path, faults, encoding)
