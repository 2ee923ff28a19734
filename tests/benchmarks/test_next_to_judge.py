"""The benchmarks of sequential reviews and of holes, at a tiny size."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.parametrize("model", ["good", "weak", "biased", "none"])
@pytest.mark.parametrize("difference", [0.0, 0.06, -0.06])
def test_simulated_systems_differ_by_what_was_asked_for(script, model: str, difference: float) -> None:
    benchmark = script("next_to_judge")
    world = benchmark.simulated(model, difference, np.random.default_rng(0))
    assert world.truth == pytest.approx(round(difference * 250) / 250)
    assert (world.model is None) == (model == "none")


@pytest.mark.slow
def test_reviews_are_seldom_wrong_and_a_large_difference_is_decided_early(script) -> None:
    benchmark = script("next_to_judge")
    random = np.random.default_rng(2)
    tied = [benchmark.reviewed(benchmark.simulated("biased", 0.0, random), random) for _ in range(40)]
    assert sum(one.is_false for one in tied) <= 6  # 2 are expected at most; more than 6 come in 1 of 200 runs
    large = [benchmark.reviewed(benchmark.simulated("good", 0.16, random), random) for _ in range(10)]
    assert not any(one.is_false for one in large)
    assert np.median([one.grades for one in large]) < benchmark.PAIRS / 2
    row = benchmark.row("large", partial(benchmark.simulated, "good", 0.16), 2, 2)
    assert row.startswith("large")


@pytest.mark.slow
def test_intervals_hold_the_difference_however_few_are_left(script) -> None:
    benchmark = script("next_to_judge")
    name, *shares = benchmark.near_a_census("good", 30).rsplit(maxsplit=6)
    assert name == "model good"
    assert all(float(share.rstrip("%")) >= 80 for share in shares)  # 95 % of 30: 6 missed come in 1 of 300 runs


def test_topics_that_both_graded_make_two_systems(script, tmp_path: Path) -> None:
    benchmark = script("next_to_judge")
    lines = [f"{topic} 0 d{number} {number % 4}" for topic in (1, 2) for number in range(30)]
    for name in ("nist.qrels", "umbrela2.qrels"):
        (tmp_path / name).write_text("\n".join(lines))
    world = benchmark.of_collection(tmp_path, np.random.default_rng(0))
    assert set(np.abs(world.weights)) == {1 / 20}
    assert world.weights.sum() == pytest.approx(0.0)


@pytest.mark.slow
def test_nearly_nobody_judged_the_hits_of_the_large_run(script) -> None:
    found = script("holes").large_run(20, 30).holes("ndcg@10")
    assert found.unjudged / found.hits > 0.5
