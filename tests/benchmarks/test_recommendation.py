"""The benchmark of recommendations: what is recommended is as good, and useful, on few draws and on many."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def benchmark_script(script) -> Any:
    return script("recommendation")


@pytest.mark.full
@pytest.mark.parametrize("queries", [100, 300])
def test_few_draws_seldom_recommend_a_cheaper_cell_that_is_too_far_below(benchmark_script: Any, queries: int) -> None:
    for table in (benchmark_script.at_the_margin(10), benchmark_script.rare_losses(1)):
        found = benchmark_script.measured(table, queries, 40)
        assert found.wrong <= 0.15
        assert found.shown_wrong <= 0.1
        assert found.false_alarms <= 0.1


@pytest.mark.full
@pytest.mark.parametrize("queries", [50, 100, 300])
def test_500_draws_keep_every_figure(benchmark_script: Any, queries: int, tmp_path: Any) -> None:
    cells = benchmark_script.measured_cells(tmp_path / "sweep")
    for table in (*benchmark_script.tables(), cells):
        found = benchmark_script.measured(table, queries, 500)
        assert found.wrong <= (0.05 if table.name in ("families", cells.name) else 0.08)
        assert found.far_wrong <= 0.01
        assert found.shown_wrong <= 0.05
        assert found.false_alarms <= 0.05
        if table.name == "families" and queries == 300:
            assert found.cheaper >= 0.3
