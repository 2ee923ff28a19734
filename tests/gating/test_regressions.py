"""A run against a baseline: what really got worse, and which queries did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.gating.records import Outcome
from raglift.stats.paired_tests import holm


def only(result):
    (one,) = result.regressions
    return one


@pytest.mark.slow
def test_a_significant_drop_beyond_the_margin_fails_and_a_rise_never_does(ranked) -> None:
    good, bad = ranked([1] * 30), ranked([1] * 15 + [3] * 15)
    result = rl.gate(bad, baseline=good, no_regression=["rr@3"])
    one = only(result)
    assert (result.outcome, one.passed, one.before) == (Outcome.FAILED, False, 1.0)
    assert one.after == pytest.approx(2 / 3)
    assert one.difference is not None
    assert one.difference.mean == pytest.approx(-1 / 3)
    better = rl.gate(good, baseline=bad, no_regression=["rr@3"])
    assert better.passed
    assert only(better).regressed == ()
    assert "MRR@3 did not get worse: 0.667 → 1.000" in str(better)


@pytest.mark.slow
def test_the_drop_of_the_mean_must_pass_the_margin_not_the_interval(ranked) -> None:
    good, bad = ranked([1] * 30), ranked([1] * 15 + [3] * 15)
    for margin, passed in ((0.30, False), (1 / 3, True), (0.34, True)):  # the interval reaches from 0.46 to 0.21
        result = rl.gate(bad, baseline=good, no_regression=["rr@3"], margin=margin)
        assert only(result).passed is passed, margin
    assert "MRR@3 dropped within the margin of 0.34: 1.000 → 0.667" in str(result)


def test_a_drop_that_may_be_noise_passes_and_is_told_honestly(ranked) -> None:
    good, bad = ranked([1, 2] * 15), ranked([1, 2] * 14 + [3, 1])
    result = rl.gate(bad, baseline=good, no_regression=["rr@3"])
    one = only(result)
    assert (one.passed, one.dropped) == (True, True)
    assert [flip.query_id for flip in one.regressed] == ["q0028"]
    assert one.minimum_detectable_effect is not None
    told = str(result).replace("\n", " ")
    assert "MRR@3 dropped, but not significantly: 0.750 → 0.744" in told
    assert f"minimum detectable effect {one.minimum_detectable_effect:.3f}" in told
    assert "1 question did worse: q0028" in told


def test_flipped_queries_come_with_both_rankings_the_largest_drop_first(ranked) -> None:
    good = ranked([1] * 28 + [2, 1])
    bad = ranked([3] * 28 + [None, ValueError("gone")])
    regressed = only(rl.gate(bad, baseline=good, no_regression=["rr@3"])).regressed
    assert [flip.query_id for flip in regressed[:2]] == ["q0029", "q0000"]
    assert regressed[-1].query_id == "q0028"
    assert (regressed[0].before, regressed[0].after, regressed[0].hits_after) == (1.0, 0.0, ())
    assert regressed[0].error == "retrieve: ValueError: gone"
    first = regressed[1]
    assert (first.before, first.after) == (1.0, pytest.approx(1 / 3))
    assert (first.matched_before, first.matched_after) == ((1,), (3,))
    assert [len(hits) for hits in (first.hits_before, first.hits_after)] == [3, 3]  # down to the depth of the metric
    assert first.hits_after[2].chunk.text == "the stone with the number 0000 lies at the ford"
    assert first.text == "Where does stone number 0000 lie?"
    assert regressed[-1].matched_after == ()


@pytest.mark.slow
def test_several_metrics_are_corrected_together(ranked) -> None:
    rng = np.random.default_rng(3)
    good, bad = ranked([1] * 40), ranked([1 if draw > 0.12 else 2 for draw in rng.random(40)])
    result = rl.gate(bad, baseline=good, no_regression=["rr@3", "recall@1"])
    differences = [one.difference for one in result.regressions]
    p_values = [found.p for found in differences if found is not None]
    assert [one.p_holm for one in result.regressions] == holm(p_values).tolist()
    assert max(p_values) <= 0.05 < min(one.p_holm for one in result.regressions)
    assert result.passed  # each alone would fail
    assert not rl.gate(bad, baseline=good, no_regression=["rr@3"]).passed
    assert result.method is not None
    assert "Holm over 2 metrics" in result.method.text
    assert "of means" not in result.method.text  # it shows no intervals of them


def test_a_metric_that_a_side_was_cut_for_cannot_pass(ranked) -> None:
    good, cut = ranked([1] * 30), ranked([1] * 30, reranked=[1] * 30, top_n=2)
    result = rl.gate(cut, baseline=good, no_regression=["recall@3"], name="new")
    one = only(result)
    assert (one.passed, one.difference, result.outcome) == (False, None, Outcome.FAILED)
    assert "Recall@3 cannot be compared with the baseline: no fair pair: new returned fewer hits" in str(result)
    assert rl.gate(cut, baseline=good, no_regression=["recall@1"]).passed


@pytest.mark.slow
def test_what_compare_refuses_is_refused_and_what_it_warns_of_is_reported(ranked) -> None:
    good = ranked([1] * 30)
    other = replace(good, dataset=replace(good.dataset, queries=ranked([1] * 30, unlabelled=(3,)).dataset.queries))
    for baseline, told in (
        (other, "the labels of 1 question differ between 'baseline' and 'new': found q0003"),
        (ranked([1] * 30, match="fuzzy"), "were scored by different rules: match is fuzzy"),
        (ranked([1] * 30, profile="autorag"), "profile is autorag and default"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            rl.gate(good, baseline=baseline, no_regression=["rr@3"], name="new")
    shallow = ranked([1] * 29 + [ValueError("no")], candidates=4)
    warnings = rl.gate(shallow, baseline=good, no_regression=["rr@3"], name="new").warnings
    assert warnings == rl.compare({"baseline": good, "new": shallow}, primary="rr@3").warnings
    assert any("candidates were asked for: 6 of baseline; 4 of new" in warning for warning in warnings)
    assert any("questions failed and count 0: 1 of new; 0 of baseline" in warning for warning in warnings)


@pytest.mark.slow
def test_so_few_queries_that_nothing_can_fail_are_told(ranked) -> None:
    result = rl.gate(ranked([None] * 5), baseline=ranked([1] * 5), no_regression=["rr@3"])
    assert result.passed
    assert result.warnings[0].startswith("with 5 questions no drop can have p ≤ 0.05, however large")
    six = rl.gate(ranked([None] * 6), baseline=ranked([1] * 6), no_regression=["rr@3"])
    assert not six.passed
    assert not any("no regression can fail" in warning for warning in six.warnings)
    strict = rl.gate(ranked([None] * 40), baseline=ranked([1] * 40), no_regression=["rr@3"], confidence=0.99999)
    assert strict.passed
    assert strict.warnings[0].startswith("with 40 questions no drop can have p ≤ 1e-05")
    both = rl.gate(ranked([None] * 6), baseline=ranked([1] * 6), no_regression=["rr@3", "recall@3"])
    assert both.passed
    assert both.warnings[0].startswith("with 6 questions no drop")
