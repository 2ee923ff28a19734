"""Reranker lift: the same statistics within one evaluation, and the queries that moved most."""

import numpy as np
import pytest

from raglift.analysis.records import MovedQuery
from raglift.errors import ConfigurationError
from raglift.metrics.rank_measures import RR, Recall
from raglift.stats.paired_tests import paired_difference

BEFORE = [2, 3, 1, 5, 1, None]
AFTER = [1, 1, 2, 2, 1, 1]  # the last is not among the candidates, so no reranker finds it
GAINS = [1 / 2, 2 / 3, -1 / 2, 1 / 2, 0, 0]


def test_the_figures_of_a_hand_computed_example(ranked):
    lift = ranked(BEFORE, reranked=AFTER).reranker_lift("mrr@3", seed=2)
    row = lift.row()
    assert (lift.primary, row.n) == (RR @ 3, 6)
    assert row.before == pytest.approx((1 / 2 + 1 / 3 + 1 + 0 + 1) / 6)
    assert row.after == pytest.approx((1 + 1 + 1 / 2 + 1 / 2 + 1) / 6)
    assert row.difference.mean == pytest.approx(np.mean(GAINS))
    assert (row.difference.wins, row.difference.ties, row.difference.losses) == (3, 2, 1)
    assert row.difference.p == paired_difference(GAINS, seed=2).p
    assert row.verdict == "not significant"
    assert not row.exploratory
    assert row.minimum_detectable_effect > 0
    assert [each.metric for each in lift.rows] == [RR @ 3, RR @ 1, Recall @ 1, Recall @ 3]
    assert all(each.exploratory and each.verdict is None for each in lift.rows[1:])


def test_the_queries_that_moved_most_come_first(ranked):
    lift = ranked(BEFORE, reranked=AFTER).reranker_lift("rr@3", moved=2)
    assert lift.up == (
        MovedQuery("q0001", "Where does stone number 0001 lie?", pytest.approx(1 / 3), 1.0, 3, 1),
        MovedQuery("q0000", "Where does stone number 0000 lie?", 0.5, 1.0, 2, 1),
    )
    assert lift.down == (MovedQuery("q0002", "Where does stone number 0002 lie?", 1.0, 0.5, 1, 2),)
    assert [each.query_id for each in ranked(BEFORE, reranked=AFTER).reranker_lift("rr@3").up] == [
        "q0001",
        "q0000",
        "q0003",
    ]


def test_a_query_that_nothing_satisfied_before_has_no_rank(ranked):
    evaluation = ranked([1, 1], reranked=[1, 1], top_n=3)
    assert (evaluation.reranker_lift("rr@3").up, evaluation.reranker_lift("rr@3").down) == ((), ())


@pytest.mark.slow
def test_a_saved_evaluation_gives_the_same(ranked, tmp_path):
    from raglift.results.evaluation import load_evaluation

    evaluation = ranked(BEFORE, reranked=AFTER)
    loaded = load_evaluation(evaluation.save(tmp_path / "run"))
    one, two = evaluation.reranker_lift("rr@3"), loaded.reranker_lift("rr@3")
    assert (one.rows, one.up, one.down) == (two.rows, two.up, two.down)


def test_no_fair_pair_is_marked_and_has_no_p(ranked):
    lift = ranked([1, 2, 3, 4], reranked=[1, 1, 1, 1], top_n=2).reranker_lift("rr@3")
    row = lift.row()
    assert row.truncated
    assert (row.difference, row.verdict) == (None, None)
    assert row.after == 1.0
    assert any("no lift in MRR@3: rerank returned no more than 2 hits" in warning for warning in lift.warnings)
    assert lift.row(RR @ 1).difference.mean == pytest.approx(3 / 4)
    assert (lift.up, lift.down) == ((), ())


def test_failed_and_unlabelled_queries(ranked):
    lift = ranked([2, RuntimeError("down"), 2], reranked=[1, 1, 1], unlabelled=[2]).reranker_lift("rr@3")
    assert (lift.row().n, lift.row().after) == (2, 0.5)
    assert [each.query_id for each in lift.up] == ["q0000"]


def test_a_system_of_one_stage_has_no_lift(ranked):
    with pytest.raises(ConfigurationError, match=r"a system of one stage \(retrieve\); expected one with a reranker"):
        ranked(BEFORE).reranker_lift("rr@3")


def test_a_lift_of_what_was_not_scored_is_refused(ranked):
    lift = ranked(BEFORE, reranked=AFTER).reranker_lift("rr@3")
    with pytest.raises(ConfigurationError, match=r"metric: found ap@3, which was not scored; expected one of rr@3"):
        lift.row("ap@3")
    with pytest.raises(ConfigurationError, match="over: found 'candidates'; expected retrieve"):
        lift.row("rr@3", over="candidates")
