"""The smallest difference that differences of the kind seen would show."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.stats.paired_tests import paired_differences
from raglift.stats.power import minimum_detectable_effects


def test_effects_are_those_of_each_column_alone() -> None:
    matrix = np.random.default_rng(5).choice([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0], size=(70, 9))
    matrix[3, 2], matrix[:, 4], matrix[:, 5] = np.nan, 0.0, np.random.default_rng(6).normal(0.1, 0.3, size=70)
    together = minimum_detectable_effects(matrix, seed=3)
    alone = [minimum_detectable_effects(matrix[:, [column]], seed=3)[0] for column in range(9)]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(minimum_detectable_effects(matrix[:, ::-1], seed=3), alone[::-1])


def test_dense_differences_have_the_effect_of_the_t_test() -> None:
    sample = np.random.default_rng(1).normal(0.1, 0.25, size=400)
    t_test = (1.966 + 0.843) * sample.std(ddof=1) / 20  # quantiles of t with 399 degrees of freedom
    # A quantile of 1,000 samples has a standard error of 0.045 standard errors of the mean; three are allowed.
    assert minimum_detectable_effects(sample[:, np.newaxis], seed=0)[0] == pytest.approx(t_test, rel=3 * 0.045 / 2.8)


def test_losses_that_are_few_and_large_take_a_larger_effect_to_outweigh() -> None:
    wins, losses = np.array([0.05] * 90 + [-0.4] * 10), -np.array([0.05] * 90 + [-0.4] * 10)
    against, along = minimum_detectable_effects(np.stack([wins, 3 * wins + 0.2], axis=1), seed=0)
    assert against == minimum_detectable_effects(losses[:, np.newaxis], seed=0)[0]
    assert 3 * against == pytest.approx(along, rel=0.01)
    assert against > 1.1 * 2.8 * wins.std(ddof=1) / 10


def test_effects_of_what_does_not_vary_are_unknown() -> None:
    columns = np.array([[0.0, 0.25, np.nan, 1e-12], [0.0, 0.25, 1.0, -1e-12], [0.0, 0.25, np.nan, 0.0]])
    assert np.isnan(minimum_detectable_effects(columns, seed=0)).all()
    assert minimum_detectable_effects(np.empty((0, 2)), seed=0).shape == (2,)
    assert paired_differences(np.empty((0, 1)), seed=0)[0].n == 0


def test_a_power_that_is_not_above_alpha_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"power: found 0.05, with alpha 0.05; expected a power above alpha"):
        minimum_detectable_effects([[0.1], [0.2]], seed=0, power=0.05, alpha=0.05)
