"""Ranges of numbers and choices inside the parts of a sweep's grid: each stands for several values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from raglift.utilities.validation import Keys, shown

_RANGE = {"from", "to", "step"}
_MOST_VALUES = 1_000
"""Of one range."""
_MOST_ITEMS = 20_000
"""Of one part of the grid."""

Note = Callable[[Keys, str, str], None]


def expanded(part: str, written: Any, note: Note) -> list[tuple[Any, int]]:
    """Return every value of a part of the grid without ranges, and the position of what it was written as.

    A mapping of `from`, `to` and `step` is a range of numbers, both ends included; a list inside a mapping is a choice.
    Of an overlap that is not less than its size there is none.

    Args:
        part: the name of the part, such as `chunkers`.
        written: one value or a list.
        note: notes that something else was found at a location than was expected.
    """
    found: list[tuple[Any, int]] = []
    faults = 0

    def noted(keys: Keys, what: str, expected: str) -> None:
        nonlocal faults
        faults += 1
        note(keys, what, expected)

    for origin, value in enumerate(written if isinstance(written, list) else [written]):
        keys: Keys = (part, origin) if isinstance(written, list) else (part,)
        if not isinstance(value, Mapping):
            found.append((value, origin))
            continue
        choices = [each for each in _choices(value, keys, noted) if not _overlaps_itself(each)]
        if not choices and not faults:
            noted(keys, "overlaps that are all at least as long as their chunks", "one that is shorter")
        found += [(each, origin) for each in itertools.islice(choices, _MOST_ITEMS + 1)]
        if len(found) > _MOST_ITEMS:
            noted((part,), f"more than {_MOST_ITEMS:,} values", "fewer, for example by larger steps")
            return []
    return found


def _choices(value: Any, keys: Keys, note: Note, *, is_inside: bool = False) -> Iterator[Any]:
    """Yield each value that something with ranges stands for."""
    if isinstance(value, Mapping) and is_inside and value.keys() & {"from", "to"}:
        yield from _numbers(value, keys, note)
    elif isinstance(value, Mapping):
        inner = [list(_choices(each, (*keys, str(key)), note, is_inside=True)) for key, each in value.items()]
        for combined in itertools.product(*inner):
            yield dict(zip(value, combined, strict=True))
    elif isinstance(value, list) and is_inside:
        for place, each in enumerate(value):
            yield from _choices(each, (*keys, place), note, is_inside=True)
    else:
        yield value


def _numbers(written: Mapping[Any, Any], keys: Keys, note: Note) -> Sequence[float]:
    """Return the numbers of a range, both ends included; whole ones as integers."""
    if written.keys() != _RANGE or not all(map(_is_number, written.values())):
        note(keys, shown(dict(written)), "three numbers, such as {from: 200, to: 2000, step: 200}")
        return ()
    low, high, step = (Decimal(str(written[name])) for name in ("from", "to", "step"))
    if step <= 0 or high < low:
        note(keys, f"from {low} to {high} by {step}", "a step above 0, and an end that is not before the start")
        return ()
    count = int((high - low) / step) + 1
    if count > _MOST_VALUES:
        note(keys, f"{count:,} values", f"at most {_MOST_VALUES:,}, for example by a larger step")
        return ()
    found = [low + step * number for number in range(count)]
    return [int(each) if each == each.to_integral_value() else float(each) for each in found]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _overlaps_itself(value: Any) -> bool:
    size, overlap = (value.get(name) if isinstance(value, Mapping) else None for name in ("size", "overlap"))
    return _is_number(size) and _is_number(overlap) and float(overlap or 0) >= float(size or 0)
