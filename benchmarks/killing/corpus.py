"""A real corpus that models get through in seconds: a part of the one that comes with raglift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.datasets.documents import write_document_lines
from raglift.datasets.jsonl import write_queries
from raglift.datasets.loading import load_dataset
from raglift.types.dataset import Dataset

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["part_of_lighthouse", "write_part"]


def part_of_lighthouse(documents: int = 3, queries: int = 4) -> Dataset:
    """Return the documents that the first queries are about, as far as there is room for them, and those queries."""
    whole = load_dataset("lighthouse")
    wanted: dict[str, None] = {}
    chosen = []
    for query in whole.queries:
        needed = {str(passage.doc_id) for fact in query.facts for passage in fact.passages}
        if needed and len(wanted.keys() | needed) <= documents and len(chosen) < queries:
            wanted.update(dict.fromkeys(sorted(needed)))
            chosen.append(query)
    texts = tuple(document for document in whole.documents if document.id in wanted)
    return Dataset(tuple(chosen), texts, "island")


def write_part(folder: Path, documents: int = 3, queries: int = 4) -> Path:
    """Write such a part as a folder that commands read."""
    part = part_of_lighthouse(documents, queries)
    folder.mkdir(parents=True)
    write_queries(part.queries, folder / "queries.jsonl", part.documents)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        write_document_lines(part.documents, file)
    return folder
