"""Confidence sequences: how often they hold the sum at every look, and what they become when all is drawn."""

import itertools
import math

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.judging.sequential_design import Design, Draw, judged
from raglift.stats import SequentialDraws, anytime_p_value, confidence_sequence
from raglift.stats.confidence_sequences import draws_needed, log_capital


def population(random: np.random.Generator, pairs: int = 60) -> tuple[Design, np.ndarray]:
    """Pairs of two systems, a model's grades of them, and whether people find them relevant."""
    weights = np.where(np.arange(pairs) % 2, 1.0, -1.0) / pairs * random.choice([0.5, 1.0, 2.0], pairs)
    values = (random.random(pairs) < 0.4).astype(float)
    groups = np.where(random.random(pairs) < 0.8, values, 1.0 - values).astype(np.int64)
    return Design(weights, groups, np.array([0.2, 0.8]), np.zeros(2), np.zeros(2), 0.0), values


def reviewed(design: Design, values: np.ndarray, random: np.random.Generator, draws: int) -> SequentialDraws:
    state = design.start()
    drawn: list[Draw] = []
    for _ in range(draws):
        chance = state.probabilities(state.predictions())
        pair = int(random.choice(len(chance), p=chance))
        drawn.append(Draw(pair, float(chance[pair]), state.reach(chance)))
        state.take(pair, float(values[pair]))
    return judged(design, drawn, values[[one.pair for one in drawn]].tolist()).draws


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_all_intervals_hold_the_sum_at_least_as_often_as_they_claim(confidence: float) -> None:
    random = np.random.default_rng(1)
    limit, missed, reviews = -math.log(1.0 - confidence), 0, 150
    for _ in range(reviews):
        design, values = population(random)
        capital = log_capital(reviewed(design, values, random, 60), np.array([float(design.weights @ values)]))
        missed += bool((capital >= limit).any())
    expected = (1.0 - confidence) * reviews
    assert missed <= expected + 3.0 * math.sqrt(expected * confidence)


def test_each_intervals_lies_in_the_one_before_and_the_last_of_a_census_is_the_sum() -> None:
    random = np.random.default_rng(2)
    design, values = population(random)
    found = confidence_sequence(reviewed(design, values, random, 60))
    assert len(found) == 61
    assert found[0] == pytest.approx(
        (design.weights[design.weights < 0].sum(), design.weights[design.weights > 0].sum())
    )
    for before, after in itertools.pairwise(found):
        assert before.low <= after.low <= after.high <= before.high
    assert found[-1] == pytest.approx((design.weights @ values,) * 2, abs=1e-9)


def test_the_capital_of_a_candidate_that_is_impossible_is_infinite_from_then_on() -> None:
    random = np.random.default_rng(3)
    design, values = population(random)
    draws = reviewed(design, values, random, 60)
    total = float(design.weights @ values)
    assert np.isinf(log_capital(draws, np.array([total + 0.01]))[-1, 0])
    assert anytime_p_value(draws, total + 0.01) == 0.0
    assert anytime_p_value(draws, total) > 0.05


def test_uniform_draws_of_zeros_and_ones_against_the_exact_capital_of_one_draw() -> None:
    one = np.ones(1)
    draws = SequentialDraws(0.5 * one, 0.5 * one, -0.5 * one, 0.5 * one, 0.5 * one, np.zeros(2), np.ones(2))
    stakes = np.clip(np.concatenate((np.geomspace(0.05, 1, 6), -np.geomspace(0.05, 1, 6))) * 2, -0.75 / 0.4, 0.75 / 0.6)
    (capital,) = log_capital(draws, np.array([0.6]))[1]
    assert capital == pytest.approx(math.log(np.mean(1 + stakes * (0.5 - 0.1))))


def test_arrays_that_do_not_fit_and_confidences_that_are_none_are_refused() -> None:
    one = np.ones(1)
    with pytest.raises(ConfigurationError, match="one number a draw"):
        SequentialDraws(one, one, one, one, one, one, one)
    nothing = SequentialDraws(*(np.zeros(0),) * 5, least=np.zeros(1), most=one)
    assert confidence_sequence(nothing) == ((0.0, 1.0),)
    with pytest.raises(ConfigurationError, match="confidence: found 1"):
        confidence_sequence(nothing, confidence=1)


def test_how_many_draws_are_needed() -> None:
    assert draws_needed(4.0, 0.1, 1.0, left=100) == 0
    assert draws_needed(0.0, 0.0, 1.0, left=100) is None
    close, far = (draws_needed(0.0, distance, 1.0, left=1000) for distance in (0.1, 0.5))
    assert close is not None
    assert far is not None
    assert far < close < 1000
    assert draws_needed(0.0, 1.0, 0.1, left=1000) == 1


def test_estimates_are_unbiased_whatever_is_predicted() -> None:
    random = np.random.default_rng(4)
    design, values = population(random)
    wrong = Design(design.weights, 1 - design.groups, design.prior, design.judged_before, design.values_before, 0.0)
    total = float(design.weights @ values)
    for each in (design, wrong):
        errors = []
        for _ in range(400):
            draws = reviewed(each, values, random, 8)
            errors += (draws.expected + draws.deviation - total).tolist()
        assert abs(np.mean(errors)) < 3.5 * np.std(errors) / math.sqrt(len(errors))


TINY = 1e-300
STAKES = [sign * 0.05 * 20 ** (step / 5) for sign in (1, -1) for step in range(6)]


def capital_by_hand(drawn: list[tuple[float, float, float, float]], candidate: float) -> float:
    """The mean of what each gambler has who starts with 1, from the values of each draw in plain numbers."""
    return sum(
        math.prod(
            1
            + min(max(stake / spread, -0.75 / max(reach - off, TINY)), 0.75 / max(reach + off, TINY))
            * (deviation - off)
            for expected, deviation, reach, spread in drawn
            for off in [candidate - expected]
        )
        for stake in STAKES
    ) / len(STAKES)


def every_order(design: Design, values: np.ndarray) -> list[tuple[float, list[Draw]]]:
    """All orders in which pairs can be drawn, with their probabilities."""
    found = []
    for order in itertools.permutations(range(len(design))):
        state, chance_of_all, draws = design.start(), 1.0, []
        for pair in order:
            chance = state.probabilities(state.predictions())
            draws.append(Draw(pair, float(chance[pair]), state.reach(chance)))
            chance_of_all *= float(chance[pair])
            state.take(pair, float(values[pair]))
        found.append((chance_of_all, draws))
    return found


def test_over_all_orders_the_capital_against_the_truth_stays_what_it_was_and_equals_plain_arithmetic() -> None:
    design, values = population(np.random.default_rng(6), pairs=5)
    truth = float(design.weights @ values)
    total, expected = 0.0, np.zeros(6)
    for chance, drawn in every_order(design, values):
        draws = judged(design, drawn, values[[one.pair for one in drawn]].tolist()).draws
        capital = np.exp(log_capital(draws, np.array([truth]))[:, 0])
        rows = list(
            zip(
                *(each.tolist() for each in (draws.expected, draws.deviation, draws.highest, draws.spread)), strict=True
            )
        )
        for number in range(6):
            assert capital[number] == pytest.approx(capital_by_hand(rows[:number], truth))
        total += chance
        expected += chance * capital
    assert total == pytest.approx(1.0)
    assert expected == pytest.approx(np.ones(6))  # no bet wins or loses on average: Ville's inequality holds
