"""Races: none of the best is dropped more often than promised, and what is clearly worse is dropped early."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.stats.racing import Race, stratified_batches

ALPHA = 0.1


def run(values: np.ndarray, batches: tuple[np.ndarray, ...], **options: object) -> Race:
    """Return a race over a table of queries × systems, until one system or no query is left."""
    race = Race.of(values.shape[1], len(values), **options)  # type: ignore[arg-type]
    for batch in batches:
        race = race.after(values[np.ix_(batch, race.running)])
        if len(race.running) == 1:
            break
    return race


def binary(draw: np.random.Generator, queries: int, chances: list[float], *, together: float) -> np.ndarray:
    """Return values of 0 and 1 with exactly these means where they divide; systems share the difficulty of a query."""
    common, own = draw.random(queries), draw.random((queries, len(chances)))
    same = draw.random((queries, len(chances))) < together
    return (np.where(same, common[:, None], own) < np.array(chances)).astype(float)


# The order of queries


@pytest.mark.slow
@given(st.integers(1, 200), st.integers(1, 40), st.integers(0, 5))
def test_each_query_is_in_one_batch(queries: int, size: int, seed: int):
    strata = np.random.default_rng(seed).choice([*"abc"], queries).tolist()
    for given_strata in (None, strata):
        batches = stratified_batches(queries, size, strata=given_strata, seed=seed)
        assert sorted(itertools.chain(*batches)) == list(range(queries))
        assert {len(batch) for batch in batches[1:]} <= {min(size, queries)}


def test_batches_have_each_stratum_in_its_share():
    strata = ["easy"] * 60 + ["hard"] * 30 + ["code"] * 10
    for batch in stratified_batches(100, 10, strata=strata, seed=1):
        assert [sum(strata[query] == name for query in batch) for name in ("easy", "hard", "code")] == [6, 3, 1]


# What is dropped


def test_what_is_clearly_worse_is_dropped_early_and_the_rest_stays():
    draw = np.random.default_rng(0)
    values = binary(draw, 400, [0.8, 0.78, *[0.2] * 18], together=0.5)
    race = run(values, stratified_batches(400, 20, seed=0))
    assert 0 in race.survivors or 1 in race.survivors
    assert race.dropped[2:].all()
    assert (race.asked_of[2:] <= 100).all()


def test_the_leader_is_never_dropped():
    values = np.zeros((64, 3))
    values[:, 1] = 1.0
    race = run(values, stratified_batches(64, 8, seed=0))
    assert race.leader == 1
    assert list(race.survivors) == [1]


def test_one_bet_by_hand():
    """Two systems with equal weights at first: the second lags by (1 − 0) / 2 at each of two queries."""
    race = Race.of(2, 10).after([[1.0, 0.0], [1.0, 0.0]])
    bets = np.array([0.9, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04])
    assert race.p == pytest.approx([1.0, 1.0 / np.mean((1 + bets * 0.5) ** 2)])
    # of the first, no wealth above 1 can have been made: it leads
    # then m = −(total lag of 2 · w) / 8 with the weight w of the first
    weight = 1 / (1 + np.exp(-4 * np.sqrt(2)))
    later = race.after([[0.0, 1.0]])
    lag = weight * (0.0 - 1.0) + weight * 2 / 8
    wealth = np.mean((1 + bets * 0.5) ** 2 * (1 + bets * lag))
    assert wealth < 1 / race.p[1]
    assert later.p[1] == race.p[1]  # the most that was ever made


def test_what_is_set_aside_is_neither_dropped_nor_asked_again():
    race = Race.of(3, 10).after([[1.0, 0.5, 0.0]], systems=[0, 1, 2]).after([[1.0, 0.5]], systems=[0, 1])
    assert list(race.survivors) == [0, 1, 2]
    assert list(race.running) == [0, 1]
    assert list(race.asked_of) == [2, 2, 1]
    assert race.means == pytest.approx([1.0, 0.5, 0.0])
    with pytest.raises(ConfigurationError, match=r"systems: found \[2\]; expected some of those that are"):
        race.after([[1.0]], systems=[2])


# How often one of the best is dropped


def dropped_a_best(tables: int, chances: list[float], *, finite: bool, stratified: bool, queries: int = 120) -> float:
    """Return how often any of the systems with the highest true mean was dropped."""
    wrong = 0
    for seed in range(tables):
        draw = np.random.default_rng([seed, queries, len(chances)])
        values = binary(draw, queries, chances, together=0.6)
        if finite:  # each column the same ones and zeros in another order: the means are exactly those
            for column, chance in enumerate(chances):
                values[:, column] = draw.permutation(np.arange(queries) < round(chance * queries))
        strata = list(np.argsort(np.argsort(values.mean(axis=1))) // (queries // 4)) if stratified else None
        batches = stratified_batches(queries, 12, strata=strata, seed=seed)
        race = run(values, batches, alpha=ALPHA, estimand="queries" if finite else "population")
        best = [number for number, chance in enumerate(chances) if chance == max(chances)]
        wrong += any(race.dropped[number] for number in best)
    return wrong / tables


CASES = {
    "all tied": [0.5] * 12,
    "tied near the edge": [0.95] * 12,
    "near-ties": [0.6, *[0.58] * 11],
    "two tied among worse ones": [0.6, 0.6, 0.55, 0.5, 0.4, 0.3, 0.2, 0.1],
}


@pytest.mark.slow
@pytest.mark.parametrize("chances", CASES.values(), ids=CASES)
@pytest.mark.parametrize(("finite", "stratified"), [(True, False), (True, True), (False, False)])
def test_a_best_is_dropped_at_most_as_often_as_promised(chances: list[float], finite: bool, stratified: bool):
    assert dropped_a_best(40, chances, finite=finite, stratified=stratified) <= ALPHA + 0.1


@pytest.mark.full
@pytest.mark.parametrize("chances", CASES.values(), ids=CASES)
@pytest.mark.parametrize(("finite", "stratified"), [(True, False), (True, True), (False, False), (False, True)])
def test_a_best_is_dropped_at_most_as_often_as_promised_in_2000_draws(
    chances: list[float], finite: bool, stratified: bool
):
    assert dropped_a_best(2000, chances, finite=finite, stratified=stratified) <= ALPHA


# Wrong input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimand": "mean"}, "estimand: found 'mean'; expected 'queries' or 'population'"),
        ({"low": 1.0, "high": 1.0}, "low, high: found 1.0, 1.0; expected two numbers, the first below the other"),
        ({"high": math.inf}, "low, high: found 0.0, inf"),
        ({"systems": 0}, "systems: found 0"),
    ],
)
def test_a_race_that_cannot_be_run_is_refused(change: dict[str, Any], message: str):
    with pytest.raises(ConfigurationError, match=message):
        Race.of(**{"systems": 3, "queries": 10, **change})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 4)), "values: found 4 systems; expected 3"),
        (np.zeros((7, 3)), "values: found 7 queries; expected at most 6 more"),
        (np.full((2, 3), 1.5), "values: found others; expected all from 0 to 1"),
        (np.full((2, 3), np.nan), "values: found others; expected all from 0 to 1"),
    ],
)
def test_values_that_do_not_belong_to_the_race_are_refused(values: np.ndarray, message: str):
    race = Race.of(3, 10).after(np.zeros((4, 3)))
    with pytest.raises(ConfigurationError, match=message):
        race.after(values)


def test_strata_are_one_for_each_query():
    with pytest.raises(ConfigurationError, match="strata: found 2; expected one for each of 3 queries"):
        stratified_batches(3, 2, seed=0, strata=["a", "b"])
