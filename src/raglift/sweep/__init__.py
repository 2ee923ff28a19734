"""Many systems over one dataset: what is to be measured, and its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.sweep.cells import Cell, Exclusion, RetrieverSpec
from raglift.sweep.record import Sweep, SystemSpec

if TYPE_CHECKING:
    import os

__all__ = ["Cell", "Exclusion", "RetrieverSpec", "Sweep", "SystemSpec", "load_sweep"]


def load_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Read a sweep from a YAML file: see `raglift.sweep.yaml_file.load_sweep`."""
    from raglift.sweep.yaml_file import load_sweep as load

    return load(path)
