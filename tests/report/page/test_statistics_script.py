"""The page's statistics are those of raglift.stats, over many random samples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from raglift.analysis.paired_statistics import VERDICTS, bound_of, interval_of, method_of, verdict, within_reach
from raglift.report.page.rendering import asset, one_script
from raglift.stats.intervals import difference_interval, normal_quantile, t_beyond, t_quantile
from raglift.stats.paired_tests import PairedDifference, holm, paired_differences
from raglift.stats.skewness import HALL_TEST
from raglift.types.metric import Metric

Values: TypeAlias = NDArray[np.float64]
Ask: TypeAlias = Callable[[str, Any], Any]

NDCG, DCG = Metric("ndcg", 10), Metric("dcg", 10)
CONFIDENCES = (0.8, 0.95, 0.99)
NAMES = "meanOf, meanInterval, differenceInterval, difference, pairedDifference, holm, verdict, quantileOfT, beyondT"


@pytest.fixture(scope="module")
def ask(browser: Any) -> Iterator[Ask]:
    """Evaluate an expression for each `one` of a list; lists of numbers arrive as arrays, and null in them is NaN."""
    page = browser.new_page()
    page.evaluate(one_script(asset("statistics.js"), f"globalThis.statistics = {{ {NAMES} }};"))

    def evaluate(expression: str, cases: Any) -> Any:
        script = f"""(text) => {{
          const {{ {NAMES} }} = statistics;
          const arrayOf = (one) => (one.values ? Float64Array.from(one.values, (value) => value ?? NaN) : one);
          const cases = JSON.parse(text).map((one) => (Array.isArray(one) ? one.map(arrayOf) : arrayOf(one)));
          return JSON.stringify(cases.map((one) => {expression}));
        }}"""
        return json.loads(page.evaluate(script, json.dumps(cases)))

    yield evaluate
    page.close()


def sent(values: Values) -> dict[str, list[float | None]]:
    return {"values": [None if np.isnan(value) else value for value in values.tolist()]}


def seed_of(seed: int) -> dict[str, str]:
    state: Any = np.random.default_rng(seed).bit_generator.state["state"]
    return {"state": str(state["state"]), "increment": str(state["inc"])}


def close(found: Any, expected: Any, *, relative: float = 0.0, absolute: float = 0.0) -> None:
    """Compare numbers, of which NaN arrives as null."""
    np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol=relative, atol=absolute)


def samples(random: np.random.Generator, n: int) -> list[Values]:
    """Differences of n queries: as metrics differ, and such as are hard on the tests."""
    rare = random.random(n) < 0.04
    small, large = random.uniform(0.0, 0.1, n), random.uniform(0.3, 1.0, n)
    graded = np.round(random.beta(2, 2, n) - random.beta(2, 2, n), 3)
    few = np.zeros(n)
    few[random.permutation(n)[: random.integers(11, 17)]] = random.choice([0.5, 0.25, -0.125])
    mixed = np.where(few != 0.0, random.uniform(-0.2, 1.0, n), 0.0)
    lone = small + 0.02
    lone[:1] = random.choice([-0.01, -0.03, -0.5])
    found = [
        random.integers(-1, 2, n).astype(float),
        random.choice([-1.0, 0.0, 1.0], n, p=[0.02, 0.9, 0.08]),
        graded,
        graded + random.choice([-0.04, 0.04]),
        random.normal(0.01, 0.3, n).clip(-1, 1),
        np.where(random.random(n) < 0.9, 0.0, graded),
        np.where(rare, -large, small),
        np.where(rare, -large, 0.02),
        np.where(random.random(n) < random.uniform(0.02, 0.4), -large, small + random.uniform(0.0, 0.5)),
        np.where(random.random(n) < 0.3, small, 0.0),
        random.choice([-1.0, 1.0], n, p=[0.2, 0.8]),
        few,
        mixed,
        mixed + random.choice([-1e-10, 1e-10], n),
        lone,
        np.full(n, random.choice([0.0, 0.1, 0.25])),
        0.3 + random.choice([1e-10, 1e-14]) * random.random(n),
        graded + random.choice([-1e-10, 1e-10, 2e-9], n),
        (random.random(n) - 0.5) / 3.0 + 1.0 / 3.0,
    ]
    found += [-one for one in found[1:]]
    return found + [np.where(random.random(n) < 0.15, np.nan, one) for one in found[::2]]


def described(columns: list[Values], confidence: float, metric: Metric, seed: int) -> list[PairedDifference]:
    bounds = [bound_of(metric)] * len(columns)
    found = paired_differences(np.column_stack(columns), seed=seed, confidence=confidence, bounds=bounds)
    return [within_reach(metric, one) for one in found]


@pytest.mark.slow
def test_paired_differences_are_those_of_python(ask: Ask) -> None:
    random = np.random.default_rng(20)
    sizes = [0, 1, 2, 3, 4, 5, 8, 13, 14, 15, 16, 17, 30, 63, 64, 65, 100, 129, *random.integers(18, 400, 16)]
    cases, expected = [], []
    for place, size in enumerate([*map(int, sizes), 1000, 5000]):
        confidence, metric, seed = CONFIDENCES[place % 3], DCG if place % 4 == 3 else NDCG, place % 2
        columns = samples(random, size)[:: 8 if size == 5000 else 1] + samples(random, size) * (size < 100)
        columns = [40.0 * one for one in columns] if metric is DCG else columns
        options = {"confidence": confidence, "bound": bound_of(metric), "seed": seed_of(seed)}
        cases += [(sent(one), options) for one in columns]
        expected += described(columns, confidence, metric, seed)
    assert len(expected) > 2000
    found = ask(
        "[pairedDifference(...one)].flatMap((found) => [found, verdict(found, found.p, one[1].confidence)])", cases
    )
    for name in ("n", "wins", "ties", "losses"):
        assert [one[name] for one, _ in found] == [getattr(one, name) for one in expected]
    assert [one["tooSkewed"] for one, _ in found] == [one.too_skewed for one in expected]
    close([one["mean"] for one, _ in found], [one.mean for one in expected], absolute=1e-12, relative=1e-12)
    for name in ("low", "high"):
        close([one[name] for one, _ in found], [getattr(one, name) for one in expected], absolute=1e-9, relative=1e-9)
    by_hall = np.array([one.test == HALL_TEST for one in expected])
    p, expected_p = np.array([one["p"] for one, _ in found]), np.array([one.p for one in expected])
    assert p[~by_hall].tolist() == expected_p[~by_hall].tolist()
    close(p[by_hall], expected_p[by_hall], absolute=1e-12)
    verdicts = [verdict(one, one.p, method_of(one.seed, one.confidence)) for one in expected]
    assert [said for _, said in found] == verdicts
    # What the samples are made for does occur
    counts = Counter(verdicts)
    assert set(counts) == set(VERDICTS[:4])
    assert min(counts.values()) > 50
    assert by_hall.sum() > 50
    assert {one.wins + one.losses for one in expected if one.wins + one.losses < one.n} >= {12, 13, 14, 15}
    assert sum(abs(one.high) == 1.0 or abs(one.low) == 1.0 for one in expected) > 50


@pytest.mark.slow
def test_means_and_their_intervals_are_those_of_python(ask: Ask) -> None:
    random = np.random.default_rng(21)
    cases = []
    for place, size in enumerate([0, 1, 1, 2, 2, 3, 4, *map(int, random.integers(5, 400, 80)), 5000]):
        hits = (random.random(size) < random.choice([0.02, 0.5, 0.9])).astype(float)
        some = [hits, random.beta(2, 1, size), np.ones(size), np.zeros(size), np.round(hits * random.random(size), 2)]
        some += [
            hits * (1.0 + 5e-10),
            np.full(size, 1.0 / 3.0),
            random.beta(5, 1, size) * 1.3,
            random.exponential(800.0, size),
        ]
        some += [np.where(random.random(size) < 0.2, np.nan, one) for one in some]
        cases += [(one, CONFIDENCES[place % 3], metric) for one in some for metric in (NDCG, DCG)]
    expected = [interval_of(metric, values, confidence) for values, confidence, metric in cases]
    found = ask(
        "[meanOf(one[0]), meanInterval(...one)]",
        [(sent(values), {"confidence": confidence, "bounded": metric is NDCG}) for values, confidence, metric in cases],
    )
    assert [interval is None for _, interval in found] == [one is None for one in expected]
    counted = [values[~np.isnan(values)] for values, _, _ in cases]
    means = [one.mean() if len(one) else np.nan for one in counted]
    close([mean for mean, _ in found], means, absolute=1e-12, relative=1e-12)
    known = [(interval, one) for (_, interval), one in zip(found, expected, strict=True) if one is not None]
    close([interval for interval, _ in known], [one for _, one in known], absolute=1e-9, relative=1e-9)


@pytest.mark.slow
def test_what_needs_no_p_value_is_there_without_one(ask: Ask) -> None:
    random = np.random.default_rng(22)
    columns = [one for size in (1, 2, 6, 40, 90) for one in samples(random, size)]
    options = {"confidence": 0.95, "bound": 1, "bounded": True, "seed": seed_of(7)}
    pairs = ask("[difference(...one), pairedDifference(...one)]", [(sent(one), options) for one in columns])
    assert [{**whole, **early} for early, whole in pairs] == [whole for _, whole in pairs]
    intervals = ask("differenceInterval(one, 0.9)", list(map(sent, columns)))
    close(intervals, [difference_interval(one, confidence=0.9) for one in columns], absolute=1e-9)


@pytest.mark.slow
def test_holm_is_that_of_python(ask: Ask) -> None:
    random = np.random.default_rng(23)
    sets = [np.round(random.random(size) ** 4, 3) for size in random.integers(0, 12, 300)]
    sets += [np.where(random.random(len(one)) < 0.3, np.nan, one) for one in sets]
    found = ask("[...holm(one)]", list(map(sent, sets)))
    close([p for one in found for p in one], np.concatenate([holm(one) for one in sets]), absolute=1e-15)


@pytest.mark.slow
def test_quantiles_and_tails_are_those_of_python(ask: Ask) -> None:
    freedoms = [*range(1, 130), 199, 250, 400, 999, 1000, 4999, 20_000, 99_999, 100_000]
    shares = (0.55, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995)
    pairs = [(freedom, share) for freedom in freedoms for share in shares]
    found = ask("quantileOfT(...one)", pairs)
    close(found, [t_quantile(*one) for one in pairs], relative=1e-11)
    normal = ask("quantileOfT(Infinity, one)", shares)
    close(normal, [normal_quantile(share) for share in shares], relative=1e-13)
    limits = [(freedom, limit) for freedom in freedoms for limit in (0.0, 0.3, 1.7, 1.75, 3.0, 8.0, 30.0)]
    close(ask("beyondT(...one)", limits), [t_beyond(*one) for one in limits], relative=1e-11)


def test_the_script_can_stand_in_a_page() -> None:
    text = asset("statistics.js")
    assert "</script" not in text
    assert "<!--" not in text
