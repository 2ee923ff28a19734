"""The Pareto front of rows: what no other row beats in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["beats"]


def beats(rows: ArrayLike) -> NDArray[np.bool_]:
    """Return which row beats which: it is as good in every column, and better in one.

    The Pareto front is the rows that none beats: `~beats(rows).any(axis=0)`. Equal rows do not beat each other.

    Args:
        rows: rows × columns of finite numbers; more is better in every column, so costs go in negated.

    Returns:
        Shape (rows, rows): whether the row of the first axis beats that of the second.
    """
    values = np.asarray(rows, dtype=np.float64)
    winner, loser = values[:, np.newaxis, :], values[np.newaxis, :, :]
    return np.logical_and((winner >= loser).all(axis=2), (winner > loser).any(axis=2))
