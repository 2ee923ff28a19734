"""The benchmark of intervals draws from what it says, and its methods give intervals."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "interval_coverage.py"


@pytest.fixture(scope="module")
def benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("interval_coverage_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up
    spec.loader.exec_module(module)
    return module


def test_each_population_has_a_mean_and_says_how_much_of_it_tells(benchmark: Any) -> None:
    populations = {population.name: population for population in benchmark.made_up()}
    assert all(population.chances.sum() == pytest.approx(1.0) for population in populations.values())
    hits = populations["HitRate +8% -2%"]
    assert (hits.mean, hits.tellable) == (pytest.approx(0.06), pytest.approx(0.1))


def test_each_method_holds_the_mean_of_a_sample_and_most_of_the_true_means(benchmark: Any) -> None:
    generator = np.random.default_rng(0)
    drawn = generator.normal(0.1, 0.25, size=(300, 60))
    for name, method in benchmark.METHODS.items():
        low, high = method(drawn, generator)
        assert (low < drawn.mean(axis=1)).all(), name
        assert (drawn.mean(axis=1) < high).all(), name
        # 300 samples have a standard error of 0.0126; four of them are allowed below 0.94, what the bootstraps reach.
        assert ((low <= 0.1) & (high >= 0.1)).mean() > 0.94 - 4 * 0.0126, name


def test_it_prints_a_row_per_population(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    population = next(benchmark.made_up())
    found = benchmark.row(population, 60, 50, 0)
    assert len(found) == len(benchmark.METHODS)
    assert capsys.readouterr().out.startswith("HitRate +5% -0%")
