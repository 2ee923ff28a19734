"""What the parts of a sweep's cells do: their levels over matched cells, query by query."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.comparison import pair_up
from raglift.analysis.paired_statistics import TOO_SKEWED, Method, is_bounded, method_of
from raglift.analysis.shared_queries import check_same_rule, named, shared_queries
from raglift.analysis.warnings import few_queries
from raglift.errors import ConfigurationError
from raglift.rendering.presenting import Presentable
from raglift.stats.grid_effects import GridEffects, PairEffects, factor_effects
from raglift.stats.simultaneous import METHOD
from raglift.types.labels import PEOPLE, LabelSources
from raglift.utilities.display import counted

if TYPE_CHECKING:
    import pandas as pd

    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


_FEWEST = 2


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
    """The parts that cells of only one of the two levels have (dense retrieval has an embedding, BM25 has none), with
    the number of their levels, over which the difference is averaged; parts with a single level are left out."""

    @property
    def turned(self) -> LevelDifference:
        """The same difference seen from the other level."""
        verdict = {"better": "worse", "worse": "better"}.get(self.verdict, self.verdict)
        names = replace(self, level=self.other, other=self.level, verdict=verdict)
        return replace(names, mean=-self.mean, low=-self.high, high=-self.low)


@dataclass(frozen=True)
class FactorEffect:
    """What the levels of one factor do."""

    factor: str
    """The part of a cell: `chunker`, `embedding`, `retriever`, `reranker` or `system`."""
    levels: tuple[str, ...]
    """Its levels, in the order of the sweep; those that can be compared with none are left out."""
    candidates: tuple[str, ...]
    """The levels that may be the best: the true best is one of them in `confidence` of cases."""
    best: str
    """The level that is ahead of all others on the queries asked."""
    without: str | None
    """The level that leaves the part out, such as `none` among rerankers; None if there is none."""
    differences: tuple[LevelDifference, ...]
    """Every pair of levels that can be compared."""

    @property
    def reference(self) -> str:
        """The level that others are compared with where there is one line for each: without the part, else the best."""
        return self.best if self.without is None else self.without

    @property
    def shown(self) -> tuple[LevelDifference, ...]:
        """Each level minus the reference, in the order of the sweep; without those that have no matched cells."""
        found = (self._found(level, self.reference) for level in self.levels if level != self.reference)
        return tuple(difference for difference in found if difference is not None)

    def difference(self, level: str, other: str) -> LevelDifference:
        """Return one level minus another.

        Raises:
            ConfigurationError: no cells of the two differ in nothing else.
        """
        found = self._found(level, other)
        if found is None:
            names = ", ".join(map(repr, self.levels))
            raise ConfigurationError(
                f"{self.factor}: found no configurations that differ in {level!r} and {other!r} alone; expected two "
                f"of {names}"
            )
        return found

    def _found(self, level: str, other: str) -> LevelDifference | None:
        for one in self.differences:
            if (one.level, one.other) == (level, other):
                return one
            if (one.other, one.level) == (level, other):
                return one.turned
        return None


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
    """Each part with levels that can be compared."""
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
            ConfigurationError: the sweep has no such part with levels that can be compared.
        """
        for one in self.factors:
            if one.factor == name:
                return one
        known = ", ".join(one.factor for one in self.factors)
        raise ConfigurationError(f"factor: found {name!r}; expected one of {known}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of levels.

        Columns: `factor`, `level`, `other` (what is subtracted), `difference`, `low`, `high`, `p` (corrected),
        `contexts` (how many combinations of the other parts it is the mean over), `unmatched` (cells left out),
        `verdict`.
        """
        import pandas as pd

        pairs = [asdict(one) for factor in self.factors for one in factor.differences]
        return pd.DataFrame(pairs).drop(columns="averaged").rename(columns={"mean": "difference"})

    def __repr__(self) -> str:
        names = ", ".join(one.factor for one in self.factors)
        return f"{type(self).__name__}({names}; {self.primary}, {self.cells:,} configurations, {self.n:,} questions)"


def effects_of_factors(
    systems: Mapping[str, Evaluation],
    levels: Mapping[str, Mapping[str, str]],
    primary: Metric,
    *,
    references: Mapping[str, str] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> FactorEffects:
    """Return what each part does.

    Args:
        systems: what was measured, by name.
        levels: for each name, the level of each factor that applies to it.
        primary: the metric that decides.
        references: for factors that can be left out, the level at which they are.
        seed: of the repetitions that are drawn.
        confidence: how often all intervals of a factor hold together.

    Raises:
        ConfigurationError: fewer than two systems have a value of the metric, or no two of them differ in one part.
    """
    method = method_of(seed, confidence, f"{METHOD}; corrected over the pairs of each part")
    names, shallow, values = _values(systems, primary)
    if len(names) < _FEWEST:
        found_cells = counted(len(names), "configuration")
        raise ConfigurationError(f"effects: found {found_cells} with a value of {primary}; expected two or more")
    factors = _factors([levels[name] for name in names])
    codes = [[_place(known, levels[name].get(factor)) for factor, known in factors.items()] for name in names]
    found = factor_effects(
        values,
        np.array(codes, dtype=np.intp).reshape(len(names), len(factors)),
        seed=seed,
        confidence=confidence,
        span=_span(primary, values),
    )
    if not found.pairs:
        raise ConfigurationError(
            f"effects: found no two of {len(names)} configurations that differ in one part alone, over {found.n} "
            "questions that count in all of them; expected at least two configurations and two questions"
        )
    levels_of = list(factors.items())
    references = {} if references is None else references
    return FactorEffects(
        primary=primary,
        n=found.n,
        cells=len(names),
        factors=tuple(
            _factor(pairs, *levels_of[pairs.factor], references, method, primary, [levels[name] for name in names])
            for pairs in found.pairs
        ),
        method=method,
        label_sources=systems[names[0]].dataset.label_sources,
        warnings=tuple(few_queries(found.n)),
        notes=tuple(_notes(found, values, shallow, primary)),
    )


def _values(systems: Mapping[str, Evaluation], primary: Metric) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return the systems that can be compared, those that return too few hits, and the values of the former."""
    if not systems:
        return [], [], np.zeros((0, 0))
    first = next(iter(systems))
    check_same_rule(systems)
    paired = pair_up(systems, first, [primary], shared_queries(systems, first))
    cut = paired.truncated[0]
    names = [name for name, is_cut in zip(systems, cut, strict=True) if not is_cut]
    return names, [name for name in systems if name not in names], paired.values[0][~cut]


def _factors(parts: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the factors in which systems differ, with their levels in the order in which they come."""
    names = dict.fromkeys(factor for one in parts for factor in one)
    known = {factor: list(dict.fromkeys(one[factor] for one in parts if factor in one)) for factor in names}
    return {
        factor: found
        for factor, found in known.items()
        if len(found) > 1 or len({factor in one for one in parts}) > 1  # a part that only some have
    }


def _place(known: Sequence[str], level: str | None) -> int:
    return -1 if level is None else known.index(level)


def _span(primary: Metric, values: NDArray[np.float64]) -> float:
    """Return the most by which two systems can differ on one query."""
    if is_bounded(primary) or np.isnan(values).all():
        return 1.0
    return float(np.nanmax(values) - np.nanmin(values)) or 1.0


def _factor(
    pairs: PairEffects,
    factor: str,
    names: Sequence[str],
    references: Mapping[str, str],
    method: Method,
    primary: Metric,
    cells: Sequence[Mapping[str, str]],
) -> FactorEffect:
    differences = tuple(
        _within_reach(
            LevelDifference(
                factor=factor,
                level=names[first],
                other=names[second],
                mean=float(pairs.mean[place]),
                low=float(pairs.low[place]),
                high=float(pairs.high[place]),
                p=float(pairs.p[place]),
                contexts=int(pairs.contexts[place]),
                unmatched=int(pairs.unmatched[place]),
                verdict=_verdict(
                    float(pairs.mean[place]), float(pairs.p[place]), method, too_skewed=bool(pairs.too_skewed[place])
                ),
                averaged=_averaged(cells, factor, names[first], names[second]),
            ),
            primary,
        )
        for place, (first, second) in enumerate(pairs.levels.tolist())
    )
    compared = sorted({*pairs.levels.ravel().tolist()})
    best = _best(pairs, compared)
    without = references.get(factor)
    return FactorEffect(
        factor=factor,
        levels=tuple(names[level] for level in compared),
        candidates=tuple(names[level] for level in compared if pairs.may_be_best[level]),
        best=names[best],
        without=without if without in [names[level] for level in compared] else None,
        differences=differences,
    )


def _averaged(cells: Sequence[Mapping[str, str]], factor: str, level: str, other: str) -> tuple[tuple[str, int], ...]:
    """Return the parts that cells of only one of two levels have, and how many levels of each, where several."""
    found: dict[str, list[set[str]]] = {}
    for side, wanted in enumerate((level, other)):
        for cell in cells:
            if cell.get(factor) == wanted:
                for part, value in cell.items():
                    found.setdefault(part, [set(), set()])[side].add(value)
    return tuple(
        (part, max(map(len, sides)))
        for part, sides in found.items()
        if min(map(len, sides)) == 0 and max(map(len, sides)) > 1
    )


def _best(pairs: PairEffects, compared: Sequence[int]) -> int:
    """Return the level that is furthest ahead of the next; the first of equals."""
    worst = dict.fromkeys(compared, math.inf)
    for (first, second), mean in zip(pairs.levels.tolist(), pairs.mean.tolist(), strict=True):
        worst[first], worst[second] = min(worst[first], mean), min(worst[second], -mean)
    return max(compared, key=lambda level: worst[level])


def _verdict(mean: float, p: float, method: Method, *, too_skewed: bool) -> str:
    if p > method.alpha:
        return "not significant"
    if too_skewed:
        return TOO_SKEWED
    return "better" if mean > 0.0 else "worse"


def _within_reach(difference: LevelDifference, primary: Metric) -> LevelDifference:
    """Return a difference of a bounded metric with an interval that ends at what is possible."""
    if not is_bounded(primary) or math.isnan(difference.low):
        return difference
    return replace(difference, low=max(-1.0, difference.low), high=min(1.0, difference.high))


def _notes(found: GridEffects, values: NDArray[np.float64], shallow: Sequence[str], primary: Metric) -> Iterator[str]:
    """Yield what is left out."""
    if shallow:
        yield f"left out, because they return fewer hits than {primary} looks at: {named(shallow)}"
    some = int((~np.isnan(values)).any(axis=0).sum())
    if found.n < some:
        yield f"{some - found.n:,} of {some:,} questions are left out, because they do not count in every configuration"
    unmatched = int(max((pairs.unmatched.max(initial=0) for pairs in found.pairs), default=0))
    if unmatched:
        yield (
            "compared in matched pairs that differ in one setting; up to "
            f"{counted(unmatched, 'configuration')} without a match {'is' if unmatched == 1 else 'are'} excluded"
        )
