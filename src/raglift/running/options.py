"""The options of an evaluation, and the recorded environment: machine and versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from raglift.adapters.base import packages
from raglift.adapters.stages import Policy
from raglift.errors import ConfigurationError
from raglift.metrics.computing import DEFAULT_METRICS, names_of
from raglift.running.model_calls import CallLimits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raglift.components.devices import Dtype
    from raglift.records.dataset import Dataset
    from raglift.records.metric import Metric


# The environment of a run: the machine, and the versions of the packages that affect its figures.


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


# The settings of `evaluate()`: their defaults and validation.


DEPTHS = ("deployed", "deep")
"""How many hits a system is asked for: as its own settings say, or as many as there are candidates."""
DEFAULT_CANDIDATES = 50
"""How many hits are retrieved for a reranker unless another number is asked for."""
DEFAULT_KS = (1, 3, 5, 10)
"""The depths at which metrics are taken unless others are asked for."""


ARGUMENTS = ("reranker", "ks", "candidates", "match", "profile")
"""The settings of `evaluate` besides `Options`."""


class Options(TypedDict, total=False):
    """The less common settings of `evaluate`, all optional."""

    metrics: Sequence[Metric | str]
    """Measures to take, at each of `ks` where they name no depth of their own; a measure that divides by k is
    taken at a token budget in none of them. What is named here is shown everywhere, also at other depths."""
    chunks: Sequence[Any] | None
    """All chunks of the index, as Chunks, LangChain documents, LlamaIndex nodes or texts, for a system that does not
    tell them: then the evaluation knows which facts the chunks allow at all."""
    exact: bool | None
    """Whether to search exactly too, over the same vectors, and so tell what an approximate or compressed index loses:
    True also for a vector store of yours, whose vectors are read out, or else its chunks embedded again by its own
    embedding model; None (default) for raglift's own indexes alone; False for none."""
    depth: Literal["deployed", "deep"]
    """`deployed` (default) asks every part with its own settings, and gives no figures deeper than it returns; `deep`
    asks for `candidates` hits, and keeps to the deployed ones where the first hits would be others."""
    budget: int | None
    """How many tokens of hits a prompt has, as 2000: the system is then asked for as many hits as fill it, where its
    depth can be raised, and `recall_area` and `prompt_recall` are taken at it. Default: none, as deployed."""
    k: int | None
    """How many hits a system is asked for that takes the number as an argument. Default: 10, or the deepest of `ks`."""
    doc_key: str | None
    """The metadata key of the hits that holds the ids of the dataset's documents."""
    dtype: Dtype
    """What a reranker given by name computes in."""
    device: str
    """Where it computes: `auto` (default, the best that is there), `cpu`, `cuda`, `cuda:1` or `mps`."""
    batch_tokens: int | None
    """How many tokens a batch of it may hold, padding included. Default: what the device's memory allows."""
    concurrency: int
    """How many queries may be under way at once, for systems that take one query at a time. Default 1."""
    timeout: float | None
    """The most seconds for one query. Default: no limit."""
    retries: int
    """How often a call that failed for a passing reason is made again. Default 2."""
    on_error: Literal["keep", "raise"]
    """`keep` (default) counts a failed query as 0, and raises only where every query failed; `raise` stops at the
    first."""
    progress: bool | None
    """Show progress: True, False, or None (default) for when standard error is a terminal."""
    answers: str | os.PathLike[str] | None
    """A folder in which each answer of the system is kept as it comes: a run that was stopped or killed asks for the
    others alone when it is given the same folder again. Remove it when the evaluation is saved."""
    version: str | None
    """What stands for your system as it is now and for no other, as a commit's hash: its answers are then kept in the
    cache, and no later run asks for them again."""
    repeats: int
    """How often an agent is asked each query, as it may search otherwise each time: a query's value is the mean over
    its runs. Default 1, and always 1 for a system that is asked once."""
    latency: int | None
    """Over how many queries to measure latency, each alone and without the cache, after the run; 50 is usual. Every
    model is asked (and a provider paid) again. 0 or None (default) for none."""
    max_model_calls: int | None
    """The most calls of language models, and of embedding models that need a key, as far as the system's framework
    tells of them. Where the first query shows that all would exceed it, no second one is asked. Default: no limit."""
    max_cost: float | None
    """The same in US dollars, for models whose price is known. Default: no limit."""
    price: tuple[float, float] | None
    """US dollars per million input and output tokens of language models. Default: OpenAI's list prices."""


