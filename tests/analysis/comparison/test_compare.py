"""compare(): the figures against hand computation, who is paired with whom, and what is exploratory."""

import dataclasses
import math

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import RR, Recall
from raglift.results.comparison import compare
from raglift.running.scoring import rescore
from raglift.stats.intervals import mean_interval
from raglift.stats.paired_tests import holm, paired_difference

# RR@3 of each: 1, 1/2, 1/3, 0 (rank 4), 0 (not found), 1
BASE = [1, 2, 3, 4, None, 1]
# 1, 1, 1, 1/2, 0, 1/3
OTHER = [1, 1, 1, 2, None, 3]
DIFFERENCES = [0, 1 / 2, 2 / 3, 1 / 2, 0, -2 / 3]


def test_the_figures_of_a_hand_computed_example(ranked):
    comparison = compare({"base": ranked(BASE), "other": ranked(OTHER)}, primary="mrr@3", seed=3)
    base, other = comparison.of(RR @ 3)
    assert (comparison.baseline, comparison.primary) == ("base", RR @ 3)
    assert base.mean == pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 6)
    assert base.difference is None
    assert base.verdict is None
    assert other.mean == pytest.approx((3 + 1 / 2 + 1 / 3) / 6)
    assert other.baseline_mean == base.mean
    assert other.n == 6
    assert other.difference.mean == pytest.approx(np.mean(DIFFERENCES)) == other.mean - other.baseline_mean
    assert (other.difference.wins, other.difference.ties, other.difference.losses) == (3, 2, 1)
    assert other.difference.effect_size == pytest.approx(np.mean(DIFFERENCES) / np.std(DIFFERENCES, ddof=1))
    # signs of 2/3, 1/2, 1/2, −2/3: of 16 assignments, |sum| ≥ 1 in 10
    sums = [
        abs(a * 2 / 3 + b / 2 + c / 2 + d * 2 / 3) for a in (1, -1) for b in (1, -1) for c in (1, -1) for d in (1, -1)
    ]
    assert other.difference.p == np.mean(np.array(sums) >= 1 - 1e-9)
    assert other.p_holm == other.difference.p
    assert other.verdict == "not significant"
    assert not other.exploratory
    described = paired_difference(DIFFERENCES, seed=3)
    assert (other.difference.low, other.difference.high) == pytest.approx(
        (max(described.low, -1.0), min(described.high, 1.0))
    )
    assert other.interval == pytest.approx(mean_interval([1, 1, 1, 1 / 2, 0, 1 / 3]))


def test_every_other_metric_is_exploratory_and_not_corrected(ranked):
    comparison = compare([ranked(BASE), ranked(OTHER)], primary="recall@3")
    assert comparison.metrics == (Recall @ 3, RR @ 1, RR @ 3, Recall @ 1)
    for metric in comparison.metrics[1:]:
        for row in comparison.of(metric):
            assert (row.exploratory, row.p_holm, row.verdict, row.minimum_detectable_effect) == (True, None, None, None)
    assert comparison.row(comparison.others[0], RR @ 3).difference.p == 10 / 16


@pytest.mark.slow
def test_holm_corrects_over_the_systems_on_the_primary_metric(ranked):
    better = [1] * 20
    some = [1] * 6 + [2] * 14
    same = [2] * 20
    systems = {"same": ranked(same), "base": ranked([2] * 20), "better": ranked(better), "some": ranked(some)}
    comparison = compare(systems, baseline="base", primary=RR @ 3)
    rows = [row for row in comparison.of(RR @ 3) if row.system != "base"]
    assert [row.p_holm for row in rows] == holm([row.difference.p for row in rows]).tolist()
    assert comparison.row("some").p_holm == pytest.approx(min(1, 2 * comparison.row("some").difference.p))
    assert [row.verdict for row in rows] == ["not significant", "better", "not significant"]
    assert "Holm over 3 systems" in comparison.method.text
    reverse = compare(systems, baseline="better", primary=RR @ 3)
    assert reverse.row("base").verdict == "worse"


@pytest.mark.slow
def test_what_can_be_detected_shares_the_level_among_the_systems(ranked):
    base, other, third = ranked([*BASE] * 3), ranked([*OTHER] * 3), ranked([1, 1, 2, 4, 1, 1] * 3)
    two = compare([base, other], primary="rr@3")
    three = compare([base, other, third], primary="rr@3")
    assert three.of(RR @ 3)[1].minimum_detectable_effect > two.of(RR @ 3)[1].minimum_detectable_effect


