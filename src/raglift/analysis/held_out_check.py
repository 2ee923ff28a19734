"""Whether queries that took no part in a choice confirm or contradict it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from raglift.analysis.paired_statistics import bound_of, verdict, within_reach
from raglift.metrics.computing import mean_of
from raglift.stats.margins import lower_bounds
from raglift.stats.paired_tests import paired_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.analysis.records import Method
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.metric import Metric

CheckVerdict = Literal["confirmed", "not confirmed", "contradicted"]
"""What held-out queries say of a choice."""


@dataclass(frozen=True)
class HeldOutCheck:
    """A system chosen on some queries, and the runner-up there, measured on others."""

    system: str
    """What was chosen."""
    other: str
    """The runner-up: of the other systems the one with the highest mean on the queries of the choice."""
    selection: tuple[str, ...]
    """The queries of the choice."""
    held_out: tuple[str, ...]
    """The queries that took no part in it."""
    mean: float
    """The mean of `system` on the held-out queries."""
    other_mean: float
    """That of `other`."""
    difference: PairedDifference
    """`system` minus `other` there; its p-value is two-sided."""
    lower: float
    """The one-sided lower bound of the difference."""
    verdict: CheckVerdict
    """`contradicted`: below the runner-up by more than the margin, and significantly (one-sided p ≤ 0.025 at 95%
    confidence). `confirmed`: the lower bound is above −margin. Else `not confirmed`, and also where another system is
    recommended by all queries."""


def held_out_check(
    systems: tuple[str, str],
    values: NDArray[np.float64],
    queries: tuple[Sequence[str], Sequence[str]],
    metric: Metric,
    method: Method,
    *,
    margin: float,
    recommended: str,
) -> HeldOutCheck:
    """Measure a choice on queries that took no part in it.

    Args:
        systems: what was chosen, and the runner-up.
        values: of both on the held-out queries: queries × 2, without gaps.
        queries: those of the choice, and those held out.
        metric: what was measured.
        method: the seed and the level.
        margin: how far below another mean counts as equally good.
        recommended: what all queries together recommend.
    """
    leads, bound = values[:, 0] - values[:, 1], bound_of(metric)
    difference = within_reach(
        metric, paired_difference(leads, seed=method.seed, confidence=method.confidence, bound=bound)
    )
    lower = float(lower_bounds(leads[:, np.newaxis], method.alpha, bound)[0])
    outcome: CheckVerdict = "not confirmed"
    if verdict(difference, difference.p, method) == "worse" and difference.mean < -margin:
        outcome = "contradicted"
    elif lower > -margin and systems[0] == recommended:
        outcome = "confirmed"
    return HeldOutCheck(
        system=systems[0],
        other=systems[1],
        selection=tuple(queries[0]),
        held_out=tuple(queries[1]),
        mean=mean_of(metric, values[:, 0]),
        other_mean=mean_of(metric, values[:, 1]),
        difference=difference,
        lower=lower,
        verdict=outcome,
    )
