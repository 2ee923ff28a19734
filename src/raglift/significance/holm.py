"""Holm's correction for testing several hypotheses at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.significance.arguments import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["holm"]


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values so that the chance of any false positive among them stays at the level they are compared with.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none may be smaller than the one before it, or
    larger than 1. Holm, "A simple sequentially rejective multiple test procedure", 1979. Valid however the tests depend
    on each other, and never less powerful than Bonferroni's.

    Args:
        p_values: in any order; NaN where there was no test, which counts for nothing and stays NaN.

    Returns:
        The adjusted p-values, in the order given.

    Raises:
        ConfigurationError: a value outside [0, 1].
    """
    found = numbers("p_values", p_values, dimensions=1)
    outside = found[(found < 0.0) | (found > 1.0)]
    if len(outside):
        raise ConfigurationError(f"p_values: found {outside[0]:g}; expected numbers from 0 to 1, or NaN for no test")
    adjusted = np.full(len(found), np.nan)
    tested = np.flatnonzero(~np.isnan(found))
    order = tested[np.argsort(found[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(found[order] * factors), 1.0)
    return adjusted
