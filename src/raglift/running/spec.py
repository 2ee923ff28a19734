"""What a run records of itself: its settings, and its environment: machine and versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import packages
from raglift.metrics.computing import names_of
from raglift.utilities.threads import usable_cores

if TYPE_CHECKING:
    from raglift.running.settings import Settings
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Document
    from raglift.types.labels import Query


# The environment of a run: the machine, and the versions of the packages that affect its figures.


_VERSIONED = (
    "raglift",
    "numpy",
    "torch",
    "sentence-transformers",
    "transformers",
    "bm25s",
    "PyStemmer",
    "faiss-cpu",
    "onnxruntime",
    "tokenizers",
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
        "cores": str(usable_cores()),
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


# The recorded settings of a run.


def named_in_spec(names: Sequence[str]) -> dict[str, Any]:
    """Return what a run's spec says of the metrics that were asked for by name: nothing of the default ones."""
    return {"metrics": list(names)} if names else {}


def spec_of(dataset: Dataset, config: Settings) -> dict[str, Any]:
    """Return what was asked of the system, and where; never what could be secret."""
    return {
        "depth": config.depth,
        **({} if config.budget is None else {"budget": config.budget}),
        "doc_key": config.doc_key,
        **named_in_spec(names_of(config.metrics)),
        "dtype": config.dtype,
        "device": config.device,
        "batch_size": config.batch_size,
        "dataset": {"name": dataset.name, "queries": len(dataset), **dataset_hashes(dataset)},
        "concurrency": config.concurrency,
        "timeout": config.timeout,
        "retries": config.retries,
        "latency": config.latency or 0,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(packages()),
    }


def dataset_hash(dataset: Dataset) -> str:
    """Return a hash of the queries, the labels and the documents."""
    return dataset_hashes(dataset)["hash"]


def dataset_hashes(dataset: Dataset) -> dict[str, str]:
    """Return the hashes that a run records: of all (`hash`), of questions and labels, and of the documents, if any.

    Labels and documents have hashes of their own, so that it can be said which of the two changed.
    """
    everything = _digest_of_documents(dataset.documents)
    documents = {"documents": _short(everything)} if dataset.documents else {}
    labels = hashlib.sha256()
    for part in _parts_of_queries(dataset.queries):
        everything.update(part)
        labels.update(part)
    return {"hash": _short(everything), "labels": _short(labels), **documents}


def labels_hash(queries: Sequence[Query]) -> str:
    """Return a hash of questions and labels, as `spec["dataset"]["labels"]` has it."""
    digest = hashlib.sha256()
    for part in _parts_of_queries(queries):
        digest.update(part)
    return _short(digest)


def documents_hash(documents: Iterable[Document]) -> str:
    """Return a hash of documents, as `spec["dataset"]["documents"]` has it."""
    return _short(_digest_of_documents(documents))


def _digest_of_documents(documents: Iterable[Document]) -> hashlib._Hash:
    digest = hashlib.sha256()
    for document in documents:
        digest.update(f"{document.id}\x00{document.text}\x00".encode("utf-8", "surrogatepass"))
    return digest


def _parts_of_queries(queries: Sequence[Query]) -> Iterator[bytes]:
    """Yield what repr(queries) is, in pieces, as the whole is as large as the labels; then the filters."""
    for number, query in enumerate(queries):
        yield f"{', ' if number else '('}{query!r}".encode("utf-8", "surrogatepass")
    yield b",)" if len(queries) == 1 else b")"
    for query in queries:
        if query.filter is not None:
            yield repr((query.id, query.filter)).encode("utf-8", "surrogatepass")


def _short(digest: hashlib._Hash) -> str:
    return digest.hexdigest()[:16]
