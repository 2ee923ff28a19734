"""Quantiles and tails of the distributions in use; scipy is imported when the first is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["chi_square_quantiles", "normal_below", "normal_quantile", "t_quantile"]


def normal_quantile(share: float) -> float:
    """Return below what a standard normal variable is with the given probability."""
    return float(_special().ndtri(share))


def t_quantile(freedom: float, share: float) -> float:
    """Return below what Student's t with so many degrees of freedom is with the given probability."""
    return float(_special().stdtrit(freedom, share))


def normal_below(limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities that a standard normal variable is below each limit."""
    return np.asarray(_special().ndtr(limits))


def chi_square_quantiles(freedom: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return below what a χ² variable is with each of the given probabilities."""
    return np.asarray(2.0 * _special().gammaincinv(freedom / 2.0, shares))


def _special() -> Any:
    return importlib.import_module("scipy.special")
