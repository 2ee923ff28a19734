"""Scores of nuggets that were assigned already, as by AutoNuggetizer: of answers, contexts or single hits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.base.validation import shown
from raglift.errors import ConfigurationError
from raglift.metrics.nugget_measures import PARTIAL_SUPPORT
from raglift.records.labels import IMPORTANCE_EXPECTED, IMPORTANCES, VITAL, WEIGHT_OF_OKAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


SUPPORTS, PARTLY, NOT = ASSIGNMENTS = ("support", "partial_support", "not_support")
"""What a judge says of a nugget and a text."""


@dataclass(frozen=True)
class NuggetScores:
    """The scores of one answer, or of one context, as TREC's RAG track has them."""

    all: float
    """Σ support over nuggets / nuggets; partial support is 0.5."""
    all_strict: float
    """Likewise, with partial support 0."""
    vital: float
    """Of the vital nuggets alone; 0 where there is none."""
    vital_strict: float
    """Likewise, with partial support 0: what the track ranks systems by."""
    weighted: float
    """(Σ support over vital + 0.5 Σ support over okay nuggets) / (vital + 0.5 okay nuggets)."""
    weighted_strict: float
    """Likewise, with partial support 0."""


def nugget_scores(nuggets: Iterable[Mapping[str, Any]]) -> NuggetScores:
    """Return the scores of one answer from what a judge said of each nugget.

        nugget_scores([{"importance": "vital", "assignment": "support"}]).vital_strict

    Args:
        nuggets: each with its `importance`, `vital` or `okay`, and its `assignment`, `support`, `partial_support` or
            `not_support`, as AutoNuggetizer writes them.

    Raises:
        ConfigurationError: no nugget, or another importance or assignment.
    """
    found = [_read(nugget, number) for number, nugget in enumerate(nuggets)]
    if not found:
        raise ConfigurationError("nugget_scores: found no nugget; expected at least one")
    ones = [(1.0, *each) for each in found]
    vital = [(float(is_vital), is_vital, support) for is_vital, support in found]
    weighted = [(1.0 if is_vital else WEIGHT_OF_OKAY, is_vital, support) for is_vital, support in found]
    (everything, strict), (of_vital, vital_strict), (by_weight, weight_strict) = map(_scores, (ones, vital, weighted))
    return NuggetScores(everything, strict, of_vital, vital_strict, by_weight, weight_strict)


def _read(nugget: Mapping[str, Any], number: int) -> tuple[bool, float]:
    """Return whether a nugget is vital, and its support."""
    for name, known, expected in (
        ("importance", IMPORTANCES, IMPORTANCE_EXPECTED),
        ("assignment", ASSIGNMENTS, "'support', 'partial_support' or 'not_support'"),
    ):
        if nugget.get(name) not in known:
            raise ConfigurationError(
                f"nugget_scores: nugget {number + 1}: found {name} {shown(nugget.get(name))}; expected {expected}"
            )
    return nugget["importance"] == VITAL, {SUPPORTS: 1.0, PARTLY: PARTIAL_SUPPORT, NOT: 0.0}[nugget["assignment"]]


def _scores(weighted: list[tuple[float, bool, float]]) -> tuple[float, float]:
    """Return the weighted mean of support, and that in which partial support is 0."""
    total = sum(weight for weight, _, _ in weighted)
    if not total:
        return 0.0, 0.0
    counted = sum(weight * support for weight, _, support in weighted)
    return counted / total, sum(weight * (support == 1) for weight, _, support in weighted) / total
