"""Holm's correction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.stats.paired_tests import holm

p_values = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


def test_the_step_down_by_hand() -> None:
    # 4 × 0.01, 3 × 0.02 = 0.06, 2 × 0.025 raised to 0.06 by the one before, 1 × 0.5
    np.testing.assert_allclose(holm([0.02, 0.5, 0.01, 0.025]), [0.06, 0.5, 0.04, 0.06])


def test_equal_p_values_are_adjusted_alike_and_none_passes_1() -> None:
    np.testing.assert_allclose(holm([0.4, 0.4, 0.9]), [1.0, 1.0, 1.0])


def test_what_was_not_tested_does_not_count() -> None:
    np.testing.assert_allclose(holm([np.nan, 0.02, np.nan, 0.04]), [np.nan, 0.04, np.nan, 0.04])
    assert np.isnan(holm([np.nan])).all()
    assert len(holm([])) == 0


@pytest.mark.parametrize("outside", [-0.1, 1.5])
def test_what_is_no_p_value_is_refused(outside: float) -> None:
    with pytest.raises(ConfigurationError, match=f"p_values: found {outside}; expected numbers from 0 to 1, or NaN"):
        holm([0.5, outside])


@settings(deadline=None)
@given(p_values, st.floats(0.001, 0.5))
def test_it_rejects_what_the_step_down_rejects(found: list[float], level: float) -> None:
    """Holm's own words: go through them from the smallest, and stop at the first above level / what is left."""
    rejected = 0
    for number, p in enumerate(sorted(found)):
        if p * (len(found) - number) > level:
            break
        rejected += 1
    assert (holm(found) <= level).sum() == rejected


@pytest.mark.slow
def test_it_keeps_the_family_wise_error() -> None:
    drawn = np.random.default_rng(0).random((4000, 5))
    rejected = np.mean([(holm(row) <= 0.05).any() for row in drawn])
    # 1 − (1 − 0.05/5)⁵ = 0.049 of families of independent true hypotheses; standard error 0.0034, four are allowed.
    assert rejected == pytest.approx(0.049, abs=4 * 0.0034)
