"""What a marked test expects."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.base.validation import nearest, quoted, shown
from raglift.errors import ConfigurationError, Fault
from raglift.gating.bounds import LATENCIES, bounds_of, checked_margin, compared_metrics
from raglift.metrics.registry import MEASURES
from raglift.records.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pytest

    from raglift.gating.bounds import Bound
    from raglift.records.metric import Metric


_UNSAFE = re.compile(r"[^\w.+=,-]+")
_LONGEST = 60


def safe_name(text: str) -> str:
    """Return a text as part of a node id or path: itself, or what is safe of it with a hash of the whole."""
    cleaned = _UNSAFE.sub("_", text)
    if cleaned == text and 0 < len(text) <= _LONGEST and text.strip("."):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{cleaned[:_LONGEST].strip('._')}-{digest}".lstrip("-")


# A test's expectations, as its mark `retrieval(…)` gives them.


MARK = "retrieval"
FIXTURE = "raglift_evaluate"


@dataclass(frozen=True)
class Expectation:
    """The arguments of a test's marks, the nearest mark first."""

    dataset: str | os.PathLike[str] | Dataset | None = None
    """The labelled set: a path, a name, or the set itself; None for the one of the setting."""
    minimum: Mapping[str, float] = field(default_factory=dict)
    """The least of each figure."""
    maximum: Mapping[str, float | str] = field(default_factory=dict)
    """The most of each figure; `failures` is 0 unless it is given."""
    per_query: Mapping[str, float] = field(default_factory=dict)
    """The least for every single query."""
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
    def each_query(self) -> tuple[Bound, ...]:
        """The least for every single query."""
        return _bounds(self.per_query, {})

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics that it speaks of, each once."""
        of_bounds = (bound.metric for bound in (*_bounds(self.minimum, self.maximum), *self.each_query))
        metrics = (metric for metric in of_bounds if metric is not None)
        return tuple(dict.fromkeys((*metrics, *_compared(self.no_regression))))

    @property
    def bounds_latency(self) -> bool:
        """Whether latency is to be measured."""
        return any(bound.figure in LATENCIES for bound in _bounds({}, self.maximum))


def _bounds(minimum: Mapping[str, float], maximum: Mapping[str, float | str]) -> tuple[Bound, ...]:
    """Return bounds, whatever their stages are called: which stages there are, the system will tell."""
    stages = {name.rpartition(":")[0].strip() for name in (*minimum, *maximum) if isinstance(name, str)}
    bounds = bounds_of(minimum, maximum, sorted(stages))
    _require_depths([bound.metric for bound in bounds if bound.metric is not None])
    return bounds


def _compared(names: Sequence[str]) -> tuple[Metric, ...]:
    metrics = compared_metrics(names)
    _require_depths(metrics)
    return metrics


def _require_depths(metrics: Sequence[Metric]) -> None:
    """Raise for a metric of the whole ranking, which no evaluation has."""
    for metric in metrics:
        if metric.depth is None and MEASURES[metric.name].takes_k:
            raise ConfigurationError(f"metric: found {metric}; expected a depth, as {MEASURES[metric.name].example}")


def expectation_of(marks: Iterable[pytest.Mark], where: str) -> Expectation:
    """Return the combined arguments of marks; arguments of a nearer mark override those of a farther one.

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
    if given.get("baseline") is not None and not given.get("no_regression"):
        faults.append(
            Fault(
                f"{MARK}(baseline)", "no metric to compare", 'one that may not get worse, as no_regression=["ndcg@10"]'
            )
        )
    if faults:
        raise ConfigurationError("\n".join([f"{where}: the mark cannot be used", *(f"  {fault}" for fault in faults)]))
    found = Expectation(
        given.get("dataset"),
        dict(given.get("min", {})),
        {"failures": 0} | dict(given.get("max", {})),
        dict(given.get("per_query") or {}),
        given.get("baseline"),
        tuple(map(str, given.get("no_regression", ()))),
        given.get("margin", 0.0),
    )
    try:
        _ = found.metrics  # all together, where two names may mean one figure
        checked_margin(found.margin, _compared(found.no_regression))
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: the mark cannot be used\n  {MARK}: {error}") from None
    return found


def _expected() -> str:
    return f"arguments by name: {', '.join(_CHECKS)}"


def _unknown(where: str, _value: object, faults: list[Fault]) -> None:
    name = where[len(MARK) + 1 : -1]
    faults.append(Fault(f"{MARK}({name}=…)", f"the argument {quoted(name)}", nearest(name, list(_CHECKS))))


def _check_dataset(where: str, value: object, faults: list[Fault]) -> None:
    if value is not None and not isinstance(value, (str, os.PathLike, Dataset)):
        faults.append(Fault(where, shown(value), 'a path, the name of a corpus, as "lighthouse", or a Dataset'))


def _check_minimum(where: str, value: object, faults: list[Fault]) -> None:
    _check_bounds(where, value, faults, lambda one: _bounds(one, {}))


def _check_maximum(where: str, value: object, faults: list[Fault]) -> None:
    _check_bounds(where, value, faults, lambda one: _bounds({}, one))


def _check_per_query(where: str, value: object, faults: list[Fault]) -> None:
    if value is not None:
        _check_minimum(where, value, faults)


def _check_bounds(where: str, value: object, faults: list[Fault], read: Callable[[dict[Any, Any]], object]) -> None:
    """Read each bound by itself, so that all that are wrong are told of."""
    if not isinstance(value, Mapping):
        faults.append(Fault(where, shown(value), 'figures and their bounds, as {"recall@5": 0.8}'))
        return
    for name, bound in value.items():
        _attempt(f"{where}[{shown(name)}]", faults, read, {name: bound})


def _check_baseline(where: str, value: object, faults: list[Fault]) -> None:
    if value is not None and not (isinstance(value, (str, os.PathLike)) and str(value)):
        faults.append(Fault(where, shown(value), "the path of a folder, from the folder of the test's file"))


def _check_no_regression(where: str, value: object, faults: list[Fault]) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        faults.append(Fault(where, shown(value), 'a list of metrics, as ["ndcg@10"]'))
        return
    for number, metric in enumerate(value):
        _attempt(f"{where}[{number}]", faults, _compared, [metric])


def _check_margin(where: str, value: Any, faults: list[Fault]) -> None:
    _attempt(where, faults, checked_margin, value)


def _attempt(where: str, faults: list[Fault], read: Callable[[Any], object], value: object) -> None:
    """Note what a reader says of a value that it cannot read."""
    try:
        read(value)
    except ConfigurationError as error:
        # The reader says what it found and what it expected; the names of its arguments are not the mark's
        _, _, said = str(error).rpartition(": found ")
        found, _, expected = said.partition("; expected ")
        faults.append(Fault(where, found, expected))


_CHECKS = {
    "dataset": _check_dataset,
    "min": _check_minimum,
    "max": _check_maximum,
    "per_query": _check_per_query,
    "baseline": _check_baseline,
    "no_regression": _check_no_regression,
    "margin": _check_margin,
}

ARGUMENTS = tuple(_CHECKS)
"""What a mark takes, by name."""
