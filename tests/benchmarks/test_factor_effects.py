"""The benchmark of the effects of factors draws from what it says."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from raglift.stats.grid_effects import level_pairs


def test_populations_say_what_matters_in_them(script: Callable[[str], ModuleType]) -> None:
    populations = {one.name: one for one in script("factor_effects").populations()}
    for name in ("NDCG, nothing matters", "HitRate 95 %, nothing matters", "small wins, 5% lose all"):
        population = populations[name]
        means = population.values.mean(axis=1)
        assert means == pytest.approx(means.mean()), name
    some = populations["NDCG, some parts matter"]
    reranker = level_pairs(some.codes, 2).weights @ some.values.mean(axis=1)
    retrievers = level_pairs(some.codes, 1).weights @ some.values.mean(axis=1)
    assert reranker[0] > 0.05
    assert retrievers == pytest.approx([0.0, 0.0, 0.0])
