"""Samples of a known size, in which each unit has the probability that is written down."""

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.stats import draw_sample, inclusion_probabilities


def test_probabilities_are_in_proportion_to_sizes_and_sum_to_n():
    assert inclusion_probabilities([1, 1, 2, 4], 2) == pytest.approx([0.25, 0.25, 0.5, 1.0])
    # 10 would have more than 1: it is certain, and so is then 3 of the 2 that are left; the others share 1
    assert inclusion_probabilities([1, 2, 3, 10], 3) == pytest.approx([1 / 3, 2 / 3, 1, 1])
    assert inclusion_probabilities([5, 1], 7) == pytest.approx([1, 1])


@pytest.mark.parametrize("sizes", [[1.0] * 12, [1, 1, 2, 3, 1, 5, 1, 1, 2, 9, 1, 1]])
def test_units_are_drawn_as_often_as_said(sizes):
    chance = inclusion_probabilities(sizes, 5)
    times = np.zeros(len(sizes))
    for seed in range(2000):
        drawn = draw_sample(chance, seed)
        assert len(set(drawn.tolist())) == 5
        times[drawn] += 1
    assert times / 2000 == pytest.approx(chance, abs=0.045)


def test_a_seed_gives_the_same_sample_and_its_beginning_is_one_too():
    chance = np.full(50, 0.2)
    assert draw_sample(chance, 3).tolist() == draw_sample(chance, 3).tolist()
    assert draw_sample(chance, 3).tolist() != draw_sample(chance, 4).tolist()
    first = [draw_sample(chance, seed)[0] for seed in range(500)]
    assert len(set(first)) > 45


@pytest.mark.parametrize(
    ("probability", "message"),
    [([0.5, 0.2], "whole number"), ([0.0, 1.0], "above 0"), ([1.5, 0.5], "at most 1")],
)
def test_probabilities_that_cannot_be_are_refused(probability, message):
    with pytest.raises(ConfigurationError, match=message):
        draw_sample(probability)


def test_sizes_above_zero_are_needed():
    with pytest.raises(ConfigurationError, match="sizes: found 0; expected numbers above 0"):
        inclusion_probabilities([1, 0], 1)
    with pytest.raises(ConfigurationError, match="n: found 0"):
        inclusion_probabilities([1, 2], 0)
