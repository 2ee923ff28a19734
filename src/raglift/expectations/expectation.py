"""What a test expects, as its mark `retrieval(…)` says it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

from raglift.dataset.faults import nearest, quoted, shown
from raglift.errors import ConfigurationError, Fault
from raglift.records import Dataset, as_metric

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from raglift.records import Metric

__all__ = ["MARK", "Expectation", "expectation_of", "stage_and_metric"]

MARK = "retrieval"
_FIGURES = ("failures", "p50_latency", "p95_latency")
_FIRST_HITS = {"hit_rate@10": 1.0}


@dataclass(frozen=True)
class Expectation:
    """The arguments of a test's marks, the nearest mark first."""

    dataset: str | os.PathLike[str] | Dataset | None = None
    """The labelled set: a path, a name, or the set itself; None for the one of the setting."""
    minimum: Mapping[str, float] = field(default_factory=dict)
    """The least of each figure."""
    maximum: Mapping[str, float | str] = field(default_factory=dict)
    """The most of each figure; `failures` is 0 unless it is given."""
    per_query: Mapping[str, float] | None = None
    """The least for every single query; None: with an item for each query, a relevant hit among the first ten."""
    baseline: str | os.PathLike[str] | None = None
    """Where the evaluation is saved that no metric may be worse than; None for a folder named as the test."""
    no_regression: tuple[str, ...] = ()
    """The metrics that may not get worse."""
    margin: float = 0.0
    """How large a drop may be before it counts."""

    @property
    def has_bounds(self) -> bool:
        """Whether its test would be pointless without an evaluation."""
        given = dict(self.maximum) != {"failures": 0}
        return bool(given or self.minimum or self.per_query or self.has_baseline)

    @property
    def has_baseline(self) -> bool:
        """Whether it compares with a saved evaluation."""
        return self.baseline is not None or bool(self.no_regression)

    @property
    def each_query(self) -> Mapping[str, float]:
        """The least for a query that is an item of its own."""
        return _FIRST_HITS if self.per_query is None else self.per_query

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics that it speaks of, each once."""
        named = [*self.minimum, *self.maximum, *self.each_query, *self.no_regression]
        return tuple(dict.fromkeys(stage_and_metric(name)[1] for name in named if name not in _FIGURES))

    @property
    def bounds_latency(self) -> bool:
        """Whether latency is to be measured."""
        return any(name.endswith("_latency") for name in self.maximum)


def stage_and_metric(name: str) -> tuple[str | None, Metric]:
    """Return the stage and the metric that a name as `retrieve:recall@50` means; no stage for the last one.

    Raises:
        ConfigurationError: there is no such metric.
    """
    stage, separator, metric = name.rpartition(":")
    return (stage if separator else None), as_metric(metric)


def expectation_of(marks: Iterable[pytest.Mark], where: str) -> Expectation:
    """Return what marks say together; an argument of a nearer mark stands in place of that of a farther one.

    Args:
        marks: nearest first, as pytest's `iter_markers` yields them.
        where: the test, for messages.

    Raises:
        ConfigurationError: arguments that do not exist, or cannot be used; all of them at once.
    """
    given: dict[str, Any] = {}
    faults: list[Fault] = []
    for mark in marks:
        if mark.args:
            faults.append(Fault(f"{MARK}({shown(mark.args[0])})", "an argument without a name", _expected()))
        given = dict(mark.kwargs) | given
    for name, value in given.items():
        _CHECKS.get(name, _unknown)(f"{MARK}({name})", value, faults)
    if faults:
        raise ConfigurationError("\n".join([f"{where}: the mark cannot be used", *(f"  {fault}" for fault in faults)]))
    return Expectation(
        given.get("dataset"),
        dict(given.get("min", {})),
        {"failures": 0} | dict(given.get("max", {})),
        None if given.get("per_query") is None else dict(given["per_query"]),
        given.get("baseline"),
        tuple(map(str, given.get("no_regression", ()))),
        given.get("margin", 0.0),
    )


def _expected() -> str:
    return f"arguments by name: {', '.join(_CHECKS)}"


def _unknown(where: str, _value: object, faults: list[Fault]) -> None:
    name = where[len(MARK) + 1 : -1]
    faults.append(Fault(f"{MARK}({name}=…)", f"the argument {quoted(name)}", nearest(name, list(_CHECKS))))


def _check_dataset(where: str, value: object, faults: list[Fault]) -> None:
    if value is not None and not isinstance(value, (str, os.PathLike, Dataset)):
        faults.append(Fault(where, shown(value), 'a path, the name of a corpus, as "lighthouse", or a Dataset'))


def _check_minimum(where: str, value: object, faults: list[Fault]) -> None:
    if not isinstance(value, Mapping):
        faults.append(Fault(where, shown(value), 'a metric and its bound, as {"recall@5": 0.8}'))
        return
    for name, bound in value.items():
        _check_metric(f"{where}[{shown(name)}]", name, faults)
        _check_number(f"{where}[{shown(name)}]", bound, faults)


def _check_maximum(where: str, value: object, faults: list[Fault]) -> None:
    if not isinstance(value, Mapping):
        faults.append(Fault(where, shown(value), 'a figure and its bound, as {"failures": 2}'))
        return
    for name, bound in value.items():
        place = f"{where}[{shown(name)}]"
        if name not in _FIGURES:
            _check_metric(place, name, faults)
        if not (isinstance(bound, str) and str(name).endswith("_latency")):
            _check_number(place, bound, faults)


def _check_per_query(where: str, value: object, faults: list[Fault]) -> None:
    if value is not None:
        _check_minimum(where, value, faults)


def _check_baseline(where: str, value: object, faults: list[Fault]) -> None:
    if value is not None and not (isinstance(value, (str, os.PathLike)) and str(value)):
        faults.append(Fault(where, shown(value), "the path of a folder, from the folder of the test's file"))


def _check_no_regression(where: str, value: object, faults: list[Fault]) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        faults.append(Fault(where, shown(value), 'a list of metrics, as ["ndcg@10"]'))
        return
    for number, metric in enumerate(value):
        _check_metric(f"{where}[{number}]", metric, faults)


def _check_margin(where: str, value: object, faults: list[Fault]) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < math.inf:
        faults.append(Fault(where, shown(value), "a number, 0 or more"))


def _check_metric(where: str, name: object, faults: list[Fault]) -> None:
    try:
        stage_and_metric(str(name))
    except ConfigurationError as error:
        faults.append(Fault(where, shown(name), f"a metric: {error}"))


def _check_number(where: str, bound: object, faults: list[Fault]) -> None:
    if not isinstance(bound, Real) or isinstance(bound, bool) or not math.isfinite(bound):
        faults.append(Fault(where, shown(bound), "a number"))


_CHECKS = {
    "dataset": _check_dataset,
    "min": _check_minimum,
    "max": _check_maximum,
    "per_query": _check_per_query,
    "baseline": _check_baseline,
    "no_regression": _check_no_regression,
    "margin": _check_margin,
}
