"""Effects of the factors of a grid: what is compared with what, and how often what is said of it holds."""

from __future__ import annotations

import importlib.util
import sys
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from raglift.errors import ConfigurationError
from raglift.stats.grid_effects import GridEffects, PairEffects, factor_effects, level_pairs
from raglift.stats.intervals import difference_interval

GRID = np.array(list(product(range(3), range(2), range(2))))
"""Three levels of the first factor, two of each of the others."""


def measured(codes: np.ndarray, queries: int = 80, seed: int = 1) -> np.ndarray:
    """Values of cells in which the second level of the last factor adds 0.1, twice that at level 2 of the first."""
    generator = np.random.default_rng(seed)
    values = generator.normal(0.5, 0.1, (len(codes), queries)) + generator.normal(0.0, 0.2, queries)
    return values + 0.1 * (codes[:, [-1]] == 1) * np.where(codes[:, [0]] == 2, 3.0, 1.0)


def pair(found: GridEffects, factor: int, level: int, other: int) -> tuple[PairEffects, int]:
    of_factor = next(one for one in found.pairs if one.factor == factor)
    return of_factor, of_factor.levels.tolist().index([level, other])


# What is compared with what.


def test_a_difference_is_the_mean_over_cells_equal_in_all_else() -> None:
    values = measured(GRID)
    found, place = pair(factor_effects(values, GRID, seed=0), 0, 2, 1)
    of_cell = dict(zip(map(tuple, GRID.tolist()), values, strict=True))
    expected = [of_cell[2, *rest] - of_cell[1, *rest] for rest in product(range(2), range(2))]
    assert found.mean[place] == pytest.approx(np.mean(expected))
    assert found.contexts[place] == 4
    assert found.unmatched[place] == 0


@pytest.mark.slow
def test_cells_without_a_counterpart_are_left_out_and_counted() -> None:
    kept = ~((GRID[:, 0] == 2) & (GRID[:, 1] == 1))  # level 2 of the first factor only at level 0 of the second
    values = measured(GRID)
    wild = values.copy()
    wild[(GRID[:, 0] != 2) & (GRID[:, 1] == 1)] += 5.0  # has no part in any difference to level 2
    found, place = pair(factor_effects(values[kept], GRID[kept], seed=0), 0, 2, 0)
    again, _ = pair(factor_effects(wild[kept], GRID[kept], seed=0), 0, 2, 0)
    assert found.mean[place] == pytest.approx(again.mean[place])
    assert found.contexts[place] == 2
    assert found.unmatched[place] == 2


def test_a_factor_that_does_not_apply_to_a_level_is_averaged() -> None:
    # as BM25, which uses no embedding model, against dense retrieval with two of them, at two chunk sizes
    codes = np.array([(0, -1, 0), (0, 0, 1), (0, 1, 1), (1, -1, 0), (1, 0, 1), (1, 1, 1)])
    contrast = level_pairs(codes, 2)
    assert contrast.levels.tolist() == [[1, 0]]
    assert contrast.weights[0] == pytest.approx([-0.5, 0.25, 0.25, -0.5, 0.25, 0.25])
    assert contrast.contexts.tolist() == [2]
    embeddings = level_pairs(codes, 1)
    assert embeddings.weights[0] == pytest.approx([0, -0.5, 0.5, 0, -0.5, 0.5])


def test_a_cell_of_another_kind_is_not_a_counterpart() -> None:
    # a system of the user's has a reranker, and neither chunker nor retriever: (chunker, system, reranker)
    codes = np.array([(0, -1, 0), (1, -1, 1), (-1, 0, 0), (-1, 0, 1)])
    rerankers = level_pairs(codes, 2)
    assert rerankers.weights.tolist() == [[0.0, 0.0, -1.0, 1.0]]
    assert rerankers.unmatched.tolist() == [2]


# What is said of it.


@pytest.mark.slow
def test_one_pair_has_nearly_the_interval_of_a_single_difference() -> None:
    codes, values = np.array([[0], [1]]), measured(np.array([(0, 0), (0, 1)]))
    found = factor_effects(values, codes, seed=0).pairs[0]
    single = difference_interval(values[1] - values[0])
    assert (found.low[0], found.high[0]) == (
        pytest.approx(single.low, abs=2e-3),
        pytest.approx(single.high, abs=2e-3),
    )
    values[1] -= 0.07
    weaker = factor_effects(values, codes, seed=0).pairs[0]
    assert weaker.p[0] == pytest.approx(stats.ttest_1samp(values[1] - values[0], 0.0).pvalue, rel=0.1)