def test_a_failed_query_counts_0_and_an_unlabelled_one_for_nothing(ranked):
    failing = ranked([1, RuntimeError("down"), 1, 1], unlabelled=[3])
    whole = ranked([1, 1, 1, 1], unlabelled=[3])
    row = compare([whole, failing], primary="rr@3").of(RR @ 3)[1]
    assert row.n == row.difference.n == 3
    assert row.mean == pytest.approx(2 / 3)
    assert (row.difference.wins, row.difference.ties, row.difference.losses) == (0, 2, 1)


def test_a_query_that_a_profile_leaves_out_of_one_system_is_left_out_of_the_pair(ranked):
    """AutoRAG leaves out a query whose retrieval came back empty."""
    base = ranked([1, 1, 2], profile="autorag")
    empty = ranked([1, 1, 2], profile="autorag", depth=6)
    values = empty.scores.values.copy()
    values[:, :, 0] = np.nan
    empty = dataclasses.replace(empty, scores=dataclasses.replace(empty.scores, values=values))
    row = compare([base, empty], primary="rr@3").of(RR @ 3)[1]
    assert (row.n, row.mean, row.baseline_mean, row.difference.n) == (2, 0.75, 0.75, 2)
    assert compare([base, empty], primary="rr@3").of(RR @ 3)[0].n == 3


def test_a_truncated_metric_is_marked_and_has_no_p(ranked):
    cut = ranked([1, 2, 3, 4] * 3, top_n=2)
    comparison = compare({"whole": ranked([1, 2, 3, 4] * 3), "cut": cut}, primary="rr@3")
    row = comparison.row("cut")
    assert row.truncated
    assert (row.difference, row.p_holm, row.verdict, row.minimum_detectable_effect) == (None, None, None, None)
    assert not comparison.row("cut", RR @ 1).truncated
    assert comparison.row("cut", RR @ 1).difference is not None
    assert not comparison.row("whole").truncated
    turned = compare({"whole": ranked([1, 2, 3, 4] * 3), "cut": cut}, baseline="cut", primary="rr@3")
    assert turned.row("whole").difference is None
    assert "no test" in turned.method.text


def test_each_system_is_compared_at_its_last_stage(ranked):
    plain = ranked([2, 2, 2])
    reranked = ranked([2, 2, 2], reranked=[1, 1, 1])
    comparison = compare({"plain": plain, "reranked": reranked}, primary="rr@3")
    assert comparison.stages == {"plain": "retrieve", "reranked": "rerank"}
    assert comparison.row("reranked").mean == 1.0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures_and_nothing_is_modified(ranked):
    evaluations = [ranked([1, 2, 3] * 10), ranked([2, 1, 1] * 10)]
    before = [evaluation.scores.values.copy() for evaluation in evaluations]
    first, second = (compare(evaluations, primary="rr@3", seed=7) for _ in range(2))
    assert first.rows == second.rows
    for evaluation, values in zip(evaluations, before, strict=True):
        np.testing.assert_array_equal(evaluation.scores.values, values)


@pytest.mark.slow
def test_saved_runs_are_opened_and_give_the_same_figures(ranked, tmp_path):
    base, other = ranked(BASE), ranked(OTHER)
    base.save(tmp_path / "base")
    other.save(tmp_path / "other")
    loaded = rl.compare([tmp_path / "base", str(tmp_path / "other")], primary="rr@3")
    assert loaded.names == ("base", "other")
    assert loaded.rows == rl.compare({"base": base, "other": other}, primary="rr@3").rows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"primary": "ndcg@10"}, r"primary: found ndcg@10, which was not scored; expected one of rr@1, rr@3, recall"),
        ({"primary": "nonsense"}, "metric: found 'nonsense'"),
        ({"primary": 10}, "primary: found a int; expected a metric"),
        ({"primary": "rr@3", "seed": -1}, "seed: found -1"),
        ({"primary": "rr@3", "seed": 1.5}, "seed: found 1.5"),
        ({"primary": "rr@3", "confidence": 95}, "confidence: found 95"),
        ({"primary": "rr@3", "baseline": "none"}, "baseline: found 'none'; expected one of 'a', 'b'"),
        ({"primary": "rr@3", "baseline": 2}, "baseline: found 2; expected one of 'a', 'b', or a number from 0 to 1"),
        ({"primary": "rr@3", "baseline": True}, "baseline: found True"),
        ({"primary": "rr@3", "budget": 0}, "budget: found 0; expected an integer, 1 or more"),
        ({"primary": "rr@3", "budget": True}, "budget: found True; expected an integer, 1 or more"),
        ({"primary": "rr@3", "names": ["x", "y"]}, "found names= with a mapping"),
    ],
)
def test_arguments_that_cannot_be_used(ranked, settings, message):
    with pytest.raises(ConfigurationError, match=message):
        compare({"a": ranked(BASE), "b": ranked(OTHER)}, **settings)


