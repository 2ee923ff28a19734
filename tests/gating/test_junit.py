"""A gate's result as JUnit XML."""

from __future__ import annotations

import pytest
from junitparser import JUnitXml

import raglift as rl


def suite_of(result):
    (suite,) = JUnitXml.fromstring(result.to_junit().encode("utf-8"))
    return suite


def failures(suite):
    return {case.name: case.result[0] for case in suite if case.result}


@pytest.mark.slow
def test_one_test_case_a_check(ranked) -> None:
    result = rl.gate(
        ranked([3] * 9),
        baseline=ranked([1] * 9),
        no_regression=["rr@3", "recall@3"],
        minimum={"ndcg@3": 0.9, "recall@3": 1.0},
        maximum={"failures": 0},
        name="new",
    )
    suite = suite_of(result)
    assert [case.name for case in suite] == [
        "no question missing",
        "ndcg@3 ≥ 0.9",
        "recall@3 ≥ 1",
        "failures ≤ 0",
        "no regression in MRR@3",
        "no regression in Recall@3",
    ]
    assert {case.classname for case in suite} == {"raglift gate.new"}
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (6, 2, 0, 0)
    found = failures(suite)
    assert list(found) == ["ndcg@3 ≥ 0.9", "no regression in MRR@3"]
    assert found["ndcg@3 ≥ 0.9"].message == "ndcg@3 is 0.500 over 9 questions; expected ≥ 0.9"
    assert "MRR@3 got worse: 1.000 → 0.333" in found["no regression in MRR@3"].message
    assert "\nq0008: 1.000 → 0.333" in found["no regression in MRR@3"].text


def test_missing_queries_are_a_case_of_their_own_with_all_their_names(ranked) -> None:
    result = rl.gate(ranked([1] * 2), minimum={"rr@3": 0.5}, dataset=ranked([1] * 9).dataset)
    (failure,) = failures(suite_of(result)).values()
    assert failure.message == "7 questions missing in the run: q0002, q0003, q0004 and 4 more"
    assert all(f"q000{number}" in failure.text for number in range(2, 9))


@pytest.mark.slow
def test_hostile_texts_are_read_back(hostile, hostile_text) -> None:
    def result_of(text):
        return rl.gate(
            hostile(text, 2, fails=True),
            baseline=hostile(text, 1),
            no_regression=["rr@3"],
            minimum={"ndcg@3": 0.9},
            maximum={"failures": 0},
            name=text,
        )

    suite, harmless = suite_of(result_of(hostile_text)), suite_of(result_of("harmless"))
    assert [case.name for case in suite] == [case.name for case in harmless]
    assert list(failures(suite)) == list(failures(harmless))
    assert (suite.tests, suite.failures) == (harmless.tests, harmless.failures)
    if hostile_text.startswith("]]>"):
        assert hostile_text in failures(suite)["failures ≤ 0"].text