def test_an_interval_is_beyond_0_where_its_p_value_is_small() -> None:
    generator = np.random.default_rng(5)
    codes = np.arange(12)[:, np.newaxis]
    values = generator.normal(0.5, 0.2, (12, 60)) + np.linspace(0.0, 0.15, 12)[:, np.newaxis]
    found = factor_effects(values, codes, seed=0).pairs[0]
    beyond = (found.low > 0.0) | (found.high < 0.0)
    assert 5 < beyond.sum() < 60
    assert (beyond == (found.p <= 0.05)).mean() > 0.95  # a repetition or two apart at the border
    assert (found.may_be_best == ~np.isin(np.arange(12), found.levels[beyond & (found.mean > 0.0), 1])).all()


def test_levels_that_may_be_the_best() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(0.5, 0.1, (4, 60)) + np.array([[0.0], [0.19], [0.2], [-0.1]])
    found = factor_effects(values, np.arange(4)[:, np.newaxis], seed=0).pairs[0]
    assert found.may_be_best.tolist() == [False, True, True, False]


@pytest.mark.slow
def test_queries_without_a_value_in_a_cell_count_in_none() -> None:
    values = measured(GRID)
    gaps = values.copy()
    gaps[0, :10] = np.nan
    assert factor_effects(gaps, GRID, seed=0).n == 70
    expected = factor_effects(values[:, 10:], GRID, seed=0)
    assert factor_effects(gaps, GRID, seed=0).pairs[0].mean == pytest.approx(expected.pairs[0].mean)
    none = factor_effects(np.full((len(GRID), 5), np.nan), GRID, seed=0)
    assert (none.n, none.pairs) == (0, ())


def test_levels_that_measure_the_same_are_equal_and_both_may_be_best() -> None:
    values = np.tile(np.random.default_rng(0).random(30), (3, 1))
    values[2] -= 0.3 * (np.arange(30) % 2)
    found = factor_effects(values, np.arange(3)[:, np.newaxis], seed=0).pairs[0]
    assert found.may_be_best.tolist() == [True, True, False]
    same = found.levels.tolist().index([1, 0])
    assert (found.mean[same], found.p[same]) == (0.0, 1.0)
    assert np.isnan(found.low[same])


@pytest.mark.slow
def test_small_wins_without_a_loss_decide_nothing_where_a_loss_may_be_large() -> None:
    values = np.zeros((2, 40))
    values[1, :16] = 0.1
    codes = np.array([[0], [1]])
    found = factor_effects(values, codes, seed=0).pairs[0]
    assert found.p[0] < 0.01
    assert found.too_skewed.tolist() == [True]
    assert found.may_be_best.tolist() == [True, True]
    assert not factor_effects(values, codes, seed=0, span=0.1).pairs[0].too_skewed.any()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0], [0]], "two cells with the same levels"),
        ([[0], [1], [2]], "found 3 rows with 2 cells"),
        ([[0.5], [1.0]], "a table of integers"),
    ],
)
def test_codes_that_do_not_fit_are_refused(codes: list[list[float]], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        factor_effects(np.zeros((2, 5)), codes, seed=0)


# How often it holds, by simulation: benchmarks/factor_effects.py, and docs/concepts/statistics/methods.md.


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    script = Path(__file__).parents[2] / "benchmarks" / "factor_effects.py"
    spec = importlib.util.spec_from_file_location("factor_effects_benchmark", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def assert_holds(benchmark: ModuleType, names: tuple[str, ...], queries: int, draws: int) -> None:
    """Hold rates to their nominal values, within three and a half standard errors of so many draws."""
    error = 3.5 * np.sqrt(0.05 * 0.95 / draws)
    populations = {one.name: one for one in benchmark.populations()}
    for name in names:
        rates = benchmark.rates(populations[name], queries, draws, seed=1)
        where = (name, queries, rates)
        assert not rates.pairs > 0.06 + error, where
        # of rare losses, often none is drawn with fewer queries
        if not name.startswith(("small wins", "wins", "uneven")) or queries >= 300:
            assert min(rates.coverage) > 0.94 - error, where
        assert rates.best > 0.94 - error, where


@pytest.mark.full
@pytest.mark.parametrize("queries", [40, 100])
def test_effects_hold_as_often_as_they_say(benchmark: ModuleType, queries: int) -> None:
    names = ("HitRate 80 %, exclusions", "NDCG, some depend on others", "small wins, 5% lose all")
    assert_holds(benchmark, names, queries, draws=100)


@pytest.mark.full
@pytest.mark.parametrize("queries", [40, 100, 300])
def test_effects_hold_as_often_as_they_say_in_all_populations(benchmark: ModuleType, queries: int) -> None:
    assert_holds(benchmark, tuple(one.name for one in benchmark.populations()), queries, draws=1000)
