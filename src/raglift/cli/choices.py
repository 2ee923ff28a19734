"""Options of fixed choices or of several values: how help lists them, and what a shell completes.

The choices stand here so that help and completion import nothing of what measures; tests hold them to the library's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

PROFILES = ("default", "tutorial", "autorag", "trec", "llamaindex", "ragas")
MATCH_RULES = ("containment", "coverage", "fuzzy")
RETRIEVERS = ("dense", "bm25", "hybrid")
EMBEDDINGS = ("minilm", "minilm-static")
RERANKERS = ("late-interaction", "none")
CHUNKERS = ("recursive:", "token:")
DEVICES = ("auto", "cpu", "cuda", "cuda:1", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")
WRITTEN_FORMATS = ("jsonl", "beir")
DATASET_FORMATS = (
    *("jsonl", "beir", "trec", "autorag", "llama-index", "hf", "ir"),
    *("rows", "squad", "ragas", "langsmith", "deepeval", "langfuse"),
)
RANKING_FORMATS = ("trec", "jsonl", "parquet")
EXPORT_FORMATS = ("trec", "parquet")
REPORT_FORMATS = ("html", "markdown", "csv", "parquet")
GATED_FIGURES = ("p50_latency", "p95_latency", "failures", "empty", "unlabelled")
TRACKERS = ("mlflow", "wandb")
ESTIMANDS = ("these-queries", "population")
QUESTION_STYLES = ("natural", "keyword", "multi", "unanswerable")

_BETWEEN = re.compile(r",(?![^()\[\]{}]*[)\]}])")
"""A comma that is not in brackets, as the one of `hybrid(dense=0.7,bm25=0.3)` is."""


def choice(
    names: Sequence[str | int],
    *declarations: str,
    help: str | None = None,  # noqa: A002 — what typer calls it
) -> Any:
    """Return an option of fixed choices, which help lists and a shell completes.

    A value that is none of them is refused by the library, which suggests the nearest name.
    """
    metavar = f"[{'|'.join(map(str, names))}]"
    return typer.Option(*declarations, metavar=metavar, autocompletion=completion(map(str, names)), help=help)


def completion(names: Iterable[str] | Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what completes one of some names, also the last one of a list with commas."""
    fixed = None if callable(names) else tuple(names)

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        known = names() if callable(names) else fixed or ()
        return [f"{before}{comma}{name}" for name in known if name.startswith(begun)]

    return complete


def corpus_names() -> list[str]:
    """Return the names of the bundled corpora."""
    from raglift.datasets.corpora.catalogue import known_corpora

    return [corpus.name for corpus in known_corpora()]


def metric_names() -> list[str]:
    """Return the names of all metrics, without depths."""
    from raglift.metrics.listing import list_measures

    return [measure.name for measure in list_measures().measures]


def separate(values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of an option that is given again for each, or once with commas, or both.

    A value without any part, as `","`, stays as it is, for an error to quote it.
    """
    found = []
    for value in values:
        parts = [part.strip() for part in _BETWEEN.split(value)]
        found += [part for part in parts if part] or [value]
    return tuple(found)


Several = Annotated[tuple[str, ...], separate]
"""Texts that are given with commas, again and again, or both."""


def separate_named(values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of an option of the form `NAME=VALUE`, whose values may hold commas themselves."""
    found: list[str] = []
    for value in values:
        found += re.split(r",\s*(?=\w+\s*=)", value)
    return tuple(found)


def separate_paths(values: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths of an option; one that exists is not divided at a comma of its name."""
    from raglift.utilities.limits import is_there

    found: list[Path] = []
    for value in values:
        is_one = "," not in str(value) or is_there(value)
        found += [value] if is_one else map(Path, separate([str(value)]))
    return tuple(found)
