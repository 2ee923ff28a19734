"""Documents as JSON Lines: raglift's own `documents.jsonl`, and the `corpus.jsonl` of a BEIR folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from raglift.dataset.decoding import stream_lines
from raglift.dataset.strict_json import parse_object
from raglift.faults import Place, quoted, shown
from raglift.records import Document
from raglift.records.passages import read_characters, read_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import TextIO

    from raglift.errors import Fault

__all__ = ["LINES_SUFFIXES", "read_document_lines", "write_document_lines"]

LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""How the names of JSON Lines files end."""


def read_document_lines(path: Path, faults: list[Fault]) -> tuple[Document, ...]:
    """Return the documents of a JSON Lines file, read line by line.

    Each line is `{"_id": …, "title": …, "text": …, "metadata": {…}}`, as in BEIR; the id may also be called `id`,
    and title and metadata may be missing. Title and text are joined by a space, as BEIR does; the title also stands
    in the document's metadata, as do the fields of `metadata`. Other fields are left alone.

    Args:
        path: the file.
        faults: where what is wrong is noted.
    """
    place = Place(path.name, faults)
    documents: dict[str, Document] = {}
    first_line: dict[str, int | None] = {}
    for here, line in stream_lines(path, place):
        entry = parse_object(line, here)
        document = None if entry is None else _read_document(entry, here)
        if document is None:
            continue
        if document.id in first_line:
            here.fault(f"the id {quoted(document.id)} of line {first_line[document.id]}", "a unique id")
        else:
            first_line[document.id] = here.line
            documents[document.id] = document
    if not documents and not faults:
        place.fault("no documents", "one JSON object on each line")
    return tuple(documents.values())


def _read_document(entry: Mapping[str, Any], place: Place) -> Document | None:
    name = "id" if "id" in entry and "_id" not in entry else "_id"
    for field in (name, "text"):
        if field not in entry:
            (place / field).fault("no such field", f"the field {field!r} on every line")
            return None
    doc_id = read_id(entry[name], place / name)
    text = read_characters(entry["text"], place / "text")
    title = None if entry.get("title") is None else read_characters(entry["title"], place / "title")
    metadata = entry.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        (place / "metadata").fault(shown(metadata), "an object")
        return None
    if not doc_id or text is None or (title is None and entry.get("title") is not None):
        return None
    if not title:
        return Document(doc_id, text, metadata or {})
    return Document(doc_id, f"{title} {text}" if text else title, {**(metadata or {}), "title": title})


def write_document_lines(documents: Iterable[Document], file: TextIO) -> None:
    """Write documents so that `read_document_lines` reads equal ones.

    Args:
        documents: the documents; their metadata must be what JSON can hold.
        file: where to.
    """
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
    """Return title and text apart, where the text begins with the title."""
    if not isinstance(title, str) or not title:
        return "", text
    if text == title:
        return title, ""
    rest = text.removeprefix(f"{title} ")
    return (title, rest) if rest and rest != text else ("", text)
