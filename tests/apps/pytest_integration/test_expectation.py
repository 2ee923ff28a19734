from __future__ import annotations

import pytest

from raglift.apps.pytest_integration.expectation import Expectation, expectation_of
from raglift.errors import ConfigurationError


def of(*arguments: dict[str, object]) -> Expectation:
    return expectation_of([pytest.mark.retrieval(**each).mark for each in arguments], "test_it")


def test_a_nearer_mark_overrides_a_farther_one_argument_by_argument() -> None:
    found = of({"min": {"rr@3": 0.5}}, {"min": {"rr@3": 0.9}, "max": {"failures": 2}, "dataset": "lighthouse"})
    assert (found.dataset, found.min, found.max) == ("lighthouse", {"rr@3": 0.5}, {"failures": 2})


def test_no_query_may_fail_unless_the_mark_says_how_many() -> None:
    assert of({}).maximum == {"failures": 0}
    assert of({"max": {"p95_latency": "1s"}}).maximum == {"failures": 0, "p95_latency": "1s"}
    assert of({"max": {"failures": 3}}).maximum == {"failures": 3}
    assert not of({"dataset": "lighthouse"}).has_bounds
    assert of({"no_regression": ["rr@3"]}).has_bounds


def test_all_metrics_that_it_speaks_of_are_known_each_once() -> None:
    found = of(
        {"min": {"retrieve:recall@50": 0.9, "rr@3": 0.1}, "max": {"empty": 1}, "no_regression": ["rr@3", "ap@3"]}
    )
    assert [str(metric) for metric in found.metrics] == ["recall@50", "rr@3", "ap@3"]


def test_an_argument_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"found 'recall@5' without a name; expected dataset, .* by name"):
        expectation_of([pytest.mark.retrieval("recall@5").mark], "test_it")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"mim": {"recall@5": 0.8}}, "retrieval: mim: "),
        ({"min": {"recall@5": "high"}}, r"retrieval: min\.recall@5: "),
        ({"min": {"recal@5": 0.8}}, "'recal'"),
        ({"no_regression": ["rr"]}, "found rr; expected a depth"),
        ({"baseline": "runs/first"}, "no metric to compare"),
        ({"no_regression": ["rr@3"], "margin": 3}, "margin: found 3; expected a share below 1"),
        ({"min": {"mrr@3": 0.5, "rr@3": 0.6}}, "'rr@3' beside 'mrr@3'"),
    ],
)
def test_a_mark_that_cannot_be_used_says_why(arguments: dict[str, object], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"test_it: the mark cannot be used\n.*{fault}"):
        of(arguments)
