"""Judging lists of ids: what it takes for labels and rankings, and what it says where they are none."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import DatasetError
from raglift.matching.by_id import match_ids
from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.rule import MatchRule
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

NAMES = [f"c{number}" for number in range(12)]
labels = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3), max_size=6)
ids = st.lists(st.sampled_from(NAMES), max_size=10)  # the same id may come back twice


def by_objects(cases: list[tuple[dict[str, int], list[str]]]) -> MatchTable:
    """The ordinary way: a fact a label, a chunk a hit."""
    queries = [
        Query(str(number), "?", tuple(Fact((Passage(chunk_id=name, grade=g),)) for name, g in grades.items() if g))
        for number, (grades, _) in enumerate(cases)
    ]
    rankings = [Ranking.of((Chunk("text", id=name), None) for name in found) for _, found in cases]
    (judged,) = match_rankings(queries, [rankings], MatchRule())
    return judged


def matched(judged: MatchTable) -> list[tuple[int, int, int, int]]:
    rows = judged.matches
    return list(zip(rows.query.tolist(), rows.rank.tolist(), rows.fact.tolist(), rows.grade.tolist(), strict=True))


@pytest.mark.slow
@given(st.lists(st.tuples(labels, ids), min_size=1, max_size=8))
def test_the_matches_are_those_of_chunks_and_labels(cases: list[tuple[dict[str, int], list[str]]]) -> None:
    found = match_ids(
        {str(number): names for number, (_, names) in enumerate(cases)},
        {str(number): grades for number, (grades, _) in enumerate(cases)},
    )
    expected = by_objects(cases)
    assert found.queries == expected.queries
    for part, columns in {
        "facts": ("query", "ideal_grade", "passages"),
        "passages": ("first", "grades", "same_as"),
        "matches": ("query", "rank", "fact", "passage", "grade", "direction", "start", "end", "repeated", "relevant"),
        "satisfied": ("fact", "rank", "grade", "passage"),
    }.items():
        for column in columns:
            ours, theirs = (getattr(getattr(judged, part), column) for judged in (found, expected))
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{part}.{column}")
            assert ours.dtype == theirs.dtype, f"{part}.{column}"
    np.testing.assert_array_equal(found.hits, expected.hits)
    labelled = np.isin(found.repeats.query, expected.facts.query)
    np.testing.assert_array_equal(found.repeats.query[labelled], expected.repeats.query)
    np.testing.assert_array_equal(found.repeats.rank[labelled], expected.repeats.rank)
    assert found.passages.texts == expected.passages.texts
    assert found.passages.places == expected.passages.places


def test_a_query_without_a_ranking_came_back_empty() -> None:
    judged = match_ids({"b": ["x"], "c": ["x"]}, {"a": ["x"], "b": ["x"]})
    assert judged.hits.tolist() == [0, 1]
    assert matched(judged) == [(1, 1, 1, 1)]


def test_what_was_judged_irrelevant_is_no_fact() -> None:
    judged = match_ids({"a": ["no", "never", "yes"]}, {"a": {"no": 0, "never": -1, "yes": 2}, "b": {"no": 0}})
    assert judged.facts.query.tolist() == [0]
    assert matched(judged) == [(0, 3, 0, 2)]


@pytest.mark.parametrize(
    "ranking",
    [
        ("x", "y"),
        np.array(["x", "y"]),
        np.array(["x", "y"], dtype=object),
        pd.Series(["x", "y"], index=[7, 3]),
        (name for name in "xy"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_ranking_is_anything_that_gives_ids_in_order(ranking: Any) -> None:
    assert matched(match_ids({"a": ranking}, {"a": ["y"]})) == [(0, 2, 0, 1)]


@pytest.mark.parametrize(
    "labels",
    [["y", "y"], ("y",), {"y"}, {"y": 1}, {"y": np.int32(1)}, OrderedDict(y=1), (name for name in "y")],
    ids=lambda value: type(value).__name__,
)
def test_labels_are_ids_or_grades_of_ids(labels: Any) -> None:
    assert matched(match_ids({"a": ["x", "y"]}, {"a": labels})) == [(0, 2, 0, 1)]


@pytest.mark.parametrize(
    ("ranking", "found"),
    [
        ("xy", 'rankings: "a": found "xy"; expected a list of ids, best first'),
        ({"x": 0.5}, 'rankings: "a": found an object of type dict; expected a list of ids, best first'),
        (["x", 7], 'rankings: "a"[1]: found 7; expected an id, which is a text'),
        ([("x", 0.5)], 'rankings: "a"[0]: found a list of 2; expected an id, which is a text'),
    ],
    ids=repr,
)
def test_what_is_no_ranking_is_said(ranking: Any, found: str) -> None:
    with pytest.raises(DatasetError) as caught:
        match_ids({"a": ranking}, {"a": ["x"]})
    assert [str(fault) for fault in caught.value.faults] == [found]


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("xy", 'relevant: "a": found "xy"; expected a list of ids, or a mapping from id to grade'),
        ([3], 'relevant: "a"[0]: found 3; expected an id, which is a text'),
        (
            {"x": 0.5},
            'relevant: "a"."x": found 0.5; expected a grade: an integer, 0 for what was judged irrelevant',
        ),
        (
            {"x": True},
            'relevant: "a"."x": found true; expected a grade: an integer, 0 for what was judged irrelevant',
        ),
        ({"x": 1001}, 'relevant: "a"."x": found the grade 1001; expected grades up to 1000'),
    ],
    ids=repr,
)
def test_what_is_no_label_is_said(labels: Any, found: str) -> None:
    with pytest.raises(DatasetError) as caught:
        match_ids({"a": ["x"]}, {"a": labels})
    assert [str(fault) for fault in caught.value.faults] == [found]


def test_every_fault_is_listed() -> None:
    rankings: Any = {"a": "x", "b": [1], 7: ["x"]}
    relevant: Any = {"a": {"x": None}, "b": {"x": "high", "y": 1}, None: ["x"]}
    with pytest.raises(DatasetError, match="nothing was scored") as caught:
        match_ids(rankings, relevant)
    assert [fault.where for fault in caught.value.faults] == [
        "relevant",
        'relevant: "a"."x"',
        'relevant: "b"."x"',
        "rankings",
        'rankings: "a"',
        'rankings: "b"[0]',
    ]


@pytest.mark.parametrize("given", [[("a", ["x"])], "a", None])
def test_both_are_mappings(given: Any) -> None:
    with pytest.raises(DatasetError, match="expected a mapping from query id to a list of ids, best first"):
        match_ids(given, {"a": ["x"]})
    with pytest.raises(DatasetError, match=r"relevant: found .* expected a mapping from query id to a list of ids"):
        match_ids({"a": ["x"]}, given)


def test_nothing_that_was_given_is_changed() -> None:
    rankings, relevant = {"a": ["x", "x"]}, {"a": {"x": 1, "y": 0}}
    match_ids(rankings, relevant)
    assert rankings == {"a": ["x", "x"]}
    assert relevant == {"a": {"x": 1, "y": 0}}
