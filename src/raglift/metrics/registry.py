"""The registry of measures."""

from __future__ import annotations

import difflib
import hashlib
import inspect
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.types.metric import Metric
from raglift.utilities.display import short_repr
from raglift.utilities.functions import settings_of
from raglift.utilities.plugins import installed, leave_out

if TYPE_CHECKING:
    from raglift.metrics.measure import Measure
    from raglift.metrics.profiles.hits import Function


_GROUP = "raglift.metrics"
"""Of the entry points of installed packages, read only when an unknown name is looked up or all are listed."""


# The registered measures by name: built-in and users'.


MEASURES: dict[str, Measure] = {}
"""The measures, by name; what an installed package offers is among them once it was asked for."""
_DIGITS = 16
ALIASES: dict[str, str] = {}
"""Other names of measures, and the names that they stand for."""


def measure_of(name: str) -> Measure:
    """Return the measure of a name or an alias, in any letter case; installed packages are asked for an unknown one."""
    key = ALIASES.get(name.lower(), name.lower())
    if key not in MEASURES:
        _register_installed()
    if key not in MEASURES:
        near = difflib.get_close_matches(key, [*MEASURES, *ALIASES], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ConfigurationError(
            f"metric: found {short_repr(name)}{hint}; expected one of {', '.join([*MEASURES, 'mrr', 'map'])}"
        )
    return MEASURES[key]


def function_of(metric: Metric) -> Function:
    """Return the function that computes a measure by the default conventions, for those that build on it."""
    return MEASURES[metric.name].compute


def code_of(metric: Metric) -> str | None:
    """Return what tells whether the source of a user's measure has changed; None for one of raglift's.

    Raises:
        ConfigurationError: there is no such measure.
    """
    measure = measure_of(metric.name)
    if not measure.origin:
        return None
    function: Any = getattr(measure.compute, "__wrapped__", measure.compute)  # behind what checks its values
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt, or an object that can be called
        source = measure.origin
    text = f"{source} {settings_of(function)} {measure.parameters}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def all_measures() -> tuple[Measure, ...]:
    """Return every measure that can be computed here, those of installed packages too."""
    _register_installed()
    return tuple(measure for measure in MEASURES.values() if measure.is_installed)


def _register_installed() -> None:
    """Import the measures of installed packages, which registers them; warn of what is none."""
    for name, found in installed(_GROUP).items():
        if not isinstance(found, Metric):
            leave_out(name, f"found a {type(found).__name__}; expected what @raglift.metrics.metric returns")


def register(measure: Measure) -> None:
    """Add a measure: raglift's own when their modules are imported, a user's when the decorator runs.

    The same definition may come again, as when a notebook's cell is run anew.
    """
    for name in (measure.name, *measure.aliases):
        whose = ALIASES.get(name, name)
        if whose in MEASURES and (whose != measure.name or not MEASURES[whose].origin):
            raise ConfigurationError(
                f"metric: found the name {name!r}, by which raglift reads {whose!r}; choose another"
            )
    known = MEASURES.get(measure.name)
    if known is not None and known.is_installed and known.origin != measure.origin:
        raise ConfigurationError(
            f"metric: found the name {measure.name!r} for {measure.origin}; expected another: it is taken by "
            f"{known.origin}"
        )
    MEASURES[measure.name] = measure
    ALIASES.update(dict.fromkeys(measure.aliases, measure.name))
