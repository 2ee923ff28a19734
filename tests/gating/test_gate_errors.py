"""What a gate's files say where nothing was decided."""

from __future__ import annotations

from junitparser import Error, JUnitXml

from raglift.gating.ci import GateError


def test_it_says_why_in_each_form() -> None:
    said = "now: NOT DECIDED: there is an error, so nothing was checked"
    undecided = GateError("now", "runs/now: found nothing there")
    assert undecided.to_markdown() == f"### ❌ {said}\n\nruns/now: found nothing there\n"
    (suite,) = JUnitXml.fromstring(undecided.to_junit().encode("utf-8"))
    assert (suite.tests, suite.failures, suite.errors) == (1, 0, 1)
    (case,) = suite
    assert case.classname == "raglift gate.now"
    (error,) = case.result
    assert isinstance(error, Error)
    assert error.message == "runs/now: found nothing there"
    assert undecided.to_github() == ("::error title=raglift gate%3A not decided (now)::runs/now: found nothing there\n")
