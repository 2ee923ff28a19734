"""The space of a search: a sweep's grid, with ranges of numbers and choices inside its parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from raglift.base.validation import Keys, described, shown
from raglift.errors import Fault

AXES = ("chunkers", "embeddings", "retrievers", "rerankers")
"""The parts of a system that may have ranges."""
REST = "rest"
"""Stands for what is left of 1 when the other weights of a hybrid are taken from it."""
_RANGE = {"from", "to", "step"}
_MOST_VALUES = 1_000
"""Of one range."""
_MOST_ITEMS = 20_000
"""Of one axis."""
_DECIMALS = 10


@dataclass(frozen=True)
class Item:
    """One value of an axis without ranges, and what it was made of."""

    value: Any
    """As a sweep's file has it."""
    origin: int
    """The position of what it was written as, in the list of its axis."""
    settings: tuple[tuple[str, float | str], ...] = ()
    """What was chosen for each range or list of choices in it, by its path, as `size`."""


class Faults:
    """What is wrong with ranges, where it stands."""

    def __init__(self) -> None:
        self.found: list[tuple[Keys, str, str]] = []

    def note(self, keys: Keys, found: str, expected: str) -> None:
        """Note what was found and expected at a place."""
        self.found.append((keys, found, expected))

    def at(self, locate: Any) -> list[Fault]:
        """Return them with their places, as a function says these."""
        return [Fault(locate(keys), found, expected) for keys, found, expected in self.found]


def expand(axis: str, written: Any, faults: Faults) -> tuple[Item, ...]:
    """Return every value of an axis, with a number or a choice for each range.

    A mapping of `from`, `to` and `step` is a range of numbers, both ends included; a list inside a mapping is a choice;
    `rest` is what is left of 1. Of an overlap that is not less than its size there is none.

    Args:
        axis: `chunkers`, `embeddings`, `retrievers` or `rerankers`.
        written: as it stands in the file: one value or a list.
        faults: where what is wrong is noted.
    """
    items: list[Item] = []
    for origin, value in enumerate(written if isinstance(written, list) else [written]):
        keys: Keys = (axis, origin) if isinstance(written, list) else (axis,)
        for chosen, settings in _choices(value, keys, (), faults):
            if isinstance(chosen, Mapping) and _overlaps_itself(chosen):
                continue
            filled = _without_rest(chosen, keys, faults) if isinstance(chosen, Mapping) else chosen
            items.append(Item(filled, origin, settings))
            if len(items) > _MOST_ITEMS:
                faults.note((axis,), f"more than {_MOST_ITEMS:,} values", "fewer, as by larger steps")
                return ()
    if not items and written not in ([], None) and not faults.found:
        faults.note((axis,), "overlaps that are all at least as long as their chunks", "one that is shorter")
    return tuple(items)


def _choices(
    value: Any, keys: Keys, path: tuple[str, ...], faults: Faults
) -> Iterator[tuple[Any, tuple[tuple[str, float | str], ...]]]:
    """Yield each value that something with ranges stands for, and what was chosen in it."""
    name = ".".join(path)
    if isinstance(value, Mapping) and value.keys() & {"from", "to"} and path:
        for number in _numbers(value, keys, faults):
            yield number, ((name, number),)
    elif isinstance(value, Mapping):
        parts = [list(_choices(inner, (*keys, str(key)), (*path, str(key)), faults)) for key, inner in value.items()]
        for combined in itertools.product(*parts):
            chosen = {key: one for key, (one, _) in zip(value, combined, strict=True)}
            yield chosen, tuple(itertools.chain(*(settings for _, settings in combined)))
    elif isinstance(value, list) and path:
        for place, inner in enumerate(value):
            for chosen, settings in _choices(inner, (*keys, place), path, faults):
                scalar = chosen if isinstance(chosen, (int, float, str)) else str(place)
                yield chosen, settings or ((name, scalar),)
    else:
        yield value, ()


def _numbers(written: Mapping[Any, Any], keys: Keys, faults: Faults) -> Sequence[float]:
    """Return the numbers of a range, both ends included; whole ones as integers."""
    if written.keys() != _RANGE or not all(_is_number(each) for each in written.values()):
        faults.note(keys, shown(dict(written)), "three numbers, as {from: 200, to: 2000, step: 200}")
        return ()
    low, high, step = (Decimal(str(written[name])) for name in ("from", "to", "step"))
    if step <= 0 or high < low:
        wrong = f"from {low} to {high} by {step}"
        faults.note(keys, wrong, "a step above 0, and an end that is not before the start")
        return ()
    count = int((high - low) / step) + 1
    if count > _MOST_VALUES:
        faults.note(keys, f"{count:,} values", f"at most {_MOST_VALUES:,}, as by a larger step")
        return ()
    found = [low + step * number for number in range(count)]
    return [int(each) if each == each.to_integral_value() else float(each) for each in found]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _overlaps_itself(chunker: Mapping[Any, Any]) -> bool:
    size, overlap = chunker.get("size"), chunker.get("overlap")
    return _is_number(size) and _is_number(overlap) and float(overlap or 0) >= float(size or 0)


def _without_rest(value: Mapping[Any, Any], keys: Keys, faults: Faults) -> dict[Any, Any]:
    """Return a mapping in which `rest` is a number, wherever weights are."""
    done = {
        name: _without_rest(inner, keys, faults) if isinstance(inner, Mapping) else inner
        for name, inner in value.items()
    }
    resting = [name for name, inner in done.items() if inner == REST]
    if not resting:
        return done
    others = [inner for inner in done.values() if inner != REST]
    left = Decimal(1) - sum((Decimal(str(each)) for each in others if _is_number(each)), Decimal(0))
    if len(resting) > 1 or not others or not all(map(_is_number, others)) or not 0 < left < 1:
        faults.note(keys, described(value), "one weight that is `rest`, beside others that add up to less than 1")
        return done
    return {**done, resting[0]: round(float(left), _DECIMALS)}
