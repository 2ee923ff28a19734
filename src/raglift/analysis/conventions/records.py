"""Results of `explain_metrics`: metrics of one query, and their means, under every profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from raglift.records.labels import PEOPLE

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records.labels import LabelSources, Query
    from raglift.records.metric import Metric
    from raglift.records.rankings import Hit


State = Literal["first", "again", "in part"]
"""What a match does to its fact: it is the first to satisfy it, comes later, or does not yet do."""


@dataclass(frozen=True)
class ProfileValue:
    """One metric under one profile."""

    profile: str
    """Its name; `default` for raglift's own."""
    value: float
    """The query's; NaN if it is left out of the mean."""
    mean: float
    """Over the queries that count; NaN when none does."""
    n: int
    """How many queries the mean is over."""
    agrees: bool
    """Whether the query's value is the default's."""
    mean_agrees: bool
    """Whether the mean is the default's."""
    why: str = ""
    """The sentences that explain the difference from the default; empty if the value agrees."""
    numbers: str = ""
    """How the value comes about: `2 relevant hits / 5 (k)`; empty if it cannot be said in few words."""


@dataclass(frozen=True)
class MetricUnderProfiles:
    """One metric under every profile."""

    metric: Metric
    """What was computed."""
    values: tuple[ProfileValue, ...]
    """One a profile, the default first."""

    @property
    def default(self) -> ProfileValue:
        """The value that the others are compared with."""
        return self.values[0]

    @property
    def differing(self) -> tuple[ProfileValue, ...]:
        """The values that are not the default's."""
        return tuple(value for value in self.values if not value.agrees)

    @property
    def means_agree(self) -> bool:
        """Whether all profiles give the same mean, over the same number of queries."""
        return all(value.mean_agrees for value in self.values)


@dataclass(frozen=True)
class RankedHit:
    """One hit, and what it does for the facts of the query."""

    hit: Hit
    """The hit."""
    facts: tuple[tuple[int, State], ...]
    """The facts that it matches, from 1, and what that does to each."""
    only_under: tuple[str, ...] = ()
    """The profiles under whose match rule alone it is relevant; none if all agree."""


@dataclass(frozen=True)
class Choice:
    """Why a query was chosen, where none was asked for."""

    metric: Metric | None
    """Whose values differ most; None if no query has any that differ."""
    low: str | None
    """The profile with the lowest value, …"""
    high: str | None
    """… and that with the highest."""
    lowest: float
    """The lowest value, …"""
    highest: float
    """… and the highest; NaN if the profile leaves the query out, which counts as 0."""
    others: tuple[str, ...]
    """The ids of the next queries in that order."""
    differing: int
    """How many queries have values that differ between profiles."""


@dataclass(frozen=True)
class MetricsExplanationRecord:
    """One query's metrics under every profile, next to the means of all queries."""

    query: Query
    """The query."""
    stage: str
    """The stage that it was looked at after."""
    match: str
    """The match rule."""
    profile: str
    """The profile that the run was scored by."""
    profiles: tuple[str, ...]
    """All profiles, the default first."""
    metrics: tuple[MetricUnderProfiles, ...]
    """Those that were asked for, or those of the run."""
    hits: tuple[RankedHit, ...]
    """The ranking, down to the deepest metric."""
    error: str | None = None
    """Why the query failed, if it did."""
    choice: Choice | None = None
    """Why this query; None if it was asked for."""
    queries: int = 0
    """How many labelled queries there are."""
    notes: tuple[str, ...] = ()
    """Notes for the reader."""
    label_sources: LabelSources = PEOPLE
    """Who gave the labels of all queries."""

    def of(self, metric: Metric | str, profile: str = "default") -> ProfileValue:
        """Return one metric under one profile.

        Raises:
            ConfigurationError: the metric or the profile is not among them.
        """
        from raglift.errors import ConfigurationError
        from raglift.metrics.parsing import as_metric

        wanted = as_metric(metric)
        found = next((each for each in self.metrics if each.metric == wanted), None)
        if found is None:
            known = ", ".join(str(each.metric) for each in self.metrics)
            raise ConfigurationError(f"metric: found {wanted}, which was not looked at; expected one of {known}")
        if profile not in self.profiles:
            raise ConfigurationError(f"profile: found {profile!r}; expected one of {', '.join(self.profiles)}")
        return found.values[self.profiles.index(profile)]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric and profile: the query's value, the mean and its n, and why the value differs."""
        import pandas as pd

        rows = [
            (str(each.metric), one.profile, one.value, one.mean, one.n, one.agrees, one.why, one.numbers)
            for each in self.metrics
            for one in each.values
        ]
        names = ["metric", "profile", "value", "mean", "n", "agrees", "why", "numbers"]
        return pd.DataFrame(rows, columns=names)
