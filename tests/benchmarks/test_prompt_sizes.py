"""benchmarks/prompt_sizes.py: chunk sizes by what is read, and the same prompt cut finer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from raglift.metrics.prompt_measures import RecallArea
from raglift.types.metric import Tokens


@pytest.fixture(scope="module")
def benchmark(script: Any) -> Any:
    return script("prompt_sizes")


@pytest.fixture(scope="module")
def corpus(benchmark: Any) -> Any:
    return benchmark.Corpus.of("lighthouse", (150, 1000, 6000))


@pytest.mark.slow
@pytest.mark.parametrize("at_blanks", [False, True], ids=["at equal lengths", "at blanks"])
def test_the_same_prompt_cut_finer_is_the_same_to_the_last_bit_and_gets_no_verdict(
    benchmark: Any, corpus: Any, at_blanks: bool
) -> None:
    metrics = [RecallArea @ Tokens(most) for most in (500, 2000)]
    whole = corpus.values(corpus.rankings[1000], metrics)
    for parts in benchmark.CUTS:
        finer = benchmark.recut(corpus.rankings[1000], parts, at_blanks=at_blanks)
        assert len(finer[0].hits) > 1.5 * len(corpus.rankings[1000][0].hits)
        values = corpus.values(finer, metrics)
        np.testing.assert_array_equal(values, whole)
        assert benchmark.verdicts(values[1] - whole[1], 40, 50) == 0.0


@pytest.mark.slow
def test_a_row_for_each_size_and_recut(benchmark: Any, corpus: Any) -> None:
    table = benchmark.table_of(corpus, 0.5)
    assert list(table) == ["150", "1,000", "6,000", "1,000 in 2", "1,000 in 4"]
    for means in table.values():
        areas, recalls = np.split(means, 2)
        assert (areas < recalls).all()
        assert (np.diff(areas) > 0).all()
        assert (np.diff(recalls) >= 0).all()


@pytest.mark.slow
def test_a_difference_that_is_there_gets_a_verdict(benchmark: Any) -> None:
    differences = np.random.default_rng(0).normal(0.15, 0.3, 500)
    assert benchmark.verdicts(differences, 100, 40) > 0.9
    assert 0.03 < benchmark.detectable(differences, 300, 5) < benchmark.detectable(differences, 100, 5) < 0.15
