"""The benchmark of corrected figures: its worlds are what it says, and its tables hold with fewer samples."""

from __future__ import annotations

import numpy as np
import pytest

import raglift as rl

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("judge", ["good", "weak", "biased"])
def test_simulated_metrics_are_those_of_raglift(script, judge) -> None:
    from sklearn.metrics import cohen_kappa_score  # takes two seconds

    benchmark = script("correction")
    world = benchmark.simulate(judge, queries=60)
    labels = {str(q): {str(c): int(g) for c, g in enumerate(row)} for q, row in enumerate(world.people)}
    rankings = {str(q): [str(c) for c in row] for q, row in enumerate(world.orders[1])}
    ndcg = np.nan_to_num(rl.score_rankings(rankings, labels, ["ndcg@10"]).of("ndcg@10"))
    assert benchmark.ndcg(world.people, world.orders[1]) == pytest.approx(ndcg)
    relevant = {q: {c: g * (g >= 2) for c, g in row.items()} for q, row in labels.items()}
    rr = np.nan_to_num(rl.score_rankings(rankings, relevant, ["rr@10"]).of("rr@10"))
    assert benchmark.rr(world.people, world.orders[1]) == pytest.approx(rr)
    agreed = cohen_kappa_score(world.people.ravel(), world.model.ravel(), weights="quadratic")
    assert agreed > 0.6 if judge != "weak" else 0.2 < agreed < 0.6


@pytest.mark.full
@pytest.mark.parametrize("population", [False, True])
def test_complete_lists_are_covered(script, population) -> None:
    benchmark = script("correction")
    world = benchmark.simulate("biased")
    for _, tally in benchmark.complete_lists(world, benchmark.ndcg, 300, population=population):
        assert 0.91 <= tally.held / tally.samples <= 0.99
        assert tally.width < tally.alone
        assert abs(np.mean(tally.estimates) - tally.truth) < 0.01
    means, difference = (tally for _, tally in benchmark.pairs_of_population(world, 200))
    assert difference.judge > 0 > difference.truth
    assert min(means.held, difference.held) >= 180
