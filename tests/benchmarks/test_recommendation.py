"""The benchmark of recommendations: few draws keep the true best and recommend what is as good."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def worlds(script) -> Any:
    found = script("recommendation")
    return found, {world.name: world for world in found.worlds()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "dense equals hybrid, the reranker costs 0.05",
        pytest.param("losses of 0.45 in 10 % against wins of 0.05", marks=pytest.mark.full),
    ],
)
def test_few_draws_keep_the_true_best_and_recommend_what_is_as_good(worlds: Any, name: str) -> None:
    benchmark, named = worlds
    found = benchmark.measured(named[name], 60, 40)
    assert found.kept >= 0.85
    assert found.recommended >= 0.85
    assert found.loss <= 0.01


def test_the_cheapest_of_equal_cells_is_the_truth(worlds: Any) -> None:
    _, named = worlds
    assert named["nothing differs"].best == 0
