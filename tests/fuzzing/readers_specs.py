"""What users write in one line: metrics, depths, retrievers, chunkers and bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from raglift.cli.choices import separate
from raglift.cli.evaluate import depths
from raglift.cli.gate import _bounds as read_bounds
from raglift.components.chunkers import parse_chunker
from raglift.components.retrievers import parse_retriever
from raglift.errors import ConfigurationError
from raglift.gating.bounds import bounds_of, checked_margin, compared_metrics
from raglift.matching.rule import MatchRule
from raglift.metrics.parsing import parse, split_metrics

from .reader import Reader

__all__ = ["READERS"]

_METRICS = (
    "ndcg@10",
    "recall@tokens(2000)",
    "rbp(p=0.95)@10",
    "NDCG(gain=exponential)@5",
    "mrr",
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


def _metrics(text: str) -> list[object]:
    return [parse(part) for part in split_metrics(text)]


def _check_depths(found: list[Any]) -> None:
    for ks in found:
        assert ks
        assert _depths(",".join(map(str, ks))) == ks


def _depths(text: str) -> object:
    return depths(separate([text]))


def _asked(text: str) -> object:
    return bounds_of(read_bounds("--min", (text,)), None, ("retrieve", "rerank"))


def _asked_at_most(text: str) -> object:
    return bounds_of(None, read_bounds("--max", (text,)), ("retrieve", "rerank"))


def _check_bounds(found: list[Any]) -> None:
    for bounds in found:
        for bound in bounds:
            assert abs(bound.bound) < float("inf")
            assert bound.metric is None or parse(bound.figure) == bound.metric


def _of_json(read: Callable[[Mapping[str, Any]], object], folder: Path) -> object:
    """Read options as a program passes them on that has them from JSON: of any type."""
    try:
        given = json.loads((folder / "options.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        raise ConfigurationError("options: found what is not JSON; expected it") from None
    if not isinstance(given, dict):
        raise ConfigurationError("options: found no object; expected one")
    return read(given)


def _options(name: str, read: Callable[[Mapping[str, Any]], object], **written: Any) -> Reader:
    def write(folder: Path) -> None:
        (folder / "options.json").write_text(json.dumps(written), encoding="utf-8")

    return Reader(f"options: {name}", write, partial(_of_json, read), (ConfigurationError,))


def _gate(given: Mapping[str, Any]) -> object:
    bounds = bounds_of(given.get("minimum"), given.get("maximum"), ("retrieve", "rerank"))
    metrics = compared_metrics(given.get("no_regression", ()))
    return bounds, metrics, checked_margin(given.get("margin", 0.0), metrics)


def _rule(given: Mapping[str, Any]) -> object:
    names = ("mode", "minimum_length", "unicode_folding", "threshold")
    return str(MatchRule(**{name: given[name] for name in names if name in given}))


READERS: Sequence[Reader] = (
    _notation("metric", parse, *_METRICS, check=partial(_back, parse)),
    _notation("metrics", _metrics, ", ".join(_METRICS)),
    _notation("depths", _depths, "1,3,5", "10, tokens(2000)", check=_check_depths),
    _notation(
        "retriever",
        parse_retriever,
        "hybrid(dense=0.7,bm25=0.3,constant=60)",
        "bm25",
        check=partial(_back, parse_retriever),
    ),
    _notation("chunker", parse_chunker, "recursive:1000/100", "token:250/125:tokens:cl100k_base"),
    _notation("bound, at least", _asked, "ndcg@10=0.75", "rerank:recall@5 = 0.5", check=_check_bounds),
    _notation("bound, at most", _asked_at_most, "p95_latency=500ms", "retrieve:empty=3", check=_check_bounds),
    _options(
        "gate",
        _gate,
        minimum={"ndcg@10": 0.75, "rerank:recall@5": "0.5"},
        maximum={"failures": 0, "p95_latency": "0.5s", "p50_latency": 0.2},
        no_regression=["ndcg@10", "recall@5"],
        margin=0.01,
    ),
    _options("match", _rule, mode="fuzzy", threshold=0.8, unicode_folding=True, minimum_length=10),
)
"""All of the readers here."""
