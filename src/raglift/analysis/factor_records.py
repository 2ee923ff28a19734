"""What the parts of a sweep's cells do, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.analysis.frames import effects_frame
from raglift.errors import ConfigurationError
from raglift.records.labels import PEOPLE, LabelSources
from raglift.rendering.presenting import Presentable

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.records import Method
    from raglift.records.metric import Metric


@dataclass(frozen=True)
class LevelDifference:
    """Two levels of one factor, over all cells that differ in it alone."""

    factor: str
    """The part of a cell that differs: `chunker`, `embedding`, `retriever`, `reranker` or `system`."""
    level: str
    """What is better where the difference is above 0."""
    other: str
    """What it is compared with."""
    mean: float
    """The mean difference over queries and matched cells, in the unit of the primary metric."""
    low: float
    """The lower bound; all intervals of a factor hold at once. NaN if the difference is the same for all queries."""
    high: float
    """The upper bound."""
    p: float
    """Corrected over all pairs of levels of the factor."""
    contexts: int
    """How many combinations of the other parts both levels were measured in."""
    unmatched: int
    """How many cells with one of the levels have no counterpart, and are left out."""
    verdict: str
    """`better`, `worse`, `not significant` or `too skewed to decide`."""
    averaged: tuple[tuple[str, int], ...] = ()
    """The parts that cells of only one of the two levels have, as the embedding of dense against BM25, with the number
    of their levels, over which the difference is averaged; those of one level are left out."""

    @property
    def turned(self) -> LevelDifference:
        """The same difference seen from the other level."""
        verdict = {"better": "worse", "worse": "better"}.get(self.verdict, self.verdict)
        names = replace(self, level=self.other, other=self.level, verdict=verdict)
        return replace(names, mean=-self.mean, low=-self.high, high=-self.low)


@dataclass(frozen=True)
class LevelAgainstBest:
    """One level of a factor against the best of the others."""

    level: str
    """Which."""
    low: float
    """The lower bound of its mean minus that of the best of the others; at most 0."""
    high: float
    """The upper bound; at least 0."""
    may_be_best: bool
    """Whether it cannot be told from the best."""


@dataclass(frozen=True)
class FactorEffect:
    """What the levels of one factor do."""

    factor: str
    """The part of a cell: `chunker`, `embedding`, `retriever`, `reranker` or `system`."""
    levels: tuple[LevelAgainstBest, ...]
    """Its levels, in the order of the sweep; those that can be compared with none are left out."""
    best: str
    """The level that is ahead of all others on the queries asked."""
    without: str | None
    """The level at which the part is left out, as `none` of the rerankers; None if there is none."""
    differences: tuple[LevelDifference, ...]
    """Every pair of levels that can be compared."""

    @property
    def reference(self) -> str:
        """The level that others are compared with where there is one line for each: without the part, else the best."""
        return self.best if self.without is None else self.without

    @property
    def candidates(self) -> tuple[str, ...]:
        """The levels that cannot be told from the best: the true best is one of them in `confidence` of cases."""
        return tuple(one.level for one in self.levels if one.may_be_best)

    @property
    def shown(self) -> tuple[LevelDifference, ...]:
        """Each level minus the reference, in the order of the sweep; without those that have no matched cells."""
        found = (self._found(one.level, self.reference) for one in self.levels if one.level != self.reference)
        return tuple(difference for difference in found if difference is not None)

    def difference(self, level: str, other: str) -> LevelDifference:
        """Return one level minus another.

        Raises:
            ConfigurationError: no cells of the two differ in nothing else.
        """
        found = self._found(level, other)
        if found is None:
            names = ", ".join(repr(one.level) for one in self.levels)
            raise ConfigurationError(
                f"{self.factor}: found no cells that differ in {level!r} and {other!r} alone; expected two of {names}"
            )
        return found

    def _found(self, level: str, other: str) -> LevelDifference | None:
        for one in self.differences:
            if (one.level, one.other) == (level, other):
                return one
            if (one.other, one.level) == (level, other):
                return one.turned
        return None


@dataclass(frozen=True)
class InteractionEffect:
    """A difference between two levels of one factor that depends on the level of another."""

    factor: str
    """The factor whose effect is looked at."""
    level: str
    """One level of it, …"""
    other: str
    """… minus another."""
    by: str
    """The factor that it depends on."""
    at: str
    """The level of that factor at which the difference is the larger one, …"""
    at_other: str
    """… and the one at which it is smaller."""
    effect: float
    """The difference at the first."""
    effect_other: float
    """The difference at the second."""
    mean: float
    """The first minus the second."""
    low: float
    """The lower bound; the intervals of all interactions hold at once."""
    high: float
    """The upper bound."""
    p: float
    """Corrected over all interaction contrasts that were tested."""
    contexts: int
    """How many combinations of the other parts all four levels were measured in."""


@dataclass(frozen=True, eq=False, repr=False)
class FactorEffects(Presentable):
    """What each part of the cells of a sweep does to the primary metric, over matched cells and query by query."""

    primary: Metric
    """The metric that decides."""
    n: int
    """How many queries count: those with a value in every cell."""
    cells: int
    """How many cells are looked at."""
    factors: tuple[FactorEffect, ...]
    """Each part of which levels can be compared."""
    interactions: tuple[InteractionEffect, ...]
    """Those larger than noise, the clearest first."""
    tested: int
    """How many interaction contrasts were tested, which p-values are corrected for."""
    method: Method
    """How intervals and p-values were computed."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""
    notes: tuple[str, ...] = ()
    """Further notes."""

    def factor(self, name: str) -> FactorEffect:
        """Return what the levels of one part do.

        Raises:
            ConfigurationError: it is none of which levels can be compared.
        """
        for one in self.factors:
            if one.factor == name:
                return one
        known = ", ".join(one.factor for one in self.factors)
        raise ConfigurationError(f"factor: found {name!r}; expected one of {known}")

    def interactions_of(self, name: str) -> tuple[InteractionEffect, ...]:
        """Return the interactions larger than noise in which a part takes part, the clearest first."""
        return tuple(one for one in self.interactions if name in (one.factor, one.by))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of levels, then one per interaction that is larger than noise."""
        return effects_frame(self)

    def __repr__(self) -> str:
        names = ", ".join(one.factor for one in self.factors)
        return f"{type(self).__name__}({names}; {self.primary}, {self.cells:,} cells, {self.n:,} queries)"
