"""Statistics of scores that use each metric's properties: its bounds, and whether higher is better."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError
from raglift.metrics.parsing import as_metric, not_scored
from raglift.metrics.registry import MEASURES
from raglift.stats.intervals import Interval, checked_fraction, checked_integer, mean_interval
from raglift.stats.power import minimum_detectable_effects
from raglift.types.metric import Metric
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.stats.paired_tests import PairedDifference


_MORE = 1e-9
"""What rounding may add to a metric that ends at 1."""


@dataclass(frozen=True)
class Method:
    """How intervals and p-values were computed."""

    text: str
    """The tests and intervals by name, in one sentence."""
    confidence: float
    """Of every interval; a difference counts as real where p is at most 1 minus it."""
    seed: int
    """Of resampling, permutation and the choice of halves."""

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return 1.0 - self.confidence


def method_of(seed: int, confidence: float, text: str = "") -> Method:
    """Return the settings of the statistics, checked.

    Raises:
        ConfigurationError: a seed that is not an integer of 0 or more, or a confidence not between 0 and 1.
    """
    return Method(text, checked_fraction("confidence", confidence), checked_integer("seed", seed, least=0))


def method_text(differences: Sequence[PairedDifference | None], metric: Metric | None, correction: str) -> str:
    """Return how p-values and intervals were computed, in one sentence.

    Args:
        differences: of the primary metric; None if there is no fair pair.
        metric: the primary one; None if no intervals of means are shown.
        correction: what was done about several tests.
    """
    known = [difference for difference in differences if difference is not None]
    if not known:
        return "no test: there are no comparable values of the primary metric"
    tests = _tests(dict.fromkeys(_ANY_NUMBER.sub("all assignments", found.test) for found in known))
    means = "" if metric is None else ", of means by Wilson's" if is_bounded(metric) else ", of means by t"
    return f"p by {tests}; intervals of differences by {known[0].interval}{means}; {correction}"


def _tests(names: Iterable[str]) -> str:
    """Return the names of tests, of which the last words tell how many assignments were looked at."""
    ways: dict[str, list[str]] = {}
    for name in names:
        test, _, way = name.rpartition(", ")
        ways.setdefault(test, []).append(way)
    return " or ".join(f"{test}, {' or '.join(of_test)}" for test, of_test in ways.items())


def scored(metric: Metric | str, known: Sequence[Metric], where: str) -> Metric:
    """Return a metric that was scored."""
    wanted = as_metric(metric, where)
    if wanted not in known:
        raise ConfigurationError(
            f"{where}: {not_scored(wanted, known)} (rl.rescore adds metrics and depths without asking the system again)"
        )
    return wanted


_USUAL = Metric("ndcg", 10)
_OF_SESSIONS = "session_ndcg"
"""What decides instead where it was scored: of several calls, NDCG looks at the first k hits of all together."""
_ANY_NUMBER = re.compile(r"all [\d,]+ assignments?")


def primary_of(metric: Metric | str | None, known: Sequence[Metric], limit: int | None = None) -> Metric:
    """Return the metric that decides: one that was scored, and of which more is better.

    Args:
        metric: which; by default NDCG@10 or, where that was not scored or is deeper than `limit`, NDCG at the deepest
            depth that is left, else the first measure of quality at its deepest. SessionNDCG comes before NDCG.
        known: those that were scored.
        limit: the deepest k that all compared stages return as deployed; None if there is none.
    """
    if metric is None:
        return _usual([one for one in known if limit is None or (one.k is not None and one.k <= limit)] or known)
    wanted = scored(metric, known, "primary")
    if not is_quality(wanted):
        raise ConfigurationError(
            f"primary: found {wanted}, which is no measure of quality; expected one of which more is better, as ndcg@10"
        )
    return wanted


def _usual(known: Sequence[Metric]) -> Metric:
    """Return the metric that decides where none is named."""
    of_sessions = [one for one in known if one.name == _OF_SESSIONS and one.k is not None and not one.parameters]
    if of_sessions:
        return min(of_sessions, key=lambda one: abs((one.k or 0) - 10))
    if _USUAL in known:
        return _USUAL
    quality = [metric for metric in known if is_quality(metric)]
    if not quality:
        raise ConfigurationError(
            f"primary: found no measure of quality among {', '.join(map(str, known))}; expected one of which more is "
            "better, as ndcg@10 (rl.rescore adds metrics and depths without asking the system again)"
        )
    usual = [one for one in quality if one.name == _USUAL.name and one.k is not None and not one.parameters]
    alike = usual or [metric for metric in quality if metric.name == quality[0].name]
    return max(alike, key=lambda metric: (metric.k or 0, 0 if metric.budget is None else metric.budget.most))


def is_quality(metric: Metric) -> bool:
    """Whether more of a metric is better, hits earn it, and systems can be compared query by query."""
    measure = MEASURES[metric.name]
    return measure.is_earned and not measure.is_cost and not measure.is_neutral


def interval_of(metric: Metric, values: NDArray[np.float64], confidence: float) -> Interval | None:
    """Return where the mean may lie; None if it is unknown."""
    counted = values[~np.isnan(values)]
    # AutoRAG's NDCG passes 1 where several hits match one passage
    ends_at_1 = float(counted.max(initial=0.0)) <= 1.0 + _MORE
    bounds = (0.0, 1.0) if ends_at_1 and is_bounded(metric) else None
    found = mean_interval(counted, confidence=confidence, bounds=bounds)
    return None if math.isnan(found.low) else found


def is_bounded(metric: Metric) -> bool:
    """Whether a metric lies between 0 and 1."""
    return MEASURES[metric.name].is_bounded


def bound_of(metric: Metric) -> float | None:
    """Return how large the difference of a query can be; None for a metric without bounds, as tokens."""
    return 1.0 if is_bounded(metric) else None


def within_reach(metric: Metric, difference: PairedDifference) -> PairedDifference:
    """Return a difference of a metric whose interval, which a few queries make wide, ends at what is possible."""
    if not is_bounded(metric) or math.isnan(difference.low):
        return difference
    return replace(difference, low=max(-1.0, difference.low), high=min(1.0, difference.high))


def minimum_detectable_effect(values: NDArray[np.float64], method: Method, tests: int) -> float | None:
    """Return the minimum detectable effect at 80% power; None if it is unknown."""
    alpha = method.alpha / max(tests, 1)
    found = float(minimum_detectable_effects(values[:, np.newaxis], seed=method.seed, alpha=alpha)[0])
    return None if math.isnan(found) else found


NOT_SIGNIFICANT = "not significant"
TOO_SKEWED = "too skewed to decide"
NOT_COMPARABLE = "not comparable by size"
"""Of prompts that end before the budget, where what did not come could turn the verdict."""
VERDICTS = ("better", "worse", NOT_SIGNIFICANT, TOO_SKEWED, NOT_COMPARABLE)
"""What can be said of a difference on the primary metric."""


def outweighed_text(difference: PairedDifference) -> str:
    """Say what may be missing in a sample that is too skewed to decide: of few small wins, or of few small losses."""
    seen, missing, one = ("wins", "losses", "loss") if difference.mean > 0.0 else ("losses", "wins", "win")
    opposite = min(difference.wins, difference.losses)
    found = f"at most one {one} of half their size" if opposite > 1 else f"one {one}" if opposite else f"no {missing}"
    return (
        f"{counted(difference.n, 'question')} with small {seen} and {found} cannot rule out large {missing} too rare "
        f"to be among them, which could outweigh the {seen}"
    )


def verdict(difference: PairedDifference, p: float, method: Method) -> str:
    """Return one of `VERDICTS`: `better` or `worse` where p is at most the level of the tests.

    `too skewed to decide` is said instead where differences the other way, too rare to be in the sample, could outweigh
    those that are in it (`PairedDifference.too_skewed`).
    """
    if p > method.alpha or difference.mean == 0.0:
        return NOT_SIGNIFICANT
    if difference.too_skewed:
        return TOO_SKEWED
    return "better" if difference.mean > 0.0 else "worse"
