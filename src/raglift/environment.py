"""On what a run was made: the machine, and the versions of what decides its figures."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

__all__ = ["environment"]

_VERSIONED = (
    "raglift",
    "numpy",
    "torch",
    "sentence-transformers",
    "transformers",
    "faiss-cpu",
    "langchain-core",
    "llama-index-core",
    "model2vec",
    "tiktoken",
)


def environment() -> dict[str, str]:
    """Return Python's version, the machine and its processor, and the versions of installed packages."""
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": str(_cores()),
    }
    for name in _VERSIONED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


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
