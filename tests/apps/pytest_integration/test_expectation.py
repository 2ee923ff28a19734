from __future__ import annotations

from collections.abc import Callable

import pytest

from raglift.apps.pytest_integration.expectation import Expectation, expectation_of
from raglift.errors import ConfigurationError

Run = Callable[..., pytest.RunResult]


def of(*arguments: dict[str, object]) -> Expectation:
    return expectation_of([pytest.mark.retrieval(**given).mark for given in arguments], "test_it")


def test_a_nearer_mark_overrides_a_farther_one_argument_by_argument() -> None:
    found = of({"min": {"rr@3": 0.5}}, {"min": {"rr@3": 0.9}, "max": {"failures": 2}, "dataset": "lighthouse"})
    assert found == Expectation("lighthouse", {"rr@3": 0.5}, {"failures": 2})


def test_no_query_may_fail_unless_the_mark_says_how_many() -> None:
    assert of({}).maximum == {"failures": 0}
    assert of({"max": {"p95_latency": "1s"}}).maximum == {"failures": 0, "p95_latency": "1s"}


@pytest.mark.parametrize(
    ("given", "has_bounds"),
    [
        ({}, False),
        ({"dataset": "lighthouse"}, False),
        ({"per_query": {}}, False),
        ({"min": {"rr@3": 0.5}}, True),
        ({"max": {"failures": 3}}, True),
        ({"per_query": {"rr@3": 0.1}}, True),
        ({"no_regression": ["rr@3"]}, True),
    ],
)
def test_bounds_are_what_a_test_can_fail_by(given: dict[str, object], has_bounds: bool) -> None:
    assert of(given).has_bounds is has_bounds


def test_all_metrics_that_it_speaks_of_are_known_each_once() -> None:
    found = of(
        {"min": {"retrieve:recall@50": 0.9, "rr@3": 0.1}, "max": {"empty": 1}, "no_regression": ["rr@3", "ap@3"]}
    )
    assert [str(metric) for metric in found.metrics] == ["recall@50", "rr@3", "ap@3"]


def test_every_fault_is_told_of_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        of(
            {
                "mim": {"recall@5": 0.8},
                "dataset": 5,
                "min": {"recal@5": 0.8, "recall@5": 8, "failures": 1},
                "max": {"p95_latency": "fast", "recall@5": True},
                "per_query": "recall@5",
                "no_regression": ["latency", "rr"],
                "baseline": "",
                "margin": -1,
            }
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "test_it: the mark cannot be used"
    told = [line.partition(": found ")[0].strip() for line in lines[1:]]
    assert told == [
        "retrieval(mim=…)",
        "retrieval(dataset)",
        'retrieval(min)["recal@5"]',
        'retrieval(min)["recall@5"]',
        'retrieval(min)["failures"]',
        'retrieval(max)["p95_latency"]',
        'retrieval(max)["recall@5"]',
        "retrieval(per_query)",
        "retrieval(no_regression)[0]",
        "retrieval(no_regression)[1]",
        "retrieval(baseline)",
        "retrieval(margin)",
    ]
    assert all("; expected " in line for line in lines[1:])
    assert 'nearest: "min"' in lines[1]
    assert "'recal" in lines[3]


def test_a_baseline_without_a_metric_to_compare_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no metric to compare"):
        of({"baseline": "runs/first"})


def test_a_margin_that_no_drop_could_be_larger_than_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="margin: found 3; expected a share below 1"):
        of({"no_regression": ["rr@3"], "margin": 3})


def test_an_argument_without_a_name_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match="an argument without a name; expected arguments by name: dataset, min"
    ):
        expectation_of([pytest.mark.retrieval("lighthouse").mark], "test_it")


def test_two_names_of_one_figure_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"test_it: the mark cannot be used\n.*'rr@3' beside 'mrr@3'"):
        of({"min": {"mrr@3": 0.5, "rr@3": 0.6}})
