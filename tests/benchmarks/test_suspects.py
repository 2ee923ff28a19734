"""The benchmark of suspects: what is planted, and that the first suspects hold most of what can be seen."""

from __future__ import annotations

from collections import Counter

import pytest

from raglift.datasets.loading import load_dataset


@pytest.mark.full
def test_most_planted_errors_of_the_gross_kinds_are_among_the_first_100(script) -> None:
    benchmark = script("suspects")
    dataset = load_dataset("shop_support")
    planted = benchmark.plant(dataset, each=10, seed=0)
    assert Counter(planted.wrong.values()) == dict.fromkeys(benchmark.KINDS, 10)
    found = benchmark.measured(planted)
    assert found.recall["another question's"] >= 0.9
    assert found.recall["unlabelled copy"] >= 0.9
    assert found.precision[50] >= 0.4
