"""Metadata filters of queries: which chunks a query may be answered from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from raglift.types.checking import raise_faults
from raglift.utilities.validation import Location, described, quoted

EQUALS, ANY_OF = "eq", "in"
BOUNDS = ("gt", "gte", "lt", "lte")
"""The bounds of a range: above, at least, below, at most."""
_EXPECTED = (
    "a text, a number, true or false; a list of these for any of them; or bounds, as {gte: 2020, lt: 2024} "
    f"({', '.join(BOUNDS)})"
)

Value = str | int | float | bool


@dataclass(frozen=True)
class Condition:
    """What a filter asks of one key of the metadata.

    Raises:
        DatasetError: no key, or a value that nothing can be compared with.
    """

    key: str
    """The key in the metadata."""
    operator: str
    """`eq`, `in`, or a bound: `gt`, `gte`, `lt`, `lte`."""
    values: tuple[Value, ...]
    """What is compared with: one value, but several of `in`."""

    def __eq__(self, other: object) -> bool:
        """Return whether both ask the same: for Python, 1 equals true."""
        if not isinstance(other, Condition):
            return NotImplemented
        mine, theirs = ((one.key, one.operator, one.values, [*map(_kind, one.values)]) for one in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.key, self.operator, self.values))

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether metadata fulfils it; one without the key does not. Of a list, any element is enough."""
        found = metadata.get(self.key)
        several = found if isinstance(found, (list, tuple, set, frozenset)) else (found,)
        return any(self._fits(one) for one in several)

    def _fits(self, found: Any) -> bool:
        if self.operator in (EQUALS, ANY_OF):
            return any(_is_equal(found, value) for value in self.values)
        bound = self.values[0]
        if not _are_ordered(found, bound):
            return False
        return bool(
            {"gt": found > bound, "gte": found >= bound, "lt": found < bound, "lte": found <= bound}[self.operator]
        )


def _kind(value: object) -> type | None:
    for kind in (bool, str):
        if isinstance(value, kind):
            return kind
    return float if isinstance(value, (int, float)) else None


def _is_equal(found: Any, value: Value) -> bool:
    """Return whether two values are the same: 1 is neither true nor "1"."""
    return _kind(found) is not None and _kind(found) is _kind(value) and bool(found == value)


def _are_ordered(found: Any, bound: Value) -> bool:
    return _kind(found) is _kind(bound) and _kind(found) in (str, float)


@dataclass(frozen=True)
class Filter:
    """Which chunks may be found for a query: those whose metadata fulfil every condition."""

    conditions: tuple[Condition, ...]
    """At least one."""

    @classmethod
    def of(cls, mapping: object, location: Location | None = None) -> Filter:
        """Read a filter as it is written in labels: `{"year": 2024, "language": ["de", "en"], "pages": {"gte": 10}}`.

        Args:
            mapping: the filter.
            location: where faults are noted; by default the first ones are raised.

        Raises:
            DatasetError: something else than such a mapping, and no location.
        """
        if isinstance(mapping, Filter):
            return mapping
        faults: list[Any] = []
        where = Location("filter", faults) if location is None else location
        conditions: list[Condition] = []
        if not isinstance(mapping, Mapping) or not mapping:
            found = "an empty mapping" if isinstance(mapping, Mapping) else described(mapping)
            where.fault(found, 'a mapping from keys of the metadata to values, as {"year": 2024}')
        else:
            for key, value in mapping.items():
                conditions += _conditions(key, value, where)
        raise_faults("filter", faults)
        return cls(tuple(conditions))

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a chunk with such metadata may be found."""
        return all(condition.matches(metadata) for condition in self.conditions)

    def to_dict(self) -> dict[str, Any]:
        """Return it as it is written in labels: `Filter.of(filter.to_dict()) == filter`."""
        written: dict[str, Any] = {}
        for one in self.conditions:
            if one.operator in BOUNDS:
                written.setdefault(one.key, {})[one.operator] = one.values[0]
            else:
                written[one.key] = one.values[0] if one.operator == EQUALS else list(one.values)
        return written

    def __str__(self) -> str:
        return " and ".join(_text(one) for one in self.conditions)


_SIGNS = {EQUALS: "=", "gt": ">", "gte": "≥", "lt": "<", "lte": "≤"}


def _text(one: Condition) -> str:
    if one.operator == ANY_OF:
        return f"{one.key} in {', '.join(map(_shown, one.values))}"
    return f"{one.key} {_SIGNS[one.operator]} {_shown(one.values[0])}"


def _shown(value: Value) -> str:
    return quoted(value) if isinstance(value, str) else str(value)


def _conditions(key: object, value: object, location: Location) -> list[Condition]:
    """Return the conditions of one key; what is wrong with them is noted."""
    if not isinstance(key, str) or not key.strip():
        location.fault(f"the key {described(key)}", "a text: a key of the metadata")
        return []
    place = location / key
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in BOUNDS]
        if unknown or not value:
            found = f"the bound {described(unknown[0])}" if unknown else "an empty mapping"
            place.fault(found, f"one or more of {', '.join(BOUNDS)}, as {{gte: 2020, lt: 2024}}")
            return []
        unusable = [bound for bound in value.values() if not _is_value(bound) or isinstance(bound, bool)]
        if unusable:
            place.fault(described(unusable[0]), "a number or a text as a bound")
            return []
        return [Condition(key, name, (value[name],)) for name in BOUNDS if name in value]
    if isinstance(value, (list, tuple)):
        if not value or not all(map(_is_value, value)):
            wrong = next((one for one in value if not _is_value(one)), None)
            place.fault("an empty list" if not value else f"a list with {described(wrong)}", _EXPECTED)
            return []
        return [Condition(key, ANY_OF, tuple(value))]
    if not _is_value(value):
        place.fault(described(value), _EXPECTED)
        return []
    return [Condition(key, EQUALS, (value,))]  # type: ignore[arg-type]  # it was checked


def by_filter(filters: Sequence[Filter | None] | None, count: int) -> dict[Filter | None, list[int]]:
    """Return the places of the queries that have each filter.

    Args:
        filters: one for each query, None for a query without; None where no query has one.
        count: how many queries there are.
    """
    groups: dict[Filter | None, list[int]] = {}
    for place in range(count):
        groups.setdefault(None if filters is None else filters[place], []).append(place)
    return groups


def _is_value(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
