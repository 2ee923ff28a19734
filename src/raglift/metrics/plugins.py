"""Measures of installed packages, by their entry points in the group `raglift.metrics`.

They are read when a name is asked for that nobody knows, or when all are listed, and never before: to look for entry
points takes longer than to import raglift.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.records import Metric

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from raglift.metrics.measure import Measure

__all__ = ["GROUP", "place_of", "read"]

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
