"""A system is tested as it is deployed: figures that look deeper than it returns are marked, and not compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
OF_TWO = """
    def search(query, k=2):
        return [hit.chunk for hit in Search().retrieve_one(query, k)]

    @pytest.mark.retrieval(dataset="labels.jsonl", {})
    def test_retrieval(raglift_evaluate):
        evaluation = raglift_evaluate(search)
        {}
"""


def test_a_figure_of_the_mark_that_is_deeper_is_taken_and_marked(run: Run) -> None:
    look = (
        'assert evaluation.is_truncated("retrieve", "recall@5") and "ndcg@5" not in map(str, evaluation.scores.metrics)'
    )
    result = run(OF_TWO.format('min={"recall@5": 0.6}', look), "-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["- retrieve: returned at most 2 hits: as deployed, so there are no figures at a deeper k"]
    )


def test_a_bound_that_fails_says_how_many_hits_the_deployed_system_returns(run: Run) -> None:
    failed = run(OF_TWO.format('min={"recall@5": 0.8}', ""))
    failed.assert_outcomes(failed=1)
    said = "retrieve returned no more than 2 hits, as deployed"
    failed.stdout.fnmatch_lines([f"E *recall@5 is 0.600 over 5 queries; expected ≥ 0.8 ({said})"])
