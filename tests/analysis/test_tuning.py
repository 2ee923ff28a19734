"""Cross-validated choices: what a setting promises, and what choosing it gains on other queries."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.analysis.tuning import Setting, tuned
from raglift.errors import ConfigurationError
from raglift.metrics import NDCG

SETTINGS = tuple(Setting(k=k) for k in range(1, 21))
METRIC = NDCG @ 10


def test_a_choice_is_measured_on_queries_that_took_no_part():
    """Each setting is best at one query alone, so that none is chosen where it would help."""
    values = np.eye(10)
    found = tuned(values, SETTINGS[:10], METRIC, ["a"], folds=10 // 2, repeats=20)
    assert found.means == pytest.approx([0.1] * 10)
    assert found.tuned < 0.1
    assert found.optimism > 0


def test_a_setting_that_is_better_everywhere_is_always_chosen():
    values = np.vstack([np.full(20, 0.5), np.full(20, 0.6), np.full(20, 0.4)])
    found = tuned(values, SETTINGS[:3], METRIC, ["a"])
    assert found.best == 1
    assert found.chosen == ((1, 50),)
    assert found.tuned == pytest.approx(0.6)
    assert found.difference.mean == pytest.approx(0.1)
    assert found.optimism == pytest.approx(0.0)


@pytest.mark.slow
def test_settings_that_do_not_differ_gain_nothing_and_the_best_looks_better():
    """The mean of the best of 20 equal settings is too high; the cross-validated one is not."""
    draw = np.random.default_rng(0)
    optimism, gained = [], []
    for _ in range(60):
        difficulty = draw.random(60)
        values = (draw.random((20, 60)) * 0.5 + difficulty * 0.5 > 0.5).astype(float)
        found = tuned(values, SETTINGS, METRIC, ["a"], repeats=2)
        optimism.append(found.means[found.best] - np.mean(found.means))
        gained.append(found.difference.mean)
    assert np.mean(optimism) > 0.05
    assert abs(np.mean(gained)) < 0.02


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"folds": 1}, "folds: found 1"),
        ({"repeats": 0}, "repeats: found 0"),
        ({"folds": 15}, "found 20 labelled questions; expected at least 30, two for each of 15 folds"),
        ({"seed": -1}, "seed: found -1"),
    ],
)
def test_wrong_options_are_told(options: dict[str, int], told: str):
    with pytest.raises(ConfigurationError, match=told):
        tuned(np.zeros((3, 20)), SETTINGS[:3], METRIC, ["a"], **options)


def test_a_setting_that_is_best_as_it_is_is_kept():
    values = np.vstack([np.full(20, 0.6), np.full(20, 0.5)])
    found = tuned(values, SETTINGS[:2], METRIC, ["a"])
    assert found.best == 0
    assert f"Keep {SETTINGS[0]}: no other setting has a higher NDCG@10" in " ".join(str(found).split())


def test_a_choice_is_between_two_settings_or_more():
    with pytest.raises(ConfigurationError, match="tune: found 1 setting; expected two or more to choose from"):
        tuned(np.zeros((1, 20)), SETTINGS[:1], METRIC, ["a"])
