"""Values of frameworks as JSON can hold them, whatever they are: cyclic, deep, huge, or without a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

_DEEPEST = 100
"""JSON that is nested much deeper is refused by those who read it."""
_MOST_VALUES = 1_000_000
"""Of the metadata of one hit: lists that contain each other may have more values than any memory holds."""
_MOST_BITS = 10_000
"""Python writes no longer integers."""
_FLAT = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NumPy's numbers as Python's; NaN, infinities and anything unknown as text.

    Never raises: a short text that says so stands for what is nested more than 100 deep, as everything that contains
    itself is, and for an object whose text cannot be made.
    """
    # What there is most of comes first, and is told at once: a run has many hits
    if value is None or isinstance(value, (str, bool)):
        return value
    return _Plain(math.inf).of(value, _DEEPEST)


def plain_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata that can be compared, searched and saved; the same object if it can be already.

    Args:
        metadata: of a hit. If it is nested too deep, has a value without a text or more than a million values, it is
            made `plain`, and further values are left out.
    """
    if type(metadata) is dict and _FLAT.issuperset(map(type, metadata.values())):
        return metadata
    check = _Plain(_MOST_VALUES, is_check=True)
    check.of(metadata, _DEEPEST)
    if not check.has_replaced:
        return metadata
    # A little less, so that with the texts in place of what is left out it is not too much again
    found = _Plain(_MOST_VALUES - 2 * _DEEPEST).of(metadata, _DEEPEST)
    return found if isinstance(found, dict) else {"metadata": found}


class _Plain:
    """Makes values plain.

    Args:
        most: how many values are taken; the others are left out.
        is_check: whether it is only asked what would be replaced, so that vectors need not be copied.

    Attributes:
        has_replaced: whether something was left out, or had no text.
    """

    def __init__(self, most: float, *, is_check: bool = False) -> None:
        self.has_replaced = False
        self._left = most
        self._is_check = is_check

    def of(self, value: Any, levels: int) -> Any:
        """Return a value as JSON can hold it, down to so many levels."""
        self._left -= 1
        if value is None or isinstance(value, (str, bool)):
            return value
        try:
            if isinstance(value, float):
                return float(value) if math.isfinite(value) else str(float(value))
            if isinstance(value, int):
                return self._integer(value)
            if isinstance(value, (list, tuple, dict, Mapping)):
                return self._parts(value, levels)
            if isinstance(value, np.bool_):
                return bool(value)
            if isinstance(value, Integral):
                return self._integer(int(value))
            if isinstance(value, Real):
                return self.of(float(value), levels)
            if isinstance(value, np.ndarray):
                is_known = self._is_check and value.dtype.kind != "O" and value.size <= self._left
                return None if is_known else self.of(value.tolist(), levels)
        except Exception as error:  # noqa: BLE001 — whatever an object of a user's raises
            return self._instead(f"{type(value).__qualname__}, which cannot be read: {type(error).__name__}")
        return self._text(value)

    def _text(self, value: Any) -> str:
        try:
            return str(value)
        except Exception as error:  # noqa: BLE001 — whatever an object of a user's raises
            return self._instead(f"{type(value).__qualname__}, whose text cannot be made: {type(error).__name__}")

    def _integer(self, number: int) -> int | str:
        bits = number.bit_length()
        return number if bits <= _MOST_BITS else self._instead(f"an integer of {bits:,} bits")

    def _parts(self, value: Any, levels: int) -> Any:
        if levels == 0:
            return self._instead(f"nested more than {_DEEPEST} deep")
        if isinstance(value, (dict, Mapping)):
            made = {self._text(key): self.of(part, levels - 1) for key, part in value.items() if self._left > 0}
            return made if self._left > 0 else made | {"…": self._instead("further values were left out")}
        if self._is_check and len(value) < self._left and set(map(type, value)) == {float}:
            self._left -= len(value)
            return None
        parts = [self.of(part, levels - 1) for part in value if self._left > 0]
        return parts if self._left > 0 else [*parts, self._instead("further values were left out")]

    def _instead(self, reason: str) -> str:
        self.has_replaced = True
        return f"… ({reason})"
