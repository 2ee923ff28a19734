"""Failures by cause."""

from __future__ import annotations

import pytest

from raglift.analysis.outcomes import failures_of
from raglift.types.rankings import Run, StageInfo, Trace


def run_of(*errors: str | None) -> Run:
    traces = tuple(Trace(f"q{place}", (), error) for place, error in enumerate(errors))
    return Run((StageInfo("retrieve", "a system", (), False),), traces, {}, (), None, None)


def test_queries_that_failed_of_one_cause_are_together_and_the_commonest_comes_first() -> None:
    found = failures_of(
        run_of(
            "retrieve: HTTP 500 Internal Server Error — no index for q0 (tried 3 times)",
            None,
            "retrieve: the answer is not JSON — Expecting value at character 0: <html>",
            "retrieve: the answer is not JSON — Expecting value at character 17: x",
        )
    )
    assert [(each.cause, each.query_ids) for each in found] == [
        ("retrieve: the answer is not JSON", ("q2", "q3")),
        ("retrieve: HTTP 500 Internal Server Error", ("q0",)),
    ]
    assert found[1].first.endswith("no index for q0 (tried 3 times)")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retrieve: HTTP 500 X", "retrieve: HTTP 503 X"),
        ("retrieve: OSError: a", "rerank: OSError: a"),
        ("retrieve: ValueError: no such 'index'", "retrieve: ValueError: no such 'field'"),
    ],
)
def test_other_causes_stay_apart(one: str, other: str) -> None:
    assert len(failures_of(run_of(one, other))) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retrieve: E: request 0x7f00 at 12345.6", "retrieve: E: request 0x7f0a at 99345.1"),
        ("retrieve: E: no 'a query that is long enough'", "retrieve: E: no 'another query that is long'"),
        ("retrieve: E (tried 2 times)", "retrieve: E"),
    ],
)
def test_what_is_one_querys_own_does_not_part_a_cause(one: str, other: str) -> None:
    assert len(failures_of(run_of(one, other))) == 1


def test_no_failure_is_no_cause() -> None:
    assert failures_of(run_of(None, None)) == ()
