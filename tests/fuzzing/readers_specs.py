"""What users write in one line: metrics, depths, retrievers, chunkers and bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from raglift.cli.gate import _bounds as read_bounds
from raglift.errors import ConfigurationError
from raglift.gating.bounds import bounds_of
from raglift.metrics.parsing import parse
from raglift.retrieval.chunkers import parse_chunker
from raglift.retrieval.retrievers import parse_retriever

from .reader import Reader

__all__ = ["READERS"]

_METRICS = (
    "ndcg@10",
    "recall@tokens(2000)",
    "rbp(p=0.95)@10",
    "err(gmax=4)@20",
)


def _each(read: Callable[[str], object]) -> Callable[[Path], list[object]]:
    """Return what reads each file of a folder as a notation; see `_written`."""

    def read_all(folder: Path) -> list[object]:
        # What no text holds comes from a shell as lone surrogates
        return [read(path.read_text("utf-8", "surrogateescape")) for path in sorted(folder.iterdir())]

    return read_all


def _written(*notations: str) -> Callable[[Path], None]:
    """Return what writes each notation into a file of its own: one is damaged at a time."""

    def write(folder: Path) -> None:
        for number, notation in enumerate(notations):
            (folder / f"{number}.txt").write_text(notation, encoding="utf-8")

    return write


def _back(read: Callable[[str], object], found: list[Any]) -> None:
    """Assert that the text of each value is read as that value, and is itself again."""
    for value in found:
        assert read(str(value)) == value
        assert str(read(str(value))) == str(value)
        assert len(str(value)) < 10_000


def _notation(name: str, read: Callable[[str], object], *notations: str, **options: Any) -> Reader:
    return Reader(f"notation: {name}", _written(*notations), _each(read), (ConfigurationError,), **options)


def _asked(text: str) -> object:
    return bounds_of(read_bounds("--min", (text,)), None, ("retrieve", "rerank"))


def _check_bounds(found: list[Any]) -> None:
    for bounds in found:
        for bound in bounds:
            assert abs(bound.bound) < float("inf")
            assert bound.metric is None or parse(bound.figure) == bound.metric


READERS: Sequence[Reader] = (
    _notation("metric", parse, *_METRICS, check=partial(_back, parse)),
    _notation(
        "retriever",
        parse_retriever,
        "hybrid(dense=0.7,bm25=0.3,constant=60)",
        "bm25",
        check=partial(_back, parse_retriever),
    ),
    _notation("chunker", parse_chunker, "recursive:1000/100", "token:250/125:tokens:cl100k_base"),
    _notation("bound, at least", _asked, "ndcg@10=0.75", "rerank:recall@5 = 0.5", check=_check_bounds),
)
"""All of the readers here."""
