"""On what a run was made: the machine, and the versions of what decides its figures."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["environment"]

_VERSIONED = (
    "raglift",
    "numpy",
    "torch",
    "sentence-transformers",
    "transformers",
    "faiss-cpu",
    "model2vec",
    "tiktoken",
)


def environment(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return Python's version, the machine and its processor, and the versions of installed packages.

    Args:
        packages: distributions besides those that raglift itself computes with, as the frameworks of systems.
    """
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": str(_cores()),
    }
    versions = {name: _version(name) for name in (*_VERSIONED, *packages)}
    return found | {name: version for name, version in versions.items() if version is not None}


@cache
def _version(name: str) -> str | None:
    """Return a package's version, read once: it takes longer than the scores of a small evaluation."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    """Return the processor's model: what `platform.processor()` does not know on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def _cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
