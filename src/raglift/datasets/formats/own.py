"""raglift's native format: a folder with `queries.jsonl`, and documents in `documents/` or `documents.jsonl`."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from raglift.base.limits import is_file, is_folder
from raglift.datasets.documents import read_documents, write_document_lines
from raglift.datasets.jsonl import resolve_queries, write_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.anchors import Resolution
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document
    from raglift.records.labels import Query


QUERIES, FILES, LINES = "queries.jsonl", "documents", "documents.jsonl"
_MOST_FILES = 10_000
_MOST_BYTES = 150
# A name that every file system takes as it is: no path out of the folder, no stream, no device, nothing hidden
_NAME = re.compile(r"[^\s./\\:*?\"<>|\x00-\x1f\x7f]([^/\\:*?\"<>|\x00-\x1f\x7f]*[^\s./\\:*?\"<>|\x00-\x1f\x7f])?")
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def documents_of(folder: Path) -> Path | None:
    """Return where the documents of a folder are: `documents/` or `documents.jsonl`; None when it has none."""
    if is_folder(folder / FILES):
        return folder / FILES
    return folder / LINES if is_file(folder / LINES) else None


def read_own(
    source: Path,
    faults: list[Fault],  # noqa: ARG001 — as all readers are called; this one raises them itself
    *,
    documents: DocumentSource = None,
    encoding: str | None = None,
) -> tuple[tuple[Query, ...], tuple[Document, ...], Resolution]:
    """Return the queries of a `.jsonl` file, or of the `queries.jsonl` in a folder, the documents, and the resolution.

    Args:
        source: the file or folder.
        faults: not used.
        documents: the documents, in place of the folder's own.
        encoding: of those of the documents that are not in UTF-8.
    """
    own = documents_of(source) if is_folder(source) else None
    given = read_documents(own if documents is None else documents, encoding=encoding)
    queries, resolution = resolve_queries(source / QUERIES if is_folder(source) else source, given)
    return queries, given, resolution


def write_own(dataset: Dataset, folder: Path) -> None:
    """Write `queries.jsonl` and, where there are any, the documents.

    They become files in `documents/` if reading these gives the same documents back: their ids are paths that every
    file system takes, below the folder and with `.txt` or `.md` at the end, and in order. Otherwise, as with any id
    that is not made to be a file's name, they become lines of `documents.jsonl`.

    Args:
        dataset: the dataset.
        folder: an empty folder.
    """
    write_queries(dataset.queries, folder / QUERIES, dataset.documents)
    if not dataset.documents:
        return
    if not _are_files(dataset.documents):
        with (folder / LINES).open("w", encoding="utf-8", newline="\n") as file:
            write_document_lines(dataset.documents, file)
        return
    for document in dataset.documents:
        path = folder / FILES / document.id
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document.text, encoding="utf-8", newline="\n")


def _are_files(documents: Sequence[Document]) -> bool:
    """Whether the documents can be files in a folder and come back as they are."""
    ids = [document.id for document in documents]
    if len(ids) > _MOST_FILES or ids != sorted(ids) or not all(map(_is_path, ids)):
        return False
    # some file systems know no letter case, and some write é as two characters
    names = [unicodedata.normalize("NFC", doc_id).casefold() for doc_id in ids]
    folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}
    if len(set(names)) < len(names) or folders & set(names):
        return False
    return all(
        not document.metadata and not re.search("[\r\0]", document.text) and not document.text.startswith("\ufeff")
        for document in documents
    )


def _is_path(doc_id: str) -> bool:
    parts = doc_id.split("/")
    return (
        doc_id.lower().endswith((".txt", ".md"))
        and unicodedata.is_normalized("NFC", doc_id)
        and len(doc_id.encode("utf-8", "replace")) <= _MOST_BYTES
        and all(_NAME.fullmatch(part) and not _DEVICE.fullmatch(part) for part in parts)
    )
