"""What is said of a value in the query's own numbers is said only where it comes to that value."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raglift.analysis.conventions.values import Counts, numbers_of
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.results.evaluation import Evaluation

METRICS = ("precision@5", "recall@5", "f1@5", "rr@5", "ap@5", "ndcg@5")


@pytest.mark.parametrize("text", METRICS)
@pytest.mark.parametrize("profile", ["default", "trec", "autorag", "ragas"])
def test_numbers_that_do_not_come_to_the_value_are_not_said(
    three_of_which_two_were_found: Evaluation, text: str, profile: str
) -> None:
    (judged,), metric = three_of_which_two_were_found.match_table, parse(text)
    counts = Counts.of(judged, 0, metric, profile)
    value = float(compute(judged, metric, profile)[0])
    assert numbers_of(counts, value)
    assert numbers_of(counts, value + 1e-4) == ""


def test_long_sums_are_not_spelled_out(by_chunk_ids: Callable[..., Evaluation]) -> None:
    found = by_chunk_ids({"q": [[name] for name in "ABCDEFG"]}, {"q": "ABCDEFG"}, ks=(6, 7)).explain_metrics("q")
    assert found.of("ap@6").numbers == "(1/1 + 2/2 + 3/3 + 4/4 + 5/5 + 6/6) / 7 facts"
    assert found.of("ap@7").numbers == "7.0000 / 7 facts"


def test_nothing_found_is_said_in_words(by_chunk_ids: Callable[..., Evaluation]) -> None:
    found = by_chunk_ids({"q": [["A"]]}, {"q": "X"}).explain_metrics("q")
    assert found.of("rr@5").numbers == found.of("ap@5", "ragas").numbers == "no relevant hit"
    assert found.of("ap@5").numbers == "0 / 1 fact"


def test_a_group_with_several_hits_brings_its_own_average(by_chunk_ids: Callable[..., Evaluation]) -> None:
    labels = {"q": [["test-1", "test-2"], ["test-3"]]}
    found = by_chunk_ids(labels, {"q": ["test-1", "pred-1", "test-2", "pred-3"]}).explain_metrics("q")
    assert found.of("ap@5", "autorag").value == pytest.approx(5 / 12)
    assert found.of("ap@5", "autorag").numbers == "(0.8333 + 0) / 2 groups"
    assert found.of("rr@5", "autorag").numbers == "(1/1 + 0) / 2 groups"
    assert found.of("recall@5", "llamaindex").numbers == "2 labels found / 3 labels"
