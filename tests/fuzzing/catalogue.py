"""All readers: those of each module next to this one whose name begins with `readers_`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from .reader import Reader

__all__ = ["READERS"]

_MODULES = sorted(path.stem for path in Path(__file__).parent.glob("readers_*.py"))

READERS: tuple[Reader, ...] = tuple(
    reader for name in _MODULES for reader in import_module(f".{name}", __package__).READERS
)
"""In the order of the table."""
