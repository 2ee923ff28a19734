"""Precision and average precision of verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["average_precision_at", "precision_at"]


def precision_at(verdicts: NDArray[np.float64], ks: Sequence[int]) -> NDArray[np.float64]:
    """Return precision@k: the useful hits among the first k, divided by k.

    Args:
        verdicts: shape (queries, depth): 1 for a useful hit, 0 for another and where there is none, NaN for one without
            a verdict.
        ks: depths from 1 to the depth.

    Returns:
        Shape (ks, queries), from 0 to 1; NaN where one of the first k has no verdict.
    """
    found: NDArray[np.float64] = np.cumsum(verdicts, axis=1).T[np.asarray(ks) - 1] / np.asarray(ks)[:, np.newaxis]
    return found


def average_precision_at(verdicts: NDArray[np.float64], ks: Sequence[int]) -> NDArray[np.float64]:
    """Return AP@k over verdicts: Σ precision@i · vᵢ / Σ vᵢ, for i from 1 to k; 0 where no hit is useful.

    It divides by what was found and judged useful, not by all that there is: what was not retrieved costs nothing. This
    is what Ragas calls context precision.

    Args:
        verdicts: as in `precision_at`.
        ks: depths from 1 to the depth.

    Returns:
        Shape (ks, queries), from 0 to 1; NaN where one of the first k has no verdict.
    """
    useful = np.cumsum(verdicts, axis=1)
    precision = useful / np.arange(1, verdicts.shape[1] + 1)
    gained = np.cumsum(precision * verdicts, axis=1)
    found: NDArray[np.float64] = (gained / np.where(useful == 0, 1.0, useful)).T[np.asarray(ks) - 1]
    return found
