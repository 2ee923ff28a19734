"""Rankings and labels as numbers: they are what dictionaries of texts are, in any order and however many at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.matching.by_id import match_ids
from raglift.matching.numbered import NumberedLabels, places_of, repeats_an_id, texts_at, whole_rankings

NAMES = ["a", "é", "zz", "\U0001f600", "10", "b c"]
QUERIES = ["q1", "q2", "q3"]
ROWS = st.lists(
    st.tuples(st.sampled_from(QUERIES), st.sampled_from(NAMES), st.integers(-2, 3)), unique_by=lambda row: row[:2]
)


def numbered(rows: list[tuple[str, str, int]], *, arrow: bool = True) -> NumberedLabels:
    return NumberedLabels.of_columns(
        QUERIES,
        pa.array(NAMES) if arrow else np.array(NAMES, dtype=np.object_),
        np.array([QUERIES.index(query) for query, _, _ in rows], dtype=np.int32),
        np.array([NAMES.index(id_) for _, id_, _ in rows], dtype=np.int32),
        np.array([grade for *_, grade in rows], dtype=np.int64),
    )


def plain(rows: list[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    return {query: {id_: grade for name, id_, grade in rows if name == query} for query in QUERIES}


@pytest.mark.slow
@given(ROWS, st.booleans(), st.sets(st.sampled_from(QUERIES)))
def test_labels_are_those_of_dictionaries(rows: list[tuple[str, str, int]], arrow: bool, some: set[str]) -> None:
    labels, expected = numbered(rows, arrow=arrow), plain(rows)
    assert labels == expected  # as mappings
    assert labels.to_dict() == expected
    assert [list(of_query) for of_query in labels.values()] == [list(of_query) for of_query in expected.values()]
    kept = [query for query in QUERIES if query in some]
    assert labels.only(kept).to_dict() == {query: expected[query] for query in kept}
    assert "q4" not in labels
    with pytest.raises(KeyError):
        labels["q4"]


@pytest.mark.slow
@given(ROWS, st.lists(st.permutations(NAMES), min_size=3, max_size=3))
def test_labels_as_numbers_match_as_dictionaries_do(rows: list[tuple[str, str, int]], orders: list[list[str]]) -> None:
    rankings = dict(zip(QUERIES, orders, strict=True))
    ours, theirs = match_ids(rankings, numbered(rows)), match_ids(rankings, plain(rows))
    assert ours.query_ids == theirs.query_ids
    for part in ("facts", "matches", "irrelevant", "pooled"):
        for one, other in zip(vars(getattr(ours, part)).values(), vars(getattr(theirs, part)).values(), strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(ours.judged_irrelevant, theirs.judged_irrelevant)


def test_a_grade_that_is_too_high_is_named_in_labels_as_numbers() -> None:
    from raglift.errors import DatasetError

    with pytest.raises(DatasetError, match=r'relevant: "q1"\."a": found the grade 1001; expected grades up to 1000'):
        match_ids({"q1": ["a"]}, numbered([("q1", "a", 1001)]))


@given(st.lists(st.sampled_from(NAMES), unique=True), st.lists(st.sampled_from(NAMES), unique=True), st.booleans())
def test_places_are_those_of_a_search(wanted: list[str], texts: list[str], half: bool) -> None:
    texts = [*texts, "\ud800"] if half else texts  # which Arrow cannot hold
    found = places_of(np.array(wanted, dtype=np.object_), np.array(texts, dtype=np.object_))
    assert found.tolist() == [texts.index(name) if name in texts else -1 for name in wanted]
    assert texts_at(pa.array(wanted, pa.string()), np.arange(len(wanted))[::-1]) == wanted[::-1]


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_whole_rankings_come_once_and_in_order(lengths: list[int], at_once: int) -> None:
    parts = list(whole_rankings(np.array(lengths, dtype=np.int64), at_once))
    assert [place for part in parts for place in range(part.start, part.stop)] == list(range(len(lengths)))
    for part in parts:
        assert part.stop - part.start == 1 or sum(lengths[part]) <= at_once


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5))), st.sampled_from([1, 2**30]))
def test_an_id_that_comes_twice_is_found(rows: list[tuple[int, int]], scale: int) -> None:
    query = np.array([query for query, _ in rows], dtype=np.int32)
    ids = np.array([id_ * scale for _, id_ in rows], dtype=np.int64)
    assert repeats_an_id(query, ids, 5, 5 * scale + 1) == any(count > 1 for count in Counter(rows).values())
