"""Quantiles and tails of the distributions in use; scipy is imported when the first is asked for."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["noncentral_t_below", "normal_quantile", "t_quantile"]


def normal_quantile(share: float) -> float:
    """Return below what a standard normal variable is with the given probability."""
    return float(_special().ndtri(share))


def t_quantile(freedom: float, share: float) -> float:
    """Return below what Student's t with so many degrees of freedom is with the given probability."""
    return float(_special().stdtrit(freedom, share))


def noncentral_t_below(freedom: float, noncentrality: float, limit: float) -> float:
    """Return the probability that noncentral t is below a limit."""
    return float(_special().nctdtr(freedom, noncentrality, limit))


def _special() -> Any:
    return importlib.import_module("scipy.special")
