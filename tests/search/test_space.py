"""Ranges and choices become the values of a sweep's axes."""

from __future__ import annotations

from typing import Any

import pytest

from raglift.search.space import Faults, Item, expand


def values(axis: str, written: Any) -> list[Any]:
    faults = Faults()
    items = expand(axis, written, faults)
    assert faults.found == []
    return [item.value for item in items]


def test_values_without_ranges_stay_as_they_are():
    assert values("chunkers", ["recursive:500/0", "token:100/0"]) == ["recursive:500/0", "token:100/0"]
    assert values("chunkers", "recursive:500/0") == ["recursive:500/0"]


def test_a_range_has_both_ends_and_whole_numbers_are_integers():
    chunkers = values("chunkers", {"splitter": "recursive", "size": {"from": 200, "to": 600, "step": 200}})
    assert [each["size"] for each in chunkers] == [200, 400, 600]
    assert all(isinstance(each["size"], int) for each in chunkers)
    weights = values("retrievers", {"hybrid": {"dense": {"from": 0.1, "to": 0.4, "step": 0.1}, "bm25": "rest"}})
    assert [each["hybrid"]["dense"] for each in weights] == [0.1, 0.2, 0.3, 0.4]
    assert [each["hybrid"]["bm25"] for each in weights] == [0.9, 0.8, 0.7, 0.6]


def test_a_list_inside_a_mapping_is_a_choice():
    chunkers = values("chunkers", {"splitter": ["recursive", "token"], "size": 300, "overlap": [0, 50]})
    assert [(each["splitter"], each["overlap"]) for each in chunkers] == [
        ("recursive", 0),
        ("recursive", 50),
        ("token", 0),
        ("token", 50),
    ]


def test_an_overlap_that_is_not_less_than_its_size_is_left_out():
    chunkers = values("chunkers", {"splitter": "recursive", "size": [100, 300], "overlap": [0, 100]})
    assert [(each["size"], each["overlap"]) for each in chunkers] == [(100, 0), (300, 0), (300, 100)]


def test_what_was_chosen_is_kept_beside_each_value():
    items = expand(
        "chunkers", ["token:100/0", {"splitter": "recursive", "size": {"from": 1, "to": 2, "step": 1}}], Faults()
    )
    assert items[0] == Item("token:100/0", 0)
    assert items[2] == Item({"splitter": "recursive", "size": 2}, 1, (("size", 2),))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"from": 1, "to": 5}, "three numbers"),
        ({"from": 1, "to": 5, "step": 1, "by": 2}, "three numbers"),
        ({"from": 1, "to": "5", "step": 1}, "three numbers"),
        ({"from": 1, "to": float("inf"), "step": 1}, "three numbers"),
        ({"from": 5, "to": 1, "step": 1}, "an end that is not before the start"),
        ({"from": 1, "to": 5, "step": 0}, "a step above 0"),
        ({"from": 1, "to": 1_000_000, "step": 1}, "at most 1,000"),
    ],
)
def test_a_wrong_range_is_told(written: Any, expected: str):
    faults = Faults()
    expand("chunkers", [{"splitter": "recursive", "size": written}], faults)
    ((keys, _, told),) = faults.found
    assert keys == ("chunkers", 0, "size")
    assert expected in told


def test_a_range_backwards_is_told_with_its_ends():
    faults = Faults()
    expand("chunkers", [{"splitter": "recursive", "size": {"from": 900, "to": 300, "step": 100}}], faults)
    assert [found for _, found, _ in faults.found] == ["from 900 to 300 by 100"]


def test_overlaps_that_leave_no_chunker_are_told():
    faults = Faults()
    written = [{"splitter": "recursive", "size": {"from": 100, "to": 200, "step": 100}, "overlap": 500}]
    assert expand("chunkers", written, faults) == ()
    assert faults.found == [
        (("chunkers",), "overlaps that are all at least as long as their chunks", "one that is shorter")
    ]


@pytest.mark.parametrize(
    "hybrid", [{"dense": "rest", "bm25": "rest"}, {"dense": "rest"}, {"dense": 1.5, "bm25": "rest"}]
)
def test_a_rest_of_nothing_is_told(hybrid: dict[str, Any]):
    faults = Faults()
    expand("retrievers", [{"hybrid": hybrid}], faults)
    assert [told for _, _, told in faults.found] == [
        "one weight that is `rest`, beside others that add up to less than 1"
    ]


def test_too_many_values_are_told():
    faults, numbers = Faults(), {"from": 1, "to": 1000, "step": 1}
    assert expand("chunkers", {"splitter": "recursive", "size": numbers, "overlap": numbers}, faults) == ()
    assert faults.found[-1][1:] == ("more than 20,000 values", "fewer, as by larger steps")
