"""The measures that are known, by name: raglift's own, and users'."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.metrics import plugins
from raglift.metrics.built_in import BUILT_IN
from raglift.printable import short_repr

if TYPE_CHECKING:
    from raglift.metrics.measure import Measure

__all__ = ["ALIASES", "MEASURES", "all_measures", "measure_of", "register"]

MEASURES: dict[str, Measure] = {measure.name: measure for measure in BUILT_IN}
"""The measures, by name; what an installed package offers is among them once it was asked for."""
ALIASES: dict[str, str] = {alias: measure.name for measure in BUILT_IN for alias in measure.aliases}
"""Other names of raglift's own, and the names that they stand for."""


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


def all_measures() -> tuple[Measure, ...]:
    """Return every measure that can be computed here, those of installed packages too."""
    plugins.read(MEASURES)
    return tuple(measure for measure in MEASURES.values() if measure.is_installed)


def register(measure: Measure) -> None:
    """Add a user's measure.

    The same definition may come again, as when a notebook's cell is run anew.

    Raises:
        ConfigurationError: its name is taken.
    """
    if measure.name in ALIASES or (measure.name in MEASURES and not MEASURES[measure.name].origin):
        whose = repr(ALIASES.get(measure.name, measure.name))
        raise ConfigurationError(
            f"metric: found the name {measure.name!r}, by which raglift reads {whose}; choose another"
        )
    known = MEASURES.get(measure.name)
    if known is not None and known.is_installed and plugins.place_of(known.origin) != measure.origin:
        raise ConfigurationError(
            f"metric: found the name {measure.name!r} for {measure.origin}; expected another: it is taken by "
            f"{known.origin}"
        )
    MEASURES[measure.name] = measure
