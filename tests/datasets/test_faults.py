from __future__ import annotations

import pytest

from raglift.utilities.validation import Location, shown


def test_places_nest() -> None:
    location = Location("queries.jsonl", [])
    assert str(location) == "queries.jsonl"
    assert str(location / "id") == "queries.jsonl: id"
    assert str(location.at_line(12) / "relevant" / 0 / "grade") == "queries.jsonl:12: relevant[0].grade"


def test_faults_of_inner_places_are_noted_together() -> None:
    location = Location("queries.jsonl", [])
    (location.at_line(3) / "id").fault("3", "a text")
    assert [str(fault) for fault in location.faults] == ["queries.jsonl:3: id: found 3; expected a text"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "true"),
        ({"a": 1, "b": 2}, 'an object with "a", "b"'),
        ("two\nlines", '"two\\nlines"'),
        ("half \ud800", '"half \\ud800"'),
        (10**99, "1" + "0" * 59 + "…"),
    ],
)
def test_values_are_shown_on_one_line(value: object, words: str) -> None:
    assert shown(value) == words
    words.encode()
