"""All readers."""

from __future__ import annotations

from . import (
    readers_cache,
    readers_corpora,
    readers_datasets,
    readers_notations,
    readers_run_files,
    readers_saved,
    readers_sweeps,
)
from .reader import Reader

__all__ = ["READERS"]

READERS: tuple[Reader, ...] = (
    *readers_datasets.READERS,
    *readers_corpora.READERS,
    *readers_run_files.READERS,
    *readers_saved.READERS,
    *readers_sweeps.READERS,
    *readers_cache.READERS,
    *readers_notations.READERS,
)
"""In the order of the table."""