def test_systems_without_a_metric_in_common(ranked):
    with pytest.raises(ConfigurationError, match=r"no metric that all systems have scored \(a: rr@1; b: recall@3\)"):
        compare(
            {"a": ranked(BASE, metrics=["rr"], ks=(1,)), "b": ranked(OTHER, metrics=["recall"], ks=(3,))},
            primary="rr@1",
        )


def test_systems_scored_by_different_rules_are_refused(ranked):
    base = ranked(BASE)
    with pytest.raises(
        ConfigurationError, match=r"match is containment and coverage \(threshold=0.5\); expected the same.*rl.rescore"
    ):
        compare({"a": base, "b": ranked(OTHER, match="coverage")}, primary="rr@3")
    with pytest.raises(ConfigurationError, match="profile is default and autorag"):
        compare({"a": base, "b": ranked(OTHER, profile="autorag")}, primary="rr@3")
    again = rescore(ranked(OTHER, match="coverage"), metrics=["rr"], ks=(1, 3), match="containment")
    assert compare({"a": base, "b": again}, primary="rr@3").row("b").n == 6


def test_no_labelled_query_gives_no_figures_and_no_error(ranked):
    nothing = [ranked([1, 2], unlabelled=[0, 1]) for _ in range(2)]
    comparison = compare(nothing, primary="rr@3")
    base, other = comparison.of(RR @ 3)
    assert base.n == other.n == 0
    assert math.isnan(base.mean)
    assert base.interval is None
    assert (other.verdict, other.p_holm) == (None, None)
    assert "nan" not in str(comparison)


def test_metrics_that_not_all_systems_have_scored_are_named(ranked):
    whole, part = ranked(BASE), ranked(OTHER, ks=(3, 5))
    comparison = compare([whole, part], primary="rr@3")
    assert comparison.metrics == (RR @ 3, Recall @ 3)
    assert comparison.notes == ("not scored of all systems, and so not compared: rr@1, recall@1, rr@5 and 1 more",)


def test_a_metric_of_another_tool_that_passes_1_is_compared(ranked):
    """AutoRAG's NDCG does where several hits match one passage."""
    base = ranked(BASE, metrics=["ndcg"], profile="autorag")
    scores = dataclasses.replace(base.scores, values=base.scores.values * 1.5)
    beyond = dataclasses.replace(base, scores=scores)
    row = compare({"base": base, "beyond": beyond}, primary="ndcg@3").of(NDCG @ 3)[1]
    assert row.interval.low < row.mean < row.interval.high
    assert beyond.by_tag("ndcg@3").slices[0].mean == pytest.approx(row.mean)


@pytest.mark.slow
def test_more_tokens_are_no_win(ranked):
    settings = {"metrics": ("rr", "context_tokens")}
    comparison = compare([ranked(BASE, **settings), ranked(OTHER, **settings)], primary="rr@3")
    frame = comparison.to_frame().set_index(["metric", "system"])
    name = comparison.others[0]
    assert frame.loc[("rr@3", name), ["wins", "ties", "losses"]].tolist() == [3, 2, 1]
    assert frame.loc[("context_tokens@3", name), ["wins", "ties", "losses"]].isna().all()
    assert not np.isnan(frame.loc[("context_tokens@3", name), "difference"])
    assert comparison.by_tag("context_tokens@3").to_frame()["wins"].isna().all()


def test_without_a_primary_the_deepest_ndcg_decides(ranked):
    systems = [ranked(BASE, metrics=["rr", "ndcg"]), ranked(OTHER, metrics=["rr", "ndcg"])]
    assert str(compare(systems).primary) == "ndcg@3"


@pytest.mark.slow
def test_without_ndcg_the_first_measure_of_quality_decides_at_its_deepest(ranked):
    metrics = ["context_tokens", "rr", "recall"]
    assert str(compare([ranked(BASE, metrics=metrics), ranked(OTHER, metrics=metrics)]).primary) == "rr@3"
    costs = ["context_tokens"]
    with pytest.raises(ConfigurationError, match="primary: found no measure of quality among context_tokens@1, "):
        compare([ranked(BASE, metrics=costs), ranked(OTHER, metrics=costs)])


def test_a_primary_metric_that_some_systems_lack_says_of_which(ranked):
    systems = {"whole": ranked(BASE), "part": ranked(OTHER, metrics=("recall",))}
    with pytest.raises(ConfigurationError, match=r"found rr@3, which was not scored; .*; not scored of 'part'$"):
        compare(systems, primary="rr@3")


def test_where_no_mean_can_be_compared_the_first_system_is_the_baseline(ranked):
    systems = {name: ranked(BASE, unlabelled=range(len(BASE))) for name in "abc"}
    found = compare(systems, primary="rr@3")
    assert found.baseline == "a"
    assert all(row.verdict is None for row in found.of(RR @ 3))
