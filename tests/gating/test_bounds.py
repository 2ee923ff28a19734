"""What is asked of a run, read and checked before anything is computed."""

from __future__ import annotations

import pytest

from raglift.errors import ConfigurationError
from raglift.gating.bounds import bounds_of, checked_margin, compared_metrics
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import RR

STAGES = ("retrieve", "rerank")


def test_figures_stages_and_bounds_are_read() -> None:
    found = bounds_of(
        {" MRR@10 ": 0.5, "retrieve:recall@50": "0.9", "ndcg(gain=exponential)@10": 0.1},
        {"p95_latency": "500ms", "rerank:p50_latency": 2, "failures": 0, "retrieve:empty": "3"},
        STAGES,
    )
    assert [(one.name, one.stage, one.figure, one.bound, one.is_minimum) for one in found] == [
        ("MRR@10", None, "rr@10", 0.5, True),
        ("retrieve:recall@50", "retrieve", "recall@50", 0.9, True),
        ("ndcg(gain=exponential)@10", None, "ndcg(gain=exponential)@10", 0.1, True),
        ("p95_latency", None, "p95_latency", 0.5, False),
        ("rerank:p50_latency", "rerank", "p50_latency", 2.0, False),
        ("failures", None, "failures", 0.0, False),
        ("retrieve:empty", "retrieve", "empty", 3.0, False),
    ]
    assert found[0].metric == RR @ 10


@pytest.mark.parametrize(
    ("text", "seconds"), [("0.5s", 0.5), ("0.5", 0.5), (" 1.5 s ", 1.5), ("20ms", 0.02), (3, 3.0), ("1e-3s", 0.001)]
)
def test_seconds(text: str | float, seconds: float) -> None:
    (found,) = bounds_of({}, {"p95_latency": text}, STAGES)
    assert found.bound == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("minimum", "maximum", "told"),
    [
        ({"ndgc@10": 0.5}, None, r"minimum: metric: found 'ndgc' \(did you mean 'ndcg'\?\).*p95_latency"),
        (None, {"latency": 1}, r"maximum: metric: found 'latency'.* \(as a maximum, did you mean 'p95_latency'\?\)"),
        ({"ndcg@10": 75}, None, r"minimum: ndcg@10: found 75; expected a number from 0 to 1"),
        ({"ndcg@10": float("nan")}, None, r"found nan; expected a number"),
        ({"ndcg@10": True}, None, r"found True; expected a number"),
        ({"ndcg@10": "much"}, None, r"found 'much'; expected a number"),
        ({"fuse:ndcg@10": 0.5}, None, r"found the stage 'fuse'; expected one of 'retrieve', 'rerank'"),
        ({":ndcg@10": 0.5}, None, r"found the stage ''"),
        ({"precision": 0.5}, None, r"found 'precision'; expected a depth, as precision@10"),
        ({"p95_latency": 0.5}, None, r"found it as a minimum; expected it as a maximum"),
        ({"failures": 0}, None, r"found it as a minimum"),
        ({"mrr@10": 0.5, "rr@10": 0.6}, None, r"found 'rr@10' beside 'mrr@10'"),
        (None, {"failures": 0.5}, r"found 0.5; expected a number of questions"),
        (None, {"failures": -1}, r"found -1; expected a number of questions"),
        (None, {"retrieve:failures": 1}, r"found a stage; expected failures alone"),
        (None, {"p95_latency": "5 min"}, r"found '5 min'; expected seconds above 0, as 0.5s or 500ms"),
        (None, {"p95_latency": "1.2.3s"}, r"expected seconds above 0"),
        (None, {"p95_latency": 0}, r"expected seconds above 0"),
        ([("ndcg@10", 0.5)], None, r"minimum: found a list; expected a mapping"),
        ({10: 0.5}, None, r"found 10; expected the name of a figure"),
        (None, {"p95_latency": ["0.5s"]}, r"p95_latency: found \['0.5s'\]; expected seconds above 0"),
        ({"ndcg@10": 10**400}, None, r"ndcg@10: found 1000.*; expected a number"),
        ({"x\ud800:ndcg@10": 0.5}, None, r"minimum: found the stage 'x\\ud800'; expected one of"),
    ],
)
def test_what_cannot_be_asked_is_told(minimum, maximum, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        bounds_of(minimum, maximum, STAGES)


def test_metrics_that_are_compared() -> None:
    assert compared_metrics([NDCG @ 10, "mrr@10"]) == (NDCG @ 10, RR @ 10)
    for twice in (["ndcg@10", NDCG @ 10], ["mrr@10", "ndcg@10", "rr@10"]):
        with pytest.raises(ConfigurationError, match=r"no_regression: found .*@10 twice; expected each metric once"):
            compared_metrics(twice)
    assert compared_metrics("ndcg@10") == (NDCG @ 10,)
    for wrong, told in (
        ("context_tokens@10", "expected a measure of quality"),
        ("idcg@10", "expected a measure of quality"),
        ("retrieve:ndcg@10", "without a stage"),
        ("failures", "no_regression: metric: found 'failures'"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            compared_metrics([wrong])


@pytest.mark.parametrize("margin", [1, 1.0, 3, 30])
def test_a_margin_that_no_drop_could_be_larger_than_is_refused(margin: float) -> None:
    with pytest.raises(ConfigurationError, match=r"expected a share below 1, as 0\.03 for 3 points: ndcg@10 lies"):
        checked_margin(margin, [NDCG @ 10])
    assert checked_margin(0.999, [NDCG @ 10]) == 0.999
