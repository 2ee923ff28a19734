"""Precision and average precision of verdicts, against the formulas as their sources write them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.judging.usefulness import average_precision_at, precision_at

VERDICTS = st.lists(st.booleans(), min_size=1, max_size=12)


def mean_precision_of_useful_ranks(verdicts):
    """Return the mean of precision at the ranks of the useful hits, in fractions: Ragas's formula but for its 1e-10."""
    at = [Fraction(sum(verdicts[:rank]), rank) for rank in range(1, len(verdicts) + 1) if verdicts[rank - 1]]
    return float(sum(at) / len(at)) if at else 0.0


@settings(deadline=None, max_examples=50)
@given(VERDICTS)
def test_average_precision_is_what_ragas_computes(verdicts):
    ks = range(1, len(verdicts) + 1)
    found = average_precision_at(np.array([verdicts], dtype=float), list(ks))[:, 0]
    assert found == pytest.approx([mean_precision_of_useful_ranks(verdicts[:k]) for k in ks], abs=1e-12)
    assert ((found >= 0) & (found <= 1)).all()


@settings(deadline=None, max_examples=50)
@given(VERDICTS)
def test_precision_divides_by_k(verdicts):
    found = precision_at(np.array([verdicts], dtype=float), range(1, len(verdicts) + 1))[:, 0]
    assert found.tolist() == [sum(verdicts[:k]) / k for k in range(1, len(verdicts) + 1)]


def test_by_hand():
    table = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=float)
    np.testing.assert_allclose(precision_at(table, [1, 4]), [[1, 0, 0], [1 / 2, 0, 1 / 4]])
    np.testing.assert_allclose(average_precision_at(table, [1, 4]), [[1, 0, 0], [5 / 6, 0, 1 / 2]])


def test_a_hit_without_a_verdict_leaves_deeper_figures_without_a_value():
    table = np.array([[1, np.nan, 1]])
    np.testing.assert_array_equal(precision_at(table, [1, 2, 3]), [[1], [np.nan], [np.nan]])
    np.testing.assert_array_equal(average_precision_at(table, [1, 2, 3]), [[1], [np.nan], [np.nan]])
