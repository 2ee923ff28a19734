"""The bounds of a gate, parsed and checked."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from raglift.analysis.paired_statistics import is_bounded, is_quality
from raglift.errors import ConfigurationError
from raglift.metrics.parsing import parse
from raglift.metrics.registry import MEASURES
from raglift.types.metric import Metric
from raglift.utilities.display import printable, short_repr

LATENCIES = {"p50_latency": "p50", "p95_latency": "p95"}
"""Figures in seconds, and the field of a stage's latency that holds each."""
COUNTS = ("failures", "empty", "unlabelled")
"""Figures that count queries."""
_SECONDS = re.compile(r"\s*(?P<number>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>s|ms)?\s*")


@dataclass(frozen=True)
class Bound:
    """One figure that is asked for, and what it may not fall below or rise above."""

    name: str
    """As it was asked for, without spaces around it."""
    stage: str | None
    """The stage that was named; None for the last, or for all together."""
    figure: str
    """`p95_latency`, `failures`, …; of a metric its text."""
    metric: Metric | None
    """The metric; None for any other figure."""
    bound: float
    """In seconds for a latency."""
    is_minimum: bool


def bounds_of(
    minimum: Mapping[str, float | str] | None, maximum: Mapping[str, float | str] | None, stages: Sequence[str]
) -> tuple[Bound, ...]:
    """Return what is asked for, minima first, in the order given."""
    found: list[Bound] = []
    for argument, asked in (("minimum", minimum), ("maximum", maximum)):
        if asked is not None and not isinstance(asked, Mapping):
            raise ConfigurationError(
                f"{argument}: found a {type(asked).__name__}; expected a mapping, as {{'ndcg@10': 0.75}}"
            )
        for name, bound in (asked or {}).items():
            one = _bound(argument, name, bound, stages)
            same = [other.name for other in found if _identity(other) == _identity(one)]
            if same:
                raise ConfigurationError(
                    f"{argument}: found {short_repr(one.name)} beside {short_repr(same[0])}; expected one bound for it"
                )
            found.append(one)
    return tuple(found)


def compared_metrics(metrics: Sequence[Metric | str]) -> tuple[Metric, ...]:
    """Return the metrics that must not be worse than the baseline's."""
    given = [metrics] if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable) else list(metrics)
    found: dict[Metric, None] = {}
    for one in given:
        if isinstance(one, str) and ":" in one:
            raise ConfigurationError(
                f"no_regression: found {short_repr(one)}; expected a metric without a stage: runs are compared at "
                "their last"
            )
        metric = _parsed("no_regression", str(one))
        if not is_quality(metric):
            raise ConfigurationError(
                f"no_regression: found {metric}; expected a measure of quality, of which more is better, as ndcg@10"
            )
        if metric in found:
            raise ConfigurationError(f"no_regression: found {metric} twice; expected each metric once")
        found[metric] = None
    return tuple(found)


def checked_margin(margin: float, metrics: Sequence[Metric] = ()) -> float:
    """Return how large a drop may be."""
    is_number = isinstance(margin, (int, float)) and not isinstance(margin, bool)
    if not is_number or not math.isfinite(_as_float(margin)) or margin < 0.0:
        raise ConfigurationError(f"margin: found {short_repr(margin)}; expected a number of 0 or more, as 0.01")
    bounded = [metric for metric in metrics if is_bounded(metric)]
    if bounded and margin >= 1.0:
        raise ConfigurationError(
            f"margin: found {margin:g}; expected a share below 1, as 0.03 for 3 points: {bounded[0]} lies between 0 "
            "and 1, so no drop of it is larger, and the gate could never fail"
        )
    return float(margin)


def _identity(bound: Bound) -> tuple[str | None, str, bool]:
    return bound.stage, bound.figure, bound.is_minimum


def _bound(argument: str, name: str, bound: float | str, stages: Sequence[str]) -> Bound:
    if not isinstance(name, str):
        raise ConfigurationError(f"{argument}: found {short_repr(name)}; expected the name of a figure, as 'ndcg@10'")
    stage, figure = _stage_and_figure(argument, name.strip(), stages)
    where = f"{argument}: {printable(name.strip())}"
    if figure in LATENCIES or figure in COUNTS:
        if argument == "minimum":
            raise ConfigurationError(f"{where}: found it as a minimum; expected it as a maximum: less is better")
        if figure in COUNTS and figure != "empty" and stage is not None:
            raise ConfigurationError(f"{where}: found a stage; expected {figure} alone: it is of the whole run")
        value = _seconds(where, bound) if figure in LATENCIES else _count(where, bound)
        return Bound(name.strip(), stage, figure, None, value, is_minimum=False)
    metric = _parsed(argument, figure)
    value = _number(where, bound)
    if is_bounded(metric) and not 0.0 <= value <= 1.0:
        raise ConfigurationError(f"{where}: found {value:g}; expected a number from 0 to 1, as {metric} is")
    return Bound(name.strip(), stage, str(metric), metric, value, argument == "minimum")


def _stage_and_figure(argument: str, name: str, stages: Sequence[str]) -> tuple[str | None, str]:
    stage, colon, figure = name.rpartition(":")
    stage, figure = stage.strip(), figure.strip()
    if colon and stage not in stages:
        raise ConfigurationError(
            f"{argument}: found the stage {short_repr(stage)}; expected one of {', '.join(map(repr, stages))}"
        )
    return (stage if colon else None), figure


def _parsed(argument: str, text: str) -> Metric:
    try:
        metric = parse(text)
    except ConfigurationError as error:
        if argument == "no_regression":
            raise ConfigurationError(f"{argument}: {error}") from None
        figures = (*LATENCIES, *COUNTS)
        near = difflib.get_close_matches(text.lower(), figures, n=1)
        meant = f" (as a maximum, did you mean {near[0]!r}?)" if near else ""
        raise ConfigurationError(f"{argument}: {error}; or, as a maximum, one of {', '.join(figures)}{meant}") from None
    if metric.depth is None and MEASURES[metric.name].needs_k:
        raise ConfigurationError(f"{argument}: found {short_repr(text)}; expected a depth, as {metric.name}@10")
    return metric


def _number(where: str, bound: float | str) -> float:
    value = _as_float(bound)
    if not math.isfinite(value):
        raise ConfigurationError(f"{where}: found {short_repr(bound)}; expected a number, as 0.75")
    return value


def _as_float(bound: object) -> float:
    """Return a number; NaN if there is none, or none that a float can be."""
    try:
        return math.nan if isinstance(bound, bool) else float(bound)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _count(where: str, bound: float | str) -> float:
    value = _number(where, bound)
    if value < 0.0 or value != round(value):
        raise ConfigurationError(f"{where}: found {short_repr(bound)}; expected a number of questions, as 0")
    return value


def _seconds(where: str, bound: float | str) -> float:
    """Return seconds: a number is seconds, and so is a text without a unit."""
    found = _SECONDS.fullmatch(bound) if isinstance(bound, str) else None
    if isinstance(bound, str):
        try:
            value = float(found["number"]) / (1000.0 if found["unit"] == "ms" else 1.0) if found else math.nan
        except ValueError:
            value = math.nan
    else:
        value = _as_float(bound)
    if not math.isfinite(value) or value <= 0.0:
        raise ConfigurationError(f"{where}: found {short_repr(bound)}; expected seconds above 0, as 0.5s or 500ms")
    return value
