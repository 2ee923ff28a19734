"""The benchmark of searches: few runs find what is nearly the best, and drop none of the best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from raglift.search import race_stored


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("search")


def test_few_searches_find_better_cells_than_uniform_samples(benchmark: Any) -> None:
    draw = np.random.default_rng(0)
    means = np.linspace(0.3, 0.6, 60)
    hard = draw.normal(0, 0.25, (120, 1))
    values = np.clip(means + hard + draw.normal(0, 0.2, (120, 60)), 0, 1)
    true = values.mean(axis=0)
    found = [race_stored(dict(enumerate(values.T)), share=0.25, seed=seed) for seed in range(20)]
    regret = np.array([each.regret for each in found])
    other = true.max() - true[[benchmark.sampled(values, each.share, seed) for seed, each in enumerate(found)]]
    assert all(each.share <= 0.25 for each in found)
    assert not any(str(true.argmax()) in each.dropped for each in found)
    assert regret.mean() <= 0.005
    assert regret.mean() < other.mean()


@pytest.mark.slow
@pytest.mark.parametrize("population", [False, True])
def test_few_draws_drop_none_of_the_best_too_often(benchmark: Any, population: bool) -> None:
    for chances in benchmark.NULLS.values():
        assert benchmark.eliminated(chances, population=population, queries=60, draws=20) <= 0.2
