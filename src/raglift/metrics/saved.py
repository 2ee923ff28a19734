"""Users' metrics in saved runs: what is said of them there, and what stands for one that is not installed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NoReturn

from raglift.errors import ConfigurationError
from raglift.metrics.custom import TITLE
from raglift.metrics.measure import Measure
from raglift.metrics.parsing import parse
from raglift.metrics.registry import MEASURES
from raglift.printable import printable

if TYPE_CHECKING:
    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["describe_own", "read_metric", "require_installed"]

_TEXTS = ("formula", "source", "origin")
_FLAGS = tuple(each.name for each in fields(Measure) if each.name.startswith(("is_", "needs_", "takes_")))
_UNKNOWN = "a function that is not known"


def describe_own(metrics: Iterable[Metric]) -> dict[str, dict[str, Any]]:
    """Return what is to be kept of users' measures beside their values, by name."""
    own = {metric.name: MEASURES[metric.name] for metric in metrics if MEASURES[metric.name].origin}
    kept = [name for name in ("title", "mean", *_TEXTS, *_FLAGS) if name != "is_installed"]
    return {name: {each: getattr(measure, each) for each in kept} for name, measure in own.items()}


def read_metric(text: str, own: Mapping[str, Any]) -> Metric:
    """Read the text of a metric that was scored; where its measure is not installed, what was kept stands for it.

    Args:
        text: the metric.
        own: what was kept of users' measures, by name.

    Raises:
        ConfigurationError: no such metric, and nothing was kept of it.
    """
    try:
        return parse(text)
    except ConfigurationError:
        name = text.partition("@")[0].partition("(")[0].strip()
        if name in MEASURES or not isinstance(own.get(name), Mapping):
            raise
        MEASURES[name] = _absent(name, own[name])
        return parse(text)


def require_installed(metrics: Iterable[Metric]) -> None:
    """Check that metrics can be computed here.

    Raises:
        ConfigurationError: one is a user's whose function is not here.
    """
    for metric in metrics:
        if not MEASURES[metric.name].is_installed:
            _refuse(metric)


def _absent(name: str, kept: Mapping[str, Any]) -> Measure:
    """Return a measure that has everything but its function; what was kept wrongly is left out."""
    title = kept.get("title")
    formula, source, origin = (printable(kept[each]) if isinstance(kept.get(each), str) else "" for each in _TEXTS)
    plain = Measure(
        name,
        title if isinstance(title, str) and TITLE.fullmatch(title) else name,
        formula,
        _cannot_be_computed,
        source,
        mean="geometric" if kept.get("mean") == "geometric" else "arithmetic",
        origin=origin or _UNKNOWN,
        is_installed=False,
    )
    flags: dict[str, Any] = {each: kept[each] for each in _FLAGS if isinstance(kept.get(each), bool)}
    return replace(plain, **flags | {"is_installed": False})


def _cannot_be_computed(_: Judgements, metric: Metric) -> NoReturn:
    _refuse(metric)


def _refuse(metric: Metric) -> NoReturn:
    raise ConfigurationError(
        f"{metric}: found a metric of a user's, {MEASURES[metric.name].origin}, that is not installed here; expected "
        "the package that offers it, or the module that makes it imported before: its saved values can be shown, but "
        "not computed again"
    )
