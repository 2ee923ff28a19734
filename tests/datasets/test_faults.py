from __future__ import annotations

import pytest

from raglift.utilities.validation import Location, shown


def test_places_nest() -> None:
    location = Location("queries.jsonl", [])
    assert str(location) == "queries.jsonl"
    assert str(location / "id") == "queries.jsonl: id"
    assert str(location.at_line(12) / "relevant" / 0 / "grade") == "queries.jsonl:12: relevant[0].grade"


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
