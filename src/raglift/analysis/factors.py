"""What the parts of systems do: their levels over matched cells, and which parts depend on each other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.comparison import pair_up
from raglift.analysis.factor_records import (
    FactorEffect,
    FactorEffects,
    InteractionEffect,
    LevelAgainstBest,
    LevelDifference,
)
from raglift.analysis.paired_statistics import TOO_SKEWED, is_bounded, method_of
from raglift.analysis.shared_queries import check_same_rule, named, shared_queries
from raglift.analysis.warnings import few_queries
from raglift.base.display import counted
from raglift.errors import ConfigurationError
from raglift.stats.grid_effects import factor_effects
from raglift.stats.simultaneous import METHOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord, Method
    from raglift.records.metric import Metric
    from raglift.stats.grid_effects import GridEffects, InteractionEffects, PairEffects


_FEWEST = 2


def effects_of_factors(
    systems: Mapping[str, EvaluationRecord],
    levels: Mapping[str, Mapping[str, str]],
    primary: Metric,
    *,
    references: Mapping[str, str] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> FactorEffects:
    """Return what each part does, and which differences of it depend on another part.

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
    method = method_of(seed, confidence, f"{METHOD}; corrected over the pairs of each part, and over all interactions")
    names, shallow, values = _values(systems, primary)
    if len(names) < _FEWEST:
        found_cells = counted(len(names), "cell")
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
            f"effects: found no two of {len(names)} cells that differ in one part alone, over {found.n} queries that "
            "count in all of them; expected at least two cells and two queries"
        )
    told = list(factors.items())
    references = {} if references is None else references
    return FactorEffects(
        primary=primary,
        n=found.n,
        cells=len(names),
        factors=tuple(
            _factor(pairs, *told[pairs.factor], references, method, primary, [levels[name] for name in names])
            for pairs in found.pairs
        ),
        interactions=tuple(_interactions(found.interactions, told, references, method)),
        tested=len(found.interactions.p),
        method=method,
        label_sources=systems[names[0]].dataset.label_sources,
        warnings=tuple(few_queries(found.n)),
        notes=tuple(_notes(found, values, shallow, primary)),
    )


def _values(
    systems: Mapping[str, EvaluationRecord], primary: Metric
) -> tuple[list[str], list[str], NDArray[np.float64]]:
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
        levels=tuple(
            LevelAgainstBest(
                names[level],
                low=float(pairs.against_best[level, 0]),
                high=float(pairs.against_best[level, 1]),
                may_be_best=bool(pairs.may_be_best[level]),
            )
            for level in compared
        ),
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


def _interactions(
    found: InteractionEffects,
    told: Sequence[tuple[str, list[str]]],
    references: Mapping[str, str],
    method: Method,
) -> Iterator[InteractionEffect]:
    """Yield the contrasts larger than noise, the clearest first."""
    real = np.flatnonzero((found.p <= method.alpha) & ~found.too_skewed)
    clearness = np.abs(found.mean[real]) / (found.high[real] - found.low[real])
    for place in real[np.lexsort((-clearness, found.p[real]))].tolist():
        (first, second), (a, b, c, d) = found.factors[place].tolist(), found.levels[place].tolist()
        at_ac, at_bc, at_ad, at_bd = found.corners[place].tolist()
        shown, by, level, other, at, at_other = first, second, a, b, c, d
        effect, effect_other = at_ac - at_bc, at_ad - at_bd
        if _is_shown_as_effect(told[second], told[first], references):
            shown, by, level, other, at, at_other = second, first, c, d, a, b
            effect, effect_other = at_ac - at_ad, at_bc - at_bd
        without = references.get(told[shown][0])
        turned = without == told[shown][1][level] or (without != told[shown][1][other] and effect + effect_other < 0.0)
        if turned:
            level, other, effect, effect_other = other, level, -effect, -effect_other
        if effect < effect_other:
            at, at_other, effect, effect_other = at_other, at, effect_other, effect
        upwards = found.mean[place] > 0.0
        yield InteractionEffect(
            factor=told[shown][0],
            level=told[shown][1][level],
            other=told[shown][1][other],
            by=told[by][0],
            at=told[by][1][at],
            at_other=told[by][1][at_other],
            effect=effect,
            effect_other=effect_other,
            mean=abs(float(found.mean[place])),
            low=float(found.low[place] if upwards else -found.high[place]),
            high=float(found.high[place] if upwards else -found.low[place]),
            p=float(found.p[place]),
            contexts=int(found.contexts[place]),
        )


def _is_shown_as_effect(
    one: tuple[str, list[str]], other: tuple[str, list[str]], references: Mapping[str, str]
) -> bool:
    """Whether an interaction is told as an effect of the first factor that depends on the second.

    What can be left out has an effect; of two others that with fewer levels has it.
    """
    left_out = [references.get(factor) in known for factor, known in (one, other)]
    if left_out[0] != left_out[1]:
        return left_out[0]
    return len(one[1]) <= len(other[1])


def _notes(found: GridEffects, values: NDArray[np.float64], shallow: Sequence[str], primary: Metric) -> Iterator[str]:
    """Yield what is left out."""
    if shallow:
        yield f"left out, because they return fewer hits than {primary} looks at: {named(shallow)}"
    some = int((~np.isnan(values)).any(axis=0).sum())
    if found.n < some:
        yield f"{some - found.n:,} of {some:,} queries are left out, because they do not count in every cell"
    unmatched = int(max((pairs.unmatched.max(initial=0) for pairs in found.pairs), default=0))
    if unmatched:
        yield (
            "only cells that differ in one part alone are compared; up to "
            f"{counted(unmatched, 'cell')} of a pair of levels have no such counterpart and are left out"
        )
