"""What was read is written in each format that can hold it, and read back equal."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from raglift.datasets.formats.writing import WRITTEN_FORMATS, write_dataset
from raglift.datasets.loading import load_dataset
from raglift.errors import DatasetError
from raglift.records.dataset import Dataset

from . import readers_datasets
from .reader import Reader

__all__ = ["READERS"]


def _converted(dataset: Dataset) -> None:
    """Assert that what can be written, as `write_dataset` says, comes back as it was."""
    with tempfile.TemporaryDirectory() as folder:
        for name in WRITTEN_FORMATS:
            try:
                path = write_dataset(dataset, Path(folder) / name, format=name)
            except DatasetError:
                continue
            again = load_dataset(path, name=dataset.name)
            assert (again.documents, again.queries) == (dataset.documents, dataset.queries), name


READERS: tuple[Reader, ...] = tuple(
    replace(reader, name=f"{reader.name}, converted", check=_converted)
    for reader in readers_datasets.READERS
    if reader.name in ("jsonl", "beir", "trec", "squad", "rows, own columns", "autorag", "llama-index, pairs")
)
"""All of the readers here."""
