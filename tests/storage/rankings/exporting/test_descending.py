"""Scores as trec_eval reads them: in single precision, strictly descending."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from raglift.storage.rankings.write import by_rank, descending

numbers = st.floats(allow_nan=False, allow_infinity=False)


def single(scores: list[float]) -> np.ndarray:
    """The scores as a program in C has them that reads a double and keeps a float, and takes tiny ones for 0."""
    with np.errstate(over="ignore", under="ignore"):
        read = np.array([float(repr(score)) for score in scores]).astype(np.float32)
    read[np.abs(read) < np.finfo(np.float32).smallest_normal] = 0
    return read


def numbers_below(score: np.float32) -> int:
    """How many finite numbers single precision has below a negative one; more than enough below any other."""
    lowest = int(np.finfo(np.float32).max.view(np.int32))
    return lowest - int(np.abs(score).view(np.int32)) if score < 0 else lowest


@pytest.mark.slow
@given(st.lists(numbers, max_size=12).map(lambda given: sorted(given, reverse=True)))
@example([-3.402823364973241e38] * 2)  # rounds to the lowest number that there is
@example([-3.4028232635611926e38] * 2)
@example([-3.4028232635611926e38] * 3)
@example([0.0, 0.0, 0.0, -1e-45])
@example([1e-40, 0.0, -1e-40])
@example([1.2e-38, 1.2e-38, 0.0])
@example([0.3, 0.3 - 1e-12, 0.3 - 2e-12, 0.1])
def test_whatever_is_returned_descends_strictly_and_keeps_what_it_can(given: list[float]) -> None:
    found = descending(given)
    if found is None:
        assert not np.isfinite(single(given)).all() or numbers_below(single(given).min()) < len(given) - 1
        return
    read = single(found.scores)
    assert (read[1:] < read[:-1]).all()
    changed = [before != after for before, after in zip(given, found.scores, strict=True)]
    assert sum(changed) == found.lowered
    own = single(given)
    assert bool((own[1:] < own[:-1]).all()) == (found.lowered == 0)


def test_what_descends_in_single_precision_is_left_alone() -> None:
    assert descending([3.25, 0.1, -2.0]) == ([3.25, 0.1, -2.0], 0)
    assert descending([7.0]) == ([7.0], 0)
    assert descending([]) == ([], 0)


def test_what_is_equal_in_single_precision_is_lowered_by_the_smallest_step() -> None:
    found = descending([0.5, 0.5, 0.5 - 1e-9, 0.25])
    assert found is not None
    assert found.lowered == 2
    assert (found.scores[0], found.scores[3]) == (0.5, 0.25)
    assert found.scores[1] == float(np.nextafter(np.float32(0.5), np.float32(0)))
    assert 0.4999999 < found.scores[2] < found.scores[1]


@pytest.mark.parametrize(
    "scores",
    [[0.1, 0.2], [0.3, None], [None], [0.3, math.nan], [math.inf, 1.0], [1e39, 1e38], [-3.4028234663852886e38] * 2],
)
def test_scores_that_do_not_tell_the_order_are_none(scores: list[float | None]) -> None:
    assert descending(scores) is None


def test_scores_by_rank_count_down_to_one() -> None:
    assert by_rank(3) == [3.0, 2.0, 1.0]
    assert by_rank(0) == []
