"""The best system, chosen on one half and measured on the other: what that is worth, by simulation."""

import numpy as np
import pytest

from raglift.analysis.comparison import Paired, hold_out_best
from raglift.analysis.paired_statistics import method_of
from raglift.errors import ConfigurationError
from raglift.metrics.rank_measures import RR
from raglift.results.comparison import compare
from raglift.types.labels import Query

QUERIES = [Query(f"q{number:03d}", "?", tags=("hard",) if number % 3 else ("easy",)) for number in range(60)]


def paired(values, baseline=0):
    systems = values.shape[0]
    names = tuple(f"s{number}" for number in range(systems))
    return Paired(names, baseline, (RR @ 3,), values[np.newaxis], np.zeros((1, systems), dtype=bool))


def test_the_best_of_one_half_is_measured_on_the_other():
    random = np.random.default_rng(0)
    values = random.random((4, 60))
    values[2] = np.minimum(values[0] + 0.5, 1.0)
    found = hold_out_best(paired(values), QUERIES, method_of(5, 0.95))
    place = {query.id: number for number, query in enumerate(QUERIES)}
    chosen_on, held = ([place[key] for key in half] for half in (found.selection, found.held_out))
    assert sorted([*chosen_on, *held]) == list(range(60))
    assert len(chosen_on) == len(held) == 30
    assert found.system == "s2"
    assert found.mean == pytest.approx(values[2][held].mean())
    assert found.baseline_mean == pytest.approx(values[0][held].mean())
    assert found.difference.mean == pytest.approx((values[2] - values[0])[held].mean())
    assert found.difference.n == 30
    assert found.selection_difference == pytest.approx((values[2] - values[0])[chosen_on].mean())
    assert found.verdict == "better"


def test_each_tag_is_in_both_halves_in_equal_parts(ranked):
    tags = [["hard"] if number % 2 else ["easy"] for number in range(40)]
    comparison = compare(
        [ranked([1, 2] * 20, tags=tags), ranked([2, 1] * 20, tags=tags)], primary="rr@3", hold_out=True
    )
    tag_of = dict(zip(comparison.query_ids, tags, strict=True))
    for half in (comparison.held_out.selection, comparison.held_out.held_out):
        assert sum(tag_of[key] == ["hard"] for key in half) == 10
    assert compare(comparison.evaluations, primary="rr@3").held_out is None


def test_only_scored_queries_are_split_and_the_baseline_is_never_chosen(ranked):
    comparison = compare(
        [ranked([1] * 10, unlabelled=[4]), ranked([2] * 10, unlabelled=[4])], primary="rr@3", hold_out=True
    )
    held = comparison.held_out
    assert held.system == comparison.names[1]
    assert held.verdict == "worse" if held.difference.p <= 0.05 else "not significant"
    assert "q0004" not in {*held.selection, *held.held_out}
    assert (len(held.selection), len(held.held_out)) == (5, 4)


def test_a_truncated_system_is_not_chosen(ranked):
    systems = {"base": ranked([2] * 8), "cut": ranked([1] * 8, top_n=2), "third": ranked([3] * 8)}
    assert compare(systems, primary="rr@3", baseline="base", hold_out=True).held_out.system == "third"
    with pytest.raises(ConfigurationError, match="hold_out: found no system that can be compared in rr@3"):
        compare({"base": systems["base"], "cut": systems["cut"]}, primary="rr@3", hold_out=True)


def test_too_few_queries_for_two_halves(ranked):
    with pytest.raises(ConfigurationError, match="hold_out: found 3 scored queries; expected at least 4"):
        compare([ranked([1, 2, 3]), ranked([1, 1, 1])], primary="rr@3", hold_out=True)


@pytest.mark.slow
def test_holding_out_takes_the_luck_out_of_the_best_of_twenty():
    """Twenty systems no better than the baseline: the best of them seems better, until it is measured anew."""
    random = np.random.default_rng(20)
    method = method_of(0, 0.95)
    repeats, seems, holds, held_differences, lead = 200, 0, 0, [], []
    for _ in range(repeats):
        values = random.random((21, len(QUERIES)))
        found = hold_out_best(paired(values), QUERIES, method)
        holds += found.verdict == "better"
        held_differences.append(found.difference.mean)
        differences = values[1:] - values[0]
        best = differences[np.argmax(differences.mean(axis=1))]
        lead.append(best.mean())
        seems += best.mean() / (best.std(ddof=1) / np.sqrt(len(best))) > 2.0
    assert seems / repeats > 0.15
    assert np.mean(lead) > 0.05
    assert holds / repeats < 0.06  # 0.025 of wins expected, of 200: at most 12 in all but one case of 5,000
    assert abs(np.mean(held_differences)) < 4 * np.std(held_differences) / np.sqrt(repeats)
