"""Cost against quality: what is known of each system, and which systems no other beats in all."""

import dataclasses
import math

import pytest

from raglift.errors import ConfigurationError
from raglift.results.comparison import compare
from raglift.types.rankings import Cost, IndexCost, StageLatency


def costing(evaluation, p50, size=None):
    index = None if size is None else IndexCost(chunks=10, distinct_texts=10, embedded_now=0, seconds=None, bytes=size)
    cost = Cost(whole=StageLatency("retrieve", 20, p50, p50 * 2), index=index)
    return dataclasses.replace(evaluation, run=dataclasses.replace(evaluation.run, cost=cost))


@pytest.fixture
def comparison(ranked):
    """Quality 1/2, 1 and 3/4, latency 10, 50 and 60 ms: the last is beaten by the second."""
    return compare(
        {
            "fast": costing(ranked([2, 2]), 0.01, 1_000_000),
            "good": costing(ranked([1, 1]), 0.05, 9_000_000),
            "slow": costing(ranked([1, 2]), 0.06),
        },
        primary="rr@3",
    )


def test_the_front_is_what_no_other_beats(comparison):
    found = comparison.pareto()
    assert (str(found.quality), found.costs, found.front) == ("rr@3", ("latency_p50",), ("fast", "good"))
    assert [one.beaten_by for one in found.systems] == [(), (), ("good",)]
    assert [one.costs["latency_p50"] for one in found.systems] == [0.01, 0.05, 0.06]
    assert found.notes == ()


def test_a_system_of_unknown_cost_is_left_out_with_a_note(comparison):
    found = comparison.pareto(costs=["latency_p95", "index_bytes"])
    assert found.front == ("fast", "good")
    assert found.notes == ("slow: not known: index_bytes",)
    assert not found.systems[2].on_front
    assert found.systems[2].costs == {"latency_p95": 0.12}


def test_costs_that_the_caller_knows(comparison):
    dollars = {"fast": 3, "good": 2.5, "slow": 0}
    assert comparison.pareto(known={"dollars": dollars}).costs == ("latency_p50", "dollars")
    assert comparison.pareto(costs="dollars", known={"dollars": dollars}).front == ("good", "slow")
    assert comparison.pareto("recall@3", costs=("dollars",), known={"dollars": dollars}).front == ("slow",)


def test_context_tokens_are_taken_at_the_depth_of_the_quality(ranked):
    pytest.importorskip("tiktoken")
    metrics = ("rr", "context_tokens")
    comparison = compare({"a": ranked([1, 2], metrics=metrics), "b": ranked([3, 3], metrics=metrics)}, primary="rr@3")
    found = comparison.pareto()
    assert found.costs == ("context_tokens",)
    row = next(row for row in comparison.rows if str(row.metric) == "context_tokens@3" and row.system == "b")
    assert found.systems[1].costs["context_tokens"] == row.mean > 3
    assert row.interval is None or row.interval.low > 1
    with pytest.raises(ConfigurationError, match="primary: found context_tokens@3, which is no measure of quality"):
        compare([ranked([1], metrics=metrics), ranked([1], metrics=metrics)], primary="context_tokens@3")


def test_a_truncated_quality_takes_no_part(ranked):
    systems = {"whole": costing(ranked([1, 2]), 1), "cut": costing(ranked([1, 2], top_n=2), 0.5)}
    found = compare(systems, primary="rr@3").pareto()
    assert found.front == ("whole",)
    assert found.notes == ("cut: no comparable rr@3",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"costs": ["time"]}, "costs: found 'time'; expected one of latency_p50, "),
        ({"costs": ["index_seconds"]}, "found no index_seconds of any system"),
        ({"costs": []}, "costs: found none"),
        ({"quality": "ndcg@7"}, "quality: found ndcg@7, which was not scored"),
        ({"known": {"dollars": {"nobody": 1}}}, r"known\['dollars'\]: found 'nobody'; expected one of 'fast'"),
        ({"known": {"dollars": {"fast": math.nan}}}, r"known\['dollars'\]\['fast'\]: found nan"),
    ],
)
def test_arguments_that_cannot_be_used(comparison, settings, message):
    with pytest.raises(ConfigurationError, match=message):
        comparison.pareto(**settings)


@pytest.mark.slow
def test_the_frame_and_the_text(comparison):
    frame = comparison.pareto(costs=["latency_p50", "index_bytes"]).to_frame()
    assert frame["on_front"].tolist() == [True, True, False]
    assert frame["latency_p50"].tolist() == [0.01, 0.05, 0.06]
    assert math.isnan(frame.loc[2, "index_bytes"])
    text = str(comparison.pareto())
    assert [line.split()[0] for line in text.splitlines()[-3:]] == ["good", "slow", "fast"]
    assert "beaten by good" in text
    assert "beaten by good" in comparison.to_text()


def test_systems_of_which_no_cost_is_known_have_no_tradeoff(ranked):
    with pytest.raises(ConfigurationError, match="pareto: found no cost of any system; expected at least one"):
        compare({"a": ranked([1, 2]), "b": ranked([2, 1])}, primary="rr@3").pareto()
