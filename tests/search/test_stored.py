"""Races over stored scores: what they find, what they look at, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from raglift.errors import ConfigurationError
from raglift.search import race_stored


def table(means: list[float], queries: int = 120, seed: int = 0, *, grades: int = 1) -> dict[str, np.ndarray]:
    """Return scores of systems that find the same queries hard."""
    random = np.random.default_rng(seed)
    hard = random.random((queries, 1))
    chance = np.clip(np.array(means) + 0.6 * (hard - 0.5), 0, 1)
    values = random.binomial(grades, chance, size=(queries, len(means))) / grades
    return {f"s{number}": values[:, number] for number in range(len(means))}


def test_the_best_is_found_within_the_share() -> None:
    found = race_stored(table([0.4] * 20 + [0.9]), share=0.3)
    assert found.winner == "s20"
    assert found.regret == 0.0
    assert found.share <= 0.3
    assert found.questions == pytest.approx(found.share * 120 * 21)
    assert "s20" not in (*found.dropped, *found.set_aside)
    assert len({*found.left, *found.dropped, *found.set_aside}) == 21


def test_with_all_values_nothing_is_set_aside_and_the_best_wins() -> None:
    scores = table([0.3, 0.5, 0.7], grades=4)
    found = race_stored(scores, share=1.0)
    assert found.set_aside == ()
    assert found.winner == max(scores, key=lambda name: scores[name].mean())


def test_a_data_frame_says_the_same_as_a_mapping_and_a_seed_the_same_again() -> None:
    scores = table([0.4, 0.5, 0.6, 0.7])
    one, two = race_stored(scores, seed=3), race_stored(pd.DataFrame(scores), seed=3)
    assert (one.winner, one.rungs, one.left) == (two.winner, two.rungs, two.left)


@pytest.mark.parametrize("seed", range(5))
def test_constant_and_tied_systems_are_all_left_or_set_aside_never_dropped(seed: int) -> None:
    same = dict.fromkeys("abcd", np.full(60, 0.5))
    assert race_stored(same, share=0.6, seed=seed).dropped == ()
    zero = dict.fromkeys("ab", np.zeros(40))
    assert race_stored(zero, share=1.0, seed=seed).left == ("a", "b")


def test_other_ranges_are_those_of_the_metric() -> None:
    scores = {name: 100 * values for name, values in table([0.2, 0.8]).items()}
    assert race_stored(scores, share=0.8, high=100.0).winner == "s1"


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ({"a": [0.1, 0.2]}, {}, "found 1 system with 2 queries; expected two systems"),
        ({}, {}, "found 0 systems with no queries"),
        ({"a": [0.1, 0.2], "b": [0.1]}, {}, "found 2 systems with 1 and 2 queries"),
        ({"a": [0.1, float("nan")], "b": [0.1, 0.2]}, {}, 'scores of "a": found nan at query 1; expected a number'),
        ({"a": [0.1, 7.0], "b": [0.1, 0.2]}, {}, 'scores of "a": found 7 at query 1; expected a number from 0 to 1'),
        (
            {"a": [0.1] * 50, "b": [0.2] * 50},
            {"share": 0.05},
            "share: found 0.05, which is 5 values; expected at least 16, ",
        ),
        ({"a": [0.1] * 48, "b": [0.2] * 48}, {"share": 0.05}, "which is 4 values; expected at least 12, "),
        ({"a": [0.1] * 50, "b": [0.2] * 50}, {"share": "0.5"}, "share: found '0.5'; expected a number"),
        ({"a": [0.1] * 50, "b": [0.2] * 50}, {"low": 1.0, "high": 0.0}, "low, high: found 1.0, 0.0"),
        (pd.DataFrame([[0.1, 0.2]] * 50, columns=["a", "a"]), {}, 'scores: found "a" twice'),
        ({1: [0.1] * 50, "1": [0.2] * 50}, {}, 'scores: found "1" twice'),
        ({"a": [0.1] * 50, "b": [0.2] * 50}, {"share": 2.0}, "share: found 2.0; expected a number above 0"),
        ({"a": [0.1] * 50, "b": [0.2] * 50}, {"strata": ["x"]}, "strata: found 1"),
        ([[0.1, 0.2], [0.3, 0.4]], {}, "scores: found a list; expected the values of each system by its name"),
    ],
)
def test_what_cannot_be_raced_is_refused(scores: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        race_stored(scores, **options)
