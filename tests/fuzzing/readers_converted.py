"""What was read is written in every format that can hold it, and read back equal."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from raglift.datasets.formats.catalogue import FORMATS, write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError
from raglift.records.dataset import Dataset
from raglift.records.labels import Query

from . import readers_datasets
from .reader import Reader

__all__ = ["READERS"]

_WITHOUT_DOCUMENTS = ("csv", "llama-index", "rank-eval")


def _converted(dataset: Dataset) -> None:
    """Assert that what can be written, as `write_dataset` says, comes back as it was."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (each.name for each in FORMATS.values() if each.write is not None):
            path = Path(folder) / name.replace("llama-index", "llama-index.json").replace("squad", "squad.json")
            try:
                write_dataset(dataset, path, format=name)
            except DatasetError:
                continue
            given = dataset.documents if name in _WITHOUT_DOCUMENTS and not _brings_documents(path) else None
            again = load_dataset(path, format=name, documents=given or None, name=dataset.name)
            assert again.documents == dataset.documents or name in _WITHOUT_DOCUMENTS, name
            assert _in_order(again, name) == _in_order(dataset, name), name


def _in_order(dataset: Dataset, name: str) -> list[Query]:
    """Return the queries; SQuAD has them where their documents are."""
    return sorted(dataset.queries, key=lambda query: query.id if name == "squad" else "")


def _brings_documents(path: Path) -> bool:
    return b'"corpus"' in path.read_bytes()


READERS: tuple[Reader, ...] = tuple(
    replace(reader, name=f"{reader.name}, converted", check=_converted)
    for reader in readers_datasets.READERS
    if reader.name in ("jsonl", "beir", "trec", "squad", "csv, own columns", "autorag", "llama-index, pairs")
)
"""All of the readers here."""
