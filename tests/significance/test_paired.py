"""Paired differences, described."""

from __future__ import annotations

import numpy as np

from raglift.significance import paired_difference, paired_differences


def test_a_column_is_described_as_it_is_alone() -> None:
    generator = np.random.default_rng(5)
    matrix = generator.choice([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0], size=(70, 9))
    matrix[3, 2] = np.nan
    together = paired_differences(matrix, seed=3)
    assert together == [paired_difference(matrix[:, column], seed=3) for column in range(9)]


def test_wins_ties_and_losses_are_counted_and_the_rest_left_out() -> None:
    found = paired_difference([1.0, 0.5, 1e-12, 0.0, -0.5, np.nan], seed=0)
    assert (found.n, found.wins, found.ties, found.losses, found.mean) == (5, 2, 2, 1, 0.2)
