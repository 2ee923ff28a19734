"""When two profiles' values are the same."""

from __future__ import annotations

import numpy as np

__all__ = ["TOLERANCE", "same"]

TOLERANCE = 1e-8
"""A tool that adds 1e-10 to a denominator, or sums in another order, has no other value."""


def same(value: float, default: float) -> bool:
    """Whether two values are the same but for rounding; two that are left out of the mean are."""
    return bool(np.isclose(value, default, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
