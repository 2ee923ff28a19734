"""The measures that are known, by name: raglift's own, and users'."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.metrics import plugins
from raglift.printable import short_repr

if TYPE_CHECKING:
    from raglift.metrics.measure import Measure
    from raglift.metrics.profiles import Function
    from raglift.records import Metric

__all__ = ["ALIASES", "MEASURES", "all_measures", "function_of", "measure_of", "register"]

MEASURES: dict[str, Measure] = {}
"""The measures, by name; what an installed package offers is among them once it was asked for."""
ALIASES: dict[str, str] = {}
"""Other names of measures, and the names that they stand for."""


def measure_of(given: str) -> Measure:
    """Return the measure of a name or an alias, in any letter case; installed packages are asked for an unknown one.

    Raises:
        ConfigurationError: there is none.
    """
    name = ALIASES.get(given.lower(), given.lower())
    if name not in MEASURES:
        plugins.read(MEASURES, name)
    if name not in MEASURES:
        near = difflib.get_close_matches(name, [*MEASURES, *ALIASES], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ConfigurationError(
            f"metric: found {short_repr(given)}{hint}; expected one of {', '.join([*MEASURES, 'mrr', 'map'])}"
        )
    return MEASURES[name]


def function_of(metric: Metric) -> Function:
    """Return the function that computes a measure by the default conventions, for those that build on it."""
    return MEASURES[metric.name].compute


def all_measures() -> tuple[Measure, ...]:
    """Return every measure that can be computed here, those of installed packages too."""
    plugins.read(MEASURES)
    return tuple(measure for measure in MEASURES.values() if measure.is_installed)


def register(measure: Measure) -> None:
    """Add a measure: raglift's own when their modules are imported, a user's when the decorator runs.

    The same definition may come again, as when a notebook's cell is run anew.

    Raises:
        ConfigurationError: its name, or another name by which it is to be read, is taken.
    """
    for name in (measure.name, *measure.aliases):
        whose = ALIASES.get(name, name)
        if whose in MEASURES and (whose != measure.name or not MEASURES[whose].origin):
            raise ConfigurationError(
                f"metric: found the name {name!r}, by which raglift reads {whose!r}; choose another"
            )
    known = MEASURES.get(measure.name)
    if known is not None and known.is_installed and plugins.place_of(known.origin) != measure.origin:
        raise ConfigurationError(
            f"metric: found the name {measure.name!r} for {measure.origin}; expected another: it is taken by "
            f"{known.origin}"
        )
    MEASURES[measure.name] = measure
    ALIASES.update(dict.fromkeys(measure.aliases, measure.name))
