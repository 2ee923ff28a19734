"""Which systems may be the best: how often the true best is left out, by simulation, and what is exact."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.stats.best_of_many import best_of_many

SYSTEMS, DRAWS = 12, 150


def normal(random, queries):
    """All equal, and as alike as systems of one sweep are."""
    return random.normal(0.5, 0.3, (queries, 1)) + random.normal(0.0, 0.15, (queries, SYSTEMS))


def hits(random, queries):
    """HitRate: systems agree on nine queries of ten."""
    common, own = random.random((queries, 1)) < 0.6, random.random((queries, SYSTEMS)) < 0.6
    return np.where(random.random((queries, SYSTEMS)) < 0.1, own, common).astype(float)


def skewed(random, queries):
    """The first system against many small wins and a few large losses of every other."""
    change = np.where(random.random((queries, SYSTEMS)) < 0.1, -0.45, 0.05)
    change[:, 0] = 0.0
    return 0.5 + change


def two_best(random, queries):
    """Two equal ones, and the others a little worse."""
    values = normal(random, queries)
    values[:, 2:] -= 0.05
    return values


@pytest.mark.full
@pytest.mark.parametrize("draw", [normal, hits, skewed, two_best])
@pytest.mark.parametrize("queries", [40, 200])
def test_the_true_best_is_left_out_in_at_most_5_percent(draw, queries):
    random = np.random.default_rng(7)
    left_out = sum(
        not best_of_many(draw(random, queries), seed=number, resamples=400, bound=1.0).may_be_best[0]
        for number in range(DRAWS)
    )
    assert left_out / DRAWS <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / DRAWS)


@pytest.mark.slow
def test_systems_that_are_clearly_worse_are_told_from_the_best():
    values = two_best(np.random.default_rng(1), 300)
    values[:, 5:] -= 0.1
    assert best_of_many(values, seed=0, bound=1.0).may_be_best.tolist()[:2] == [True, True]
    assert not best_of_many(values, seed=0, bound=1.0).may_be_best[5:].any()


def test_equal_systems_and_single_ones_and_no_queries_may_all_be_the_best():
    same = np.repeat(np.random.default_rng(4).random((50, 1)), 3, axis=1)
    assert best_of_many(same, seed=0).may_be_best.all()
    assert best_of_many(same[:, :1], seed=0).may_be_best.all()
    nothing = best_of_many(np.full((5, 3), np.nan), seed=0)
    assert (nothing.queries, nothing.may_be_best.all()) == (0, True)


def test_queries_without_a_value_of_some_system_count_for_none():
    values = two_best(np.random.default_rng(5), 80)
    gaps = values.copy()
    gaps[60:, 4] = np.nan
    found, expected = best_of_many(gaps, seed=1), best_of_many(values[:60], seed=1)
    assert found.queries == 60
    assert (found.p == expected.p).all()


def test_wins_alone_prove_nothing_where_one_loss_could_outweigh_them():
    values = np.zeros((40, 2))
    values[:, 1] = 0.02  # a little better on every query seen
    assert best_of_many(values, seed=0, bound=1.0).may_be_best.all()
    assert best_of_many(values, seed=0).may_be_best.tolist() == [False, True]
    values[:, 1] = 0.5
    assert best_of_many(values, seed=0, bound=1.0).may_be_best.tolist() == [False, True]


def test_no_system_at_all_is_refused():
    with pytest.raises(ConfigurationError, match="values: found no system; expected at least one"):
        best_of_many(np.empty((5, 0)), seed=0)
