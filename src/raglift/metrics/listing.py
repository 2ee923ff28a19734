"""All available metrics as records, for `raglift metrics`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.registry import all_measures, measure_of
from raglift.utilities.display import printable

if TYPE_CHECKING:
    from raglift.metrics.measure import Measure


_DEPTHS = {"k": "@k", "tokens": "@tokens(n)", "calls": "@calls(n)", "all": "without a depth"}


@dataclass(frozen=True)
class MeasureEntry:
    """One measure, told."""

    name: str
    """In metric texts: `rr`."""
    title: str
    """In tables: `RR`."""
    mean_title: str
    """What its mean is called: `MRR`."""
    formula: str
    """The definition in one line."""
    source: str
    """The paper or tool that the definition is from."""
    settings: tuple[str, ...]
    """What it can be given, as `gain=linear|exponential`."""
    depths: tuple[str, ...]
    """At what it can be taken: `k`, `tokens`, `calls`, `all`."""
    aliases: tuple[str, ...]
    """Other names by which it is read."""
    profiles: tuple[str, ...]
    """The profiles that define it otherwise."""
    origin: str
    """Where a user's own comes from; empty for raglift's."""
    description: str
    """The definition in full."""

    @classmethod
    def of(cls, measure: Measure) -> MeasureEntry:
        """Return what there is to say of a measure."""
        profiles = tuple(profile for profile in PROFILES.values() if measure.name in profile.functions)
        return cls(
            name=measure.name,
            title=measure.title,
            mean_title=measure.mean_title or measure.title,
            formula=measure.formula,
            source=measure.source,
            settings=tuple(map(str, measure.parameters)),
            depths=measure.depths,
            aliases=measure.aliases,
            profiles=tuple(profile.name for profile in profiles),
            origin=measure.origin,
            description=printable(measure.description),
        )

    @property
    def heading(self) -> str:
        """Its name and its titles."""
        mean = f" (mean: {self.mean_title})" if self.mean_title != self.title else ""
        return f"{self.name}: {self.title}{mean}"

    @property
    def facts(self) -> tuple[str, ...]:
        """What else there is to say in short, a line each."""
        lines = (
            ("source", self.source),
            ("taken", ", ".join(_DEPTHS[depth] for depth in self.depths)),
            ("settings", "; ".join(self.settings)),
            ("also read as", ", ".join(self.aliases)),
            ("otherwise in", ", ".join(self.profiles)),
            ("from", self.origin),
        )
        return tuple(f"{name}: {printable(text)}" for name, text in lines if text)

    def __str__(self) -> str:
        return "\n".join([self.heading, "", self.description, "", *self.facts])


@dataclass(frozen=True)
class MeasureList:
    """All measures, told."""

    measures: tuple[MeasureEntry, ...]
    """raglift's own, then users'."""


def list_measures() -> MeasureList:
    """Return every measure that can be computed here; what installed packages offer is among them."""
    return MeasureList(tuple(map(MeasureEntry.of, all_measures())))


def show_measure(name: str) -> MeasureEntry:
    """Return one measure, by its name or an alias.

    Raises:
        ConfigurationError: there is none; the message names near ones.
    """
    return MeasureEntry.of(measure_of(name))
