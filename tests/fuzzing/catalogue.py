"""All readers."""

from __future__ import annotations

from . import readers_corpora, readers_datasets, readers_labels, readers_run_files
from .reader import Reader

__all__ = ["READERS"]

READERS: tuple[Reader, ...] = (
    *readers_datasets.READERS,
    *readers_corpora.READERS,
    *readers_run_files.READERS,
    *readers_labels.READERS,
)
"""In the order of the table."""
