"""A gate against a baseline of other chunks: matched by coverage, decided by the metric that was named."""

import pytest

from raglift.datasets.loading import load_dataset
from raglift.gating.deciding import gate
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs():
    data = load_dataset("lighthouse")
    return {
        size: evaluate(BM25Retriever(RecursiveChunker(size, 0).split(data.documents)), data) for size in (150, 6000)
    }


def test_both_are_matched_by_coverage_and_containment_is_told(runs):
    result = gate(runs[6000], baseline=runs[150], no_regression=["ndcg@10"])
    (one,) = result.regressions
    by_coverage = [rescore(runs[size], match="coverage").scores.mean("retrieve", "ndcg@10") for size in (150, 6000)]
    assert [one.before, one.after] == by_coverage
    assert (
        "the run has other chunks than the baseline, so both are matched by coverage; by containment, NDCG@10 is 0.302 "
        "→ 0.717"
    ) in result.notes
    assert "10 hits are 42% of the index (24 chunks)" in result.notes


def test_the_named_metric_decides(runs):
    result = gate(runs[6000], baseline=runs[150], no_regression=["ndcg@10"])
    assert result.passed
    assert any("not like for like" in warning for warning in result.warnings)


def test_a_bound_is_on_the_run_as_it_was_scored(runs):
    result = gate(runs[6000], minimum={"ndcg@10": 0.1}, baseline=runs[150], no_regression=["ndcg@10"])
    assert result.checks[0].found == runs[6000].scores.mean("retrieve", "ndcg@10")


def test_a_run_of_the_same_chunks_is_compared_as_it_was_scored(runs):
    result = gate(runs[150], baseline=runs[150], no_regression=["ndcg@10"])
    assert result.regressions[0].before == runs[150].scores.mean("retrieve", "ndcg@10")
    assert not any("coverage" in note for note in result.notes)
