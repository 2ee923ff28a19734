"""What the statistics accept: checked in one place, so that all functions refuse alike."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.limits import LARGEST_SCORE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CONFIDENCE", "checked_fraction", "checked_integer", "numbers"]

CONFIDENCE = 0.95
"""How often an interval holds the true value, where nothing else is asked for."""


def checked_integer(name: str, value: object, *, least: int) -> int:
    """Return an integer that is at least `least`.

    Raises:
        ConfigurationError: it is no integer, or smaller.
    """
    try:
        found = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        found = None
    if found is None or isinstance(value, bool) or found < least:
        raise ConfigurationError(f"{name}: found {value!r}; expected an integer of at least {least}")
    return found


def checked_fraction(name: str, value: float) -> float:
    """Return a number strictly between 0 and 1.

    Raises:
        ConfigurationError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0.0 < value < 1.0:
        raise ConfigurationError(f"{name}: found {value!r}; expected a number between 0 and 1, as 0.95")
    return float(value)


def numbers(name: str, values: ArrayLike, *, dimensions: int) -> NDArray[np.float64]:
    """Return values as an array of floats; NaN means that there is no value.

    Raises:
        ConfigurationError: they are not numbers, have another number of dimensions, or are too large to be squared.
    """
    shape = "one number per query" if dimensions == 1 else "one row per query and one column per comparison"
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{name}: found {type(values).__name__} ({error}); expected {shape}") from error
    if found.ndim != dimensions:
        raise ConfigurationError(f"{name}: found {found.ndim} dimensions; expected {dimensions}: {shape}")
    large = int((np.abs(found) > LARGEST_SCORE).sum())
    if large:
        raise ConfigurationError(
            f"{name}: found {large} values that are infinite or larger than {LARGEST_SCORE:g}; "
            "expected finite numbers, or NaN where a query has no value"
        )
    return found