@dataclass(frozen=True)
class Config:
    """`Options` with their defaults."""

    metrics: Sequence[Metric | str] = DEFAULT_METRICS
    chunks: Sequence[Any] | None = None
    exact: bool | None = None
    depth: Literal["deployed", "deep"] = "deployed"
    budget: int | None = None
    k: int | None = None
    doc_key: str | None = None
    dtype: Dtype = "auto"
    device: str = "auto"
    batch_tokens: int | None = None
    concurrency: int = 1
    timeout: float | None = None
    retries: int = 2
    on_error: Literal["keep", "raise"] = "keep"
    progress: bool | None = None
    answers: str | os.PathLike[str] | None = None
    version: str | None = None
    repeats: int = 1
    latency: int | None = None
    max_model_calls: int | None = None
    max_cost: float | None = None
    price: tuple[float, float] | None = None

    @classmethod
    def of(cls, options: Options) -> Config:
        """Return the options, with the defaults of those that are not given.

        Raises:
            ConfigurationError: an option that does not exist.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            expected = ", ".join((*ARGUMENTS, *known))
            raise ConfigurationError(f"evaluate: found the option {unknown[0]!r}; expected one of {expected}")
        config = cls(**options)
        if config.depth not in DEPTHS:
            raise ConfigurationError(f"depth: found {config.depth!r}; expected one of {', '.join(map(repr, DEPTHS))}")
        for name in ("k", "budget"):
            if getattr(config, name) is not None:
                positive(name, getattr(config, name))
        if config.exact not in (True, False, None):
            raise ConfigurationError(f"exact: found {config.exact!r}; expected True, False or None")
        positive("repeats", config.repeats)
        _ = config.call_limits
        if config.answers is not None and not isinstance(config.answers, (str, os.PathLike)):
            raise ConfigurationError(f"answers: found {config.answers!r}; expected the path of a folder")
        if config.version is not None and (not isinstance(config.version, str) or not config.version.strip()):
            raise ConfigurationError(f"version: found {config.version!r}; expected a text, as a commit's hash")
        return config

    @property
    def policy(self) -> Policy:
        """How the system is asked."""
        return Policy(self.concurrency, self.timeout, self.retries, self.on_error, self.progress)

    @property
    def call_limits(self) -> CallLimits:
        """How much the system may call models."""
        return CallLimits(self.max_model_calls, self.max_cost, self.price)


def positive(name: str, value: object) -> int:
    """Return an integer of 1 or more.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ConfigurationError(f"{name}: found {value!r}; expected an integer, 1 or more")
    return int(value)


# The recorded settings of a run.


def named_in_spec(names: Sequence[str]) -> dict[str, Any]:
    """Return what a run's spec says of the metrics that were asked for by name: nothing of the default ones."""
    return {"metrics": list(names)} if names else {}


def spec_of(dataset: Dataset, config: Config) -> dict[str, Any]:
    """Return what was asked of the system, and where; never what could be secret."""
    return {
        "depth": config.depth,
        **({} if config.budget is None else {"budget": config.budget}),
        "doc_key": config.doc_key,
        **named_in_spec(names_of(config.metrics)),
        "dtype": config.dtype,
        "device": config.device,
        "batch_tokens": config.batch_tokens,
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
    for query in dataset.queries:
        if query.filter is not None:
            digest.update(repr((query.id, query.filter)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
