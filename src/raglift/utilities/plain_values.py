"""Values of frameworks as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

_DEEPEST = 100
"""JSON that is nested much deeper is refused by those who read it."""
_FLAT = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NumPy's numbers as Python's; NaN, infinities and anything unknown as text.

    Never raises: a short text that says so stands for what contains itself or is nested more than 100 deep, and for an
    object whose text cannot be made.
    """
    return _plain(value, (), [])


def plain_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata that can be compared, searched and saved; the same object if it can be already."""
    if type(metadata) is dict and _FLAT.issuperset(map(type, metadata.values())):
        return metadata
    replaced: list[str] = []
    found = _plain(metadata, (), replaced)
    if not replaced:
        return metadata
    return found if isinstance(found, dict) else {"metadata": found}


def _plain(value: Any, around: tuple[int, ...], replaced: list[str]) -> Any:
    """Return a plain value, and add to `replaced` why something could not be made plain."""
    if value is None or isinstance(value, (str, bool)):
        return value
    try:
        if isinstance(value, (Mapping, list, tuple)):
            return _plain_container(value, around, replaced)
        if isinstance(value, (np.ndarray, np.bool_)):
            return _plain(value.tolist(), around, replaced)
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            number = float(value)
            return number if math.isfinite(number) else str(number)
        return str(value)
    except Exception as error:  # noqa: BLE001 — whatever an object of a user's raises
        return _reason(f"{type(value).__qualname__}, which cannot be read: {type(error).__name__}", replaced)


def _plain_container(
    value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], around: tuple[int, ...], replaced: list[str]
) -> Any:
    if id(value) in around:
        return _reason("contains itself", replaced)
    if len(around) == _DEEPEST:
        return _reason(f"nested more than {_DEEPEST} deep", replaced)
    around = (*around, id(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(part, around, replaced) for key, part in value.items()}
    if set(map(type, value)) == {float} and all(map(math.isfinite, value)):  # a vector
        return list(value)
    return [_plain(part, around, replaced) for part in value]


def _reason(text: str, replaced: list[str]) -> str:
    replaced.append(text)
    return f"… ({text})"
