"""The registry of measures."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.types.metric import Metric
from raglift.utilities.display import short_repr
from raglift.utilities.functions import code_digest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from raglift.metrics.measure import Measure
    from raglift.metrics.profiles.hits import Function


# Measures of installed packages, by their entry points in the group `raglift.metrics`. Entry points are read only when
# an unknown name is looked up or all measures are listed, because reading them takes longer than importing raglift.


GROUP = "raglift.metrics"
"""The group of entry points."""
_PACKAGE_ENDS = ": "
_tried: set[EntryPoint] = set()
"""Each is loaded once; what fails is told of once."""


def read(measures: dict[str, Measure], name: str | None = None) -> None:
    """Load what installed packages offer, which registers their measures; what fails to load is warned of.

    Args:
        measures: the measures that are known, to which they are added.
        name: the one that is wanted. Its own entry point is loaded first, and the others only where that is not
            enough. None for all.
    """
    from importlib.metadata import entry_points

    offered = sorted(entry_points(group=GROUP), key=lambda entry: entry.name.lower() != name)
    for entry in offered:
        if name in measures:
            return
        if entry not in _tried:
            _tried.add(entry)
            _load(entry, measures)


def place_of(origin: str) -> str:
    """Return the function that an origin names, without its package."""
    return origin.rpartition(_PACKAGE_ENDS)[2]


def _load(entry: EntryPoint, measures: dict[str, Measure]) -> None:
    before = set(measures)
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever a stranger's module does, raglift goes on
        _warn(entry, f"it cannot be loaded: {type(error).__name__}: {error}")
        return
    named = {found.name} if isinstance(found, Metric) else set()
    new = (set(measures) - before) | (named & set(measures))
    if not new:
        _warn(entry, f"found a {type(found).__name__}; expected what the decorator raglift.metrics.metric returns")
    for name in new:
        measure = measures[name]
        if entry.dist is not None and measure.origin and _PACKAGE_ENDS not in measure.origin:
            package = f"{entry.dist.name} {entry.dist.version}"
            measures[name] = replace(measure, origin=f"{package}{_PACKAGE_ENDS}{measure.origin}")


def _warn(entry: EntryPoint, what: str) -> None:
    package = "" if entry.dist is None else f" of {entry.dist.name} {entry.dist.version}"
    warnings.warn(f"the metric {entry.name!r}{package} ({entry.value}) is left out: {what}", stacklevel=2)


# The registered measures by name: built-in and users'.


MEASURES: dict[str, Measure] = {}
"""The measures, by name; what an installed package offers is among them once it was asked for."""
ALIASES: dict[str, str] = {}
"""Other names of measures, and the names that they stand for."""


def measure_of(name: str) -> Measure:
    """Return the measure of a name or an alias, in any letter case; installed packages are asked for an unknown one.

    Raises:
        ConfigurationError: there is none.
    """
    key = ALIASES.get(name.lower(), name.lower())
    if key not in MEASURES:
        read(MEASURES, key)
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
    """Return what tells whether a user's measure computes the same as before; None for one of raglift's.

    Raises:
        ConfigurationError: there is no such measure.
    """
    measure = measure_of(metric.name)
    if not measure.origin:
        return None
    function = getattr(measure.compute, "__wrapped__", measure.compute)  # the user's, behind what checks its values
    kind = (measure.mean, *map(repr, measure.parameters), measure.takes_k, measure.needs_k, measure.is_earned)
    return f"{code_digest(function)} {kind}"


def all_measures() -> tuple[Measure, ...]:
    """Return every measure that can be computed here, those of installed packages too."""
    read(MEASURES)
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
    if known is not None and known.is_installed and place_of(known.origin) != measure.origin:
        raise ConfigurationError(
            f"metric: found the name {measure.name!r} for {measure.origin}; expected another: it is taken by "
            f"{known.origin}"
        )
    MEASURES[measure.name] = measure
    ALIASES.update(dict.fromkeys(measure.aliases, measure.name))
