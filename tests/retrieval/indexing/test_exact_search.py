"""Exact search: among some, and with equal scores."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.errors import MissingDependency
from raglift.retrieval.exact_search import allowed_numbers, exact_search, faiss_module
from raglift.types.documents import Chunk
from raglift.types.filters import Filter


def by_hand(vectors, queries, k, among=None):
    """Sort all by score, equal ones by number."""
    numbers = np.arange(len(vectors)) if among is None else among
    rows = [sorted((-float(vectors[number] @ query), number) for number in numbers)[:k] for query in queries]
    return [[-score for score, _ in row] for row in rows], [[number for _, number in row] for row in rows]


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_the_best_are_found_and_equal_ones_in_order(data: st.DataObject) -> None:
    count, queries = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 30))
    k = data.draw(st.integers(1, 70))
    # Whole numbers: every sum is exact, and many are equal
    values = np.random.default_rng(data.draw(st.integers(0, 99)))
    vectors = values.integers(-2, 3, (count, 4)).astype(np.float32)
    asked = values.integers(-2, 3, (queries, 4)).astype(np.float32)
    among = np.flatnonzero(values.random(count) < 0.6) if data.draw(st.booleans()) else None
    scores, numbers = exact_search(vectors, asked, k, among)
    expected_scores, expected = by_hand(vectors, asked, k, among)
    assert scores.tolist() == expected_scores
    assert numbers.tolist() == expected


def test_nothing_is_found_among_none() -> None:
    vectors = np.ones((3, 4), dtype=np.float32)
    nobody = np.empty(0, dtype=np.int64)
    assert exact_search(vectors, vectors, 5, nobody)[1].shape == (3, 0)
    assert exact_search(vectors, vectors[:0], 5)[0].shape == (0, 3)


def test_the_chunks_that_match_a_filter_are_searched() -> None:
    chunks = [Chunk("The lamp.", id=str(year), metadata={"year": year}) for year in (2022, 2025, 2023, 2024)]
    assert allowed_numbers(chunks, Filter.of({"year": {"gte": 2024}})).tolist() == [1, 3]


def test_without_faiss_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependency, match="faiss"):
        faiss_module()
