"""raglift's native format: a folder with `queries.jsonl`, and documents in `documents/` or `documents.jsonl`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from raglift.datasets.documents import DocumentSource, read_documents, write_document_lines
from raglift.datasets.jsonl import resolve_queries, write_queries
from raglift.utilities.limits import is_file, is_folder

if TYPE_CHECKING:
    from raglift.errors import Fault
    from raglift.types.anchors import Resolution
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Document
    from raglift.types.labels import Query


QUERIES, FILES, LINES = "queries.jsonl", "documents", "documents.jsonl"


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
    """Return the queries of a `.jsonl` file or of a folder, the documents, and how labels were resolved."""
    own = documents_of(source) if is_folder(source) else None
    given = read_documents(own if documents is None else documents, encoding=encoding)
    queries, resolution = resolve_queries(source / QUERIES if is_folder(source) else source, given)
    return queries, given, resolution


def write_own(dataset: Dataset, folder: Path) -> None:
    """Write `queries.jsonl` and, if there are any, the documents as lines of `documents.jsonl`."""
    write_queries(dataset.queries, folder / QUERIES, dataset.documents)
    if dataset.documents:
        with (folder / LINES).open("w", encoding="utf-8", newline="\n") as file:
            write_document_lines(dataset.documents, file)
