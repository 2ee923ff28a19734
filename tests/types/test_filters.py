"""Metadata filters: how they are written, what matches them, and what is refused."""

from __future__ import annotations

import pytest

from raglift.datasets.jsonl import read_queries, write_queries
from raglift.errors import DatasetError
from raglift.running.spec import dataset_hash
from raglift.types.dataset import Dataset
from raglift.types.filters import Filter, by_filter
from raglift.types.labels import Query


@pytest.mark.parametrize(
    ("written", "metadata", "matches"),
    [
        ({"year": 2024}, {"year": 2024}, True),
        ({"year": 2024}, {"year": 2024.0}, True),
        ({"year": 2024}, {"year": "2024"}, False),
        ({"year": 2024}, {}, False),
        ({"open": True}, {"open": True}, True),
        ({"open": True}, {"open": 1}, False),
        ({"tag": "a"}, {"tag": ["b", "a"]}, True),
        ({"language": ["de", "en"]}, {"language": "en"}, True),
        ({"language": ["de", "en"]}, {"language": "fr"}, False),
        ({"year": {"gte": 2020, "lt": 2024}}, {"year": 2020}, True),
        ({"year": {"gte": 2020, "lt": 2024}}, {"year": 2024}, False),
        ({"year": {"gt": 2020}}, {"year": "2021"}, False),
        ({"date": {"lte": "2024-06-30"}}, {"date": "2024-05-01"}, True),
        ({"year": 2024, "language": "de"}, {"year": 2024, "language": "en"}, False),
    ],
)
def test_a_chunk_matches_if_every_condition_does(written: dict, metadata: dict, *, matches: bool) -> None:
    found = Filter.of(written)
    assert found.matches(metadata) is matches
    assert Filter.of(found.to_dict()) == found
    assert found.to_dict() == written


def test_a_filter_says_what_it_asks() -> None:
    written = {"year": {"gte": 2020, "lt": 2024}, "language": ["de", "en"], "kind": "law"}
    assert str(Filter.of(written)) == 'year ≥ 2020 and year < 2024 and language in "de", "en" and kind = "law"'


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "an empty mapping"),
        ("year=2024", "expected a mapping from keys of the metadata"),
        ({"year": None}, "found null"),
        ({"year": {"above": 3}}, "expected one or more of gt, gte, lt, lte"),
        ({"year": {"gte": True}}, "a number or a text as a bound"),
        ({"year": {}}, "an empty mapping"),
        ({"year": []}, "an empty list"),
        ({"year": [None]}, "a list with"),
        ({"year": float("nan")}, "found"),
        ({"": 3}, "a key of the metadata"),
        ({7: 3}, "a key of the metadata"),
    ],
)
def test_what_is_no_filter_is_refused_with_its_place(wrong: object, told: str, tmp_path) -> None:
    with pytest.raises(DatasetError, match="filter") as caught:
        Query("a", "What year?", filter=wrong)  # type: ignore[arg-type]
    assert told.rsplit("found ", maxsplit=1)[-1] in str(caught.value) or told in str(caught.value)


def test_a_filter_is_read_from_labels_and_written_back(tmp_path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "a", "query": "What is new?", "relevant": ["New"], "filter": {"year": 2024}}\n')
    (query,) = read_queries(path)
    assert query.filter == Filter.of({"year": 2024})
    again = write_queries([query], tmp_path / "again.jsonl")
    assert '"filter": {"year": 2024}' in again.read_text()
    assert tuple(read_queries(again)) == (query,)


def test_another_filter_is_another_dataset() -> None:
    plain, first, second = (
        dataset_hash(Dataset((Query("a", "What is new?", filter=given),)))  # type: ignore[arg-type]
        for given in (None, {"year": 2024}, {"year": 2023})
    )
    assert len({plain, first, second}) == 3


def test_true_and_1_are_other_filters() -> None:
    true, one = Filter.of({"new": True}), Filter.of({"new": 1})
    assert true != one
    assert true.conditions[0] != "new is true"
    assert Filter.of({"new": [0, True]}) != Filter.of({"new": [False, 1]})
    assert one == Filter.of({"new": 1.0})
    assert hash(one) == hash(Filter.of({"new": 1.0}))
    assert by_filter([true, one, None, true], 4) == {true: [0, 3], one: [1], None: [2]}
