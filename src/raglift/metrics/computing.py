"""A metric's values from what matched, and what they are called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.metrics import budgets
from raglift.metrics.parsing import parse
from raglift.metrics.profiles import PROFILES
from raglift.metrics.registry import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["compute", "counts_tokens", "has_differences", "mean_of", "mean_title", "require_irrelevant", "title"]


def compute(judgements: Judgements, metric: Metric, profile: str = "default") -> NDArray[np.float64]:
    """Return a metric's value for each query, in dataset order.

    Queries without labels come out as 0 (or with what their hits are worth or cost) and are left out by the caller;
    NaN marks a query that the profile leaves out of its mean. At a token budget, a metric is that of the whole of the
    beginning of the ranking that fits.

    Raises:
        ConfigurationError: an unknown profile, measure or setting; a measure that needs a k has none, cannot be
            computed from such labels, is a user's and fails, or is not installed; for a token budget, the encoding
            cannot be found.
        MissingDependency: for a token budget, tiktoken is not installed.
    """
    if profile not in PROFILES:
        raise ConfigurationError(f"profile: found {profile!r}; expected one of {', '.join(PROFILES)}")
    metric = parse(str(metric))
    measure, conventions = MEASURES[metric.name], PROFILES[profile]
    if measure.needs_k and metric.k is None and metric.name not in conventions.without_k:
        raise ConfigurationError(f"{metric}: found no depth; expected one, as '{metric.name}@10'")
    if measure.check is not None:
        measure.check(metric, judgements.facts, judgements.passages)
    if metric.budget is not None:
        judgements, metric = budgets.within_budget(judgements, metric.budget), replace(metric, depth=None)
    values = conventions.functions.get(metric.name, measure.compute)(judgements, metric)
    if metric.name not in conventions.leaves_out_empty:
        return values
    came_back = (judgements.whole or judgements).hits > 0  # a first hit larger than a token budget did come back
    return np.where(came_back, values, np.nan)


def require_irrelevant(metrics: Iterable[Metric], *, says_irrelevant: bool) -> None:
    """Check that labels say of something that it is irrelevant, where a metric needs that.

    Args:
        metrics: what is to be computed.
        says_irrelevant: whether any label says so.

    Raises:
        ConfigurationError: none does.
    """
    needing = [str(metric) for metric in metrics if MEASURES[metric.name].needs_irrelevant]
    if needing and not says_irrelevant:
        raise ConfigurationError(
            f"{needing[0]}: found labels that say of nothing that it is irrelevant; expected some that do, as a grade "
            "of 0 in qrels or `judged_irrelevant` of a query: add them (raglift review and raglift grade do), or take "
            "another metric, as ap"
        )


def counts_tokens(metric: Metric) -> bool:
    """Whether a metric needs the tokens of the hits to be counted."""
    return metric.budget is not None or MEASURES[metric.name].is_cost


def mean_of(metric: Metric, values: NDArray[np.float64]) -> float:
    """Return the mean of a metric over the queries that count, as its measure has it; NaN where none counts."""
    return MEASURES[metric.name].mean_of(values)


def has_differences(metric: Metric) -> bool:
    """Whether a difference of means is the mean of the queries' differences: not where the mean is geometric."""
    return MEASURES[metric.name].mean == "arithmetic"


def title(metric: Metric) -> str:
    """Return what one query's value is called: `RR@10`."""
    return str(metric).replace(metric.name, MEASURES[metric.name].title, 1)


def mean_title(metric: Metric) -> str:
    """Return what the mean over queries is called: `MRR@10`."""
    measure = MEASURES[metric.name]
    return str(metric).replace(metric.name, measure.mean_title or measure.title, 1)
