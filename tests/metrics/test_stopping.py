"""RBP, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.metrics.computing import compute
from raglift.metrics.graded_measures import RBP


def test_worked_values_of_rbp(value) -> None:
    assert value("rbp@3", ["a", "b"], ["a", "x", "b"]) == pytest.approx(0.2 * (1 + 0.8**2))
    assert value("rbp(p=0.5)", ["a", ("b", 3)], ["x", "a", "b"]) == 0.5 * (0.5 + 0.25)
    assert value("rbp(p=0.5)@2", ["a", "b"], ["a", "b", "x"]) == 1 - 0.5**2


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 30))
def test_rbp_is_at_most_1_minus_p_to_the_k(judged, p: float, k: int) -> None:
    names = [f"c{number}" for number in range(30)]
    assert compute(judged((names, names)), RBP(p=p) @ k)[0] == pytest.approx(1 - p**k, abs=1e-9)
