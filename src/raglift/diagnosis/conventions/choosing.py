"""Which query shows best how profiles differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.diagnosis.conventions.agreeing import TOLERANCE
from raglift.diagnosis.conventions.records import Choice
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.records import Dataset, Metric

__all__ = ["choose_query"]

_NAMED = 3


def choose_query(
    dataset: Dataset, metrics: Sequence[Metric], values: Mapping[str, NDArray[np.float64]]
) -> tuple[int, Choice]:
    """Return the number of the labelled query whose values differ most between profiles, and why it was chosen.

    The difference of a metric is its highest value minus its lowest, divided by the highest where that is above 1, as
    DCG can be. The query with the largest of them is chosen; of equals that with the larger sum, then the first.

    Args:
        dataset: the queries.
        metrics: what is looked at.
        values: for each profile, an array of shape (metrics, queries); NaN, a query that is left out, counts as 0.

    Raises:
        ConfigurationError: no query is labelled.
    """
    labelled = np.array([query.is_labelled for query in dataset.queries], dtype=bool)
    if not labelled.any():
        raise ConfigurationError(
            f"{dataset.name}: found {len(dataset):,} queries, none of them labelled; expected one at least with "
            "labels: without them no metric has a value"
        )
    table = np.nan_to_num(np.stack(list(values.values())))
    low, high = table.min(axis=0), table.max(axis=0)
    spread = (high - low) / np.maximum(high, 1)
    most, total = spread.max(axis=0), spread.sum(axis=0)
    rounded = [np.round(np.where(labelled, part, -1), 9) for part in (most, total)]  # so that rounding breaks no tie
    order = np.lexsort((np.arange(len(dataset)), -rounded[1], -rounded[0]))
    differing = order[(most > TOLERANCE)[order] & labelled[order]]
    number = int(order[0])
    others = tuple(dataset.queries[other].id for other in differing[1 : 1 + _NAMED].tolist())
    if not len(differing):
        return number, Choice(None, None, None, 0.0, 0.0, (), 0)
    place = int(spread[:, number].argmax())
    names, column = list(values), table[:, place, number]
    return number, Choice(
        metric=metrics[place],
        low=names[int(column.argmin())],
        high=names[int(column.argmax())],
        lowest=float(values[names[int(column.argmin())]][place, number]),
        highest=float(values[names[int(column.argmax())]][place, number]),
        others=others,
        differing=len(differing),
    )
