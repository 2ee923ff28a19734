"""Any metadata of a hit can be compared and written as JSON; what can be written already is left as it is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.utilities.plain_values import plain, plain_metadata

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.binary(max_size=4)
VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner)
)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


def cyclic() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["self"] = found
    return found


def family() -> dict[str, Any]:
    """A parent and children that know each other, as nodes of a document do."""
    parent: dict[str, Any] = {"name": "parent", "children": []}
    for name in "abc":
        children = parent["children"]
        child = {"name": name, "parent": parent, "previous": children[-1] if children else None}
        if children:
            children[-1]["next"] = child
        children.append(child)
    return parent


def deep(levels: int) -> dict[str, Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return {"lists": found}


@pytest.mark.slow
@given(st.dictionaries(st.text(), VALUES))
def test_ordinary_metadata_is_the_same_object(metadata: dict[str, Any]) -> None:
    assert plain_metadata(metadata) is metadata
    json.dumps(plain(metadata), allow_nan=False)


@pytest.mark.parametrize(
    "metadata",
    [
        cyclic(),
        family(),
        deep(2000),
        {"odd": Unprintable()},
        {"odd": {"keys": {Unprintable(): 1}}},
        {"odd": np.array([Unprintable()], dtype=object)},
    ],
    ids=["cyclic", "parents and children", "deep", "repr raises", "repr of a key raises", "array of objects"],
)
def test_odd_metadata_becomes_texts_that_say_so(metadata: dict[str, Any]) -> None:
    made = plain_metadata(metadata)
    assert made is not metadata
    assert made == made.copy()
    assert len(json.dumps(made)) < 10_000
    assert plain_metadata(made) is made
    assert "… (" in json.dumps(made, ensure_ascii=False)
