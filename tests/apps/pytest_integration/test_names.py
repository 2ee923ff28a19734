from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from raglift.apps.pytest_integration.expectation import MEANS, item_ids, safe_name

HOSTILE = [
    "a/b",
    "a\\b",
    "a::b",
    "a[b]",
    "a]@b",
    "a\nb",
    "a\x00b",
    "",
    "..",
    ".",
    " ",
    "é",
    "中文",
    "\ud800",
    "x" * 500,
]


@given(st.lists(st.text(), unique=True))
@example(HOSTILE)
@example([MEANS, f"{MEANS}-2", "a b", "a_b", "a/b", "a_b-" + "0" * 8])
def test_each_query_has_a_name_of_its_own_that_is_safe_in_a_node_id(query_ids: list[str]) -> None:
    names = item_ids(query_ids)
    assert len(names) == len(query_ids)
    assert len({MEANS, *names}) == len(names) + 1
    assert all(re.fullmatch(r"[\w.+=,-]{1,100}", name) and name.strip(".") for name in names)


def test_a_name_that_is_safe_is_the_id_itself() -> None:
    assert item_ids(["fog-signal-interval", "q1", "é2", "1.5"]) == ["fog-signal-interval", "q1", "é2", "1.5"]


def test_the_same_id_has_the_same_name_whatever_else_is_there() -> None:
    assert item_ids(["a/b", "x"])[0] == item_ids(["y", "a/b"])[1] == safe_name("a/b")
    assert safe_name("a/b").startswith("a_b-")
