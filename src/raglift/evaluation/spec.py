"""What was asked of a system, and where, as a run remembers it."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from raglift.environment import environment
from raglift.integrations.base import packages

if TYPE_CHECKING:
    from raglift.evaluation.options import Config
    from raglift.records import Dataset

__all__ = ["dataset_hash", "spec_of"]


def spec_of(dataset: Dataset, config: Config, depth: int) -> dict[str, Any]:
    """Return what was asked of the system, and where; never what could be secret."""
    return {
        "candidates": depth,
        "as_deployed": config.as_deployed,
        "doc_key": config.doc_key,
        "dtype": config.dtype,
        "dataset": {"name": dataset.name, "queries": len(dataset), "hash": dataset_hash(dataset)},
        "concurrency": config.concurrency,
        "timeout": config.timeout,
        "retries": config.retries,
        "latency": config.latency or 0,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(packages()),
    }


def dataset_hash(dataset: Dataset) -> str:
    """Return a hash of the queries, the labels and the documents."""
    digest = hashlib.sha256()
    for document in dataset.documents:
        digest.update(f"{document.id}\x00{document.text}\x00".encode("utf-8", "surrogatepass"))
    # What repr(dataset.queries) is, in pieces: the whole is as large as the labels
    for number, query in enumerate(dataset.queries):
        digest.update(f"{', ' if number else '('}{query!r}".encode("utf-8", "surrogatepass"))
    digest.update(b",)" if len(dataset) == 1 else b")")
    return digest.hexdigest()[:16]
