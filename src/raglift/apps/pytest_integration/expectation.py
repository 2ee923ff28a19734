"""What a marked test expects."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, Fault
from raglift.gating.bounds import LATENCIES, bounds_of, checked_margin, compared_metrics
from raglift.metrics.registry import MEASURES
from raglift.types.dataset import Dataset
from raglift.utilities.validation import nearest, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pytest

    from raglift.gating.bounds import Bound
    from raglift.types.metric import Metric


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
        bounds_failures = dict(self.maximum) != {"failures": 0}
        return bool(bounds_failures or self.minimum or self.per_query or self.has_baseline)

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
            expected = f"arguments by name: {', '.join(_KINDS)}"
            faults.append(Fault(f"{MARK}({shown(mark.args[0])})", "an argument without a name", expected))
        given = dict(mark.kwargs) | given
    for name, value in given.items():
        faults += _faults_of(name, value)
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


def _faults_of(name: str, value: Any) -> Iterator[Fault]:
    """Yield what is wrong with an argument of a mark; each bound and metric is read by itself."""
    where = f"{MARK}({name})"
    if name not in _KINDS:
        yield Fault(f"{MARK}({name}=…)", f"the argument {quoted(name)}", nearest(name, list(_KINDS)))
        return
    kinds, expected = _KINDS[name]
    if value is None and name in ("dataset", "per_query", "baseline"):
        return
    if not isinstance(value, kinds) or value == "":
        yield Fault(where, shown(value), expected)
    elif name == "margin":
        yield from _fault_in(where, checked_margin, value)
    elif isinstance(value, (list, tuple)):
        for number, metric in enumerate(value):
            yield from _fault_in(f"{where}[{number}]", _compared, [metric])
    elif isinstance(value, Mapping):
        for figure, bound in value.items():
            one = {figure: bound}
            minimum, maximum = ({}, one) if name == "max" else (one, {})
            yield from _fault_in(f"{where}[{shown(figure)}]", lambda pair: _bounds(*pair), (minimum, maximum))


def _fault_in(where: str, read: Callable[[Any], object], value: object) -> Iterator[Fault]:
    """Yield what a reader says of a value that it cannot read."""
    try:
        read(value)
    except ConfigurationError as error:
        # The reader says what it found and what it expected; the names of its arguments are not the mark's
        _, _, said = str(error).rpartition(": found ")
        found, _, expected = said.partition("; expected ")
        yield Fault(where, found, expected)


_BOUNDS = (Mapping,), 'figures and their bounds, as {"recall@5": 0.8}'
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "dataset": ((str, os.PathLike, Dataset), 'a path, the name of a corpus, as "lighthouse", or a Dataset'),
    "min": _BOUNDS,
    "max": _BOUNDS,
    "per_query": _BOUNDS,
    "baseline": ((str, os.PathLike), "the path of a folder, from the folder of the test's file"),
    "no_regression": ((list, tuple), 'a list of metrics, as ["ndcg@10"]'),
    "margin": ((object,), "a number"),
}
"""The type of each argument of a mark, and what is expected if it has another."""
ARGUMENTS = tuple(_KINDS)
"""What a mark takes, by name."""
