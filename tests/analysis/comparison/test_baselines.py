"""Which system the others are compared with, where none is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raglift.results.comparison import compare

pytestmark = pytest.mark.slow


def called(evaluation, system):
    """The same evaluation of a system of another name."""
    (stage,) = evaluation.run.stages
    return replace(evaluation, run=replace(evaluation.run, stages=(replace(stage, system=system),)))


@pytest.fixture
def three(ranked):
    return {
        "a": called(ranked([3] * 30), "dense (minilm, 5 chunks)"),
        "b": called(ranked([1] * 30), "dense (static, 5 chunks)"),
        "c": called(ranked([2] * 30), "dense (other, 5 chunks)"),
    }


def test_of_two_it_is_the_first_that_is_given(ranked):
    worse, better = ranked([3] * 30), ranked([1] * 30)
    found = compare({"new": better, "old": worse}, primary="rr@3")
    assert (found.baseline, found.baseline_reason) == ("new", "the first of two")
    assert found.row("old").verdict == "worse"


def test_of_more_it_is_the_best_and_not_the_first(three):
    found = compare(three, primary="rr@3")
    assert (found.baseline, found.baseline_reason) == ("b", "the highest mean MRR@3")
    assert found.baseline == compare(dict(reversed(three.items())), primary="rr@3").baseline
    assert found.warnings[0].startswith("the baseline, b, was picked as the best of 3 on these same questions")
    assert found.method.text.endswith("Holm over 2 systems, not over the choice of the baseline")


@pytest.mark.parametrize("bm25", ["bm25 (5 chunks)", "BM25Retriever (LangChain)"])
def test_the_only_plain_bm25_is_the_baseline(three, bm25):
    three["c"] = called(three["c"], bm25)
    found = compare(three, primary="rr@3")
    assert (found.baseline, found.baseline_reason) == ("c", "the only plain BM25")
    assert found.warnings[0].startswith("b was picked as the best of 3")
    three["a"] = called(three["a"], bm25)
    assert compare(three, primary="rr@3").baseline == "b"


def test_a_baseline_that_is_named_stays(three):
    found = compare(three, primary="rr@3", baseline="a")
    assert (found.baseline, found.baseline_reason) == ("a", "as requested")
    assert "Baseline: a (as requested)." in str(found)


def test_a_system_that_returns_too_few_hits_is_not_the_baseline(ranked):
    found = compare({"a": ranked([3] * 8), "cut": ranked([1] * 8, top_n=2), "c": ranked([2] * 8)}, primary="rr@3")
    assert (found.baseline, found.best) == ("c", "c")
