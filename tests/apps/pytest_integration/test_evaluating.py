from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
MARKED = """
    @pytest.mark.retrieval(dataset="labels.jsonl", {})
    def test_retrieval(raglift_evaluate):
        raglift_evaluate(Search({}))
"""


def test_a_test_passes_whose_bounds_are_kept(run: Run) -> None:
    run(MARKED.format('min={"recall@5": 0.6, "retrieve:ndcg@10": 0.3}', 3)).assert_outcomes(passed=1)


def test_a_bound_that_is_not_kept_is_told_with_the_table_and_the_worst_queries(run: Run) -> None:
    result = run(MARKED.format('min={"recall@5": 0.8}', 3))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*raglift_evaluate(Search(3))",
            "E * recall@5 is 0.600 over 5 questions; expected ≥ 0.8",
            "E  *FAIL  recall@5  0.600 * 5",
            "E  *5 questions, 5 facts; 10 candidates; match by containment",
            "E  *Recall@10 *0.600 * 5",
            "E  *stone-3: Where is stone 3?",
            "E  *returned 2 hits; ✓ matches a label:",
            "E  *1. nothing to the point, line one",
            "E  *missed  “stone number 3 lies at the ford” (grade 1)",
            "FAILED test_search.py::test_retrieval - AssertionError: recall@5*",
        ]
    )
    assert "evaluating.py" not in result.stdout.str()


def test_metrics_that_the_mark_names_are_taken_whatever_the_test_asks_for(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl", min={"ap@7": 0.1}, max={"context_tokens@2": 40})
        def test_retrieval(raglift_evaluate):
            evaluation = raglift_evaluate(Search(), ks=(3,), metrics=["rr"])
            assert [str(metric) for metric in evaluation.scores.metrics] == ["rr@3", "ap@7", "context_tokens@2"]
            assert evaluation.run.spec["candidates"] == 10
    """
    run(code).assert_outcomes(passed=1)


def test_latency_is_measured_where_it_is_bounded(run: Run) -> None:
    code = """
        import time

        def search(text):
            time.sleep(0.01)
            return FILLER

        @pytest.mark.retrieval(dataset="labels.jsonl", max={"p95_latency": "1ms", "retrieve:p50_latency": 60})
        def test_retrieval(raglift_evaluate):
            raglift_evaluate(search)
    """
    result = run(code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E * p95_latency is * over 5 questions; expected ≤ *", "E *pass  retrieve:p50_latency *"]
    )


def test_a_system_that_fails_shows_its_own_code_and_nothing_of_raglifts(run: Run) -> None:
    code = """
        def search(text):
            return CATALOGUE[text]

        CATALOGUE = {}

        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.1})
        def test_retrieval(raglift_evaluate):
            raglift_evaluate(search)
    """
    result = run(code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [">*return CATALOGUE*", "E *KeyError: 'Where is stone 0?'", ">*raglift_evaluate(search)"]
    )
    result.stdout.fnmatch_lines(["E *QueryFailed: retrieve (function search) failed on 'Where is stone 0?': KeyError*"])
    result.stdout.no_fnmatch_line("*tenacity*")
    result.stdout.no_fnmatch_line("*raglift/*.py:*")


def test_failures_count_0_where_the_mark_allows_them(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.5}, max={"failures": {} })
        def test_retrieval(raglift_evaluate):
            search = Search(5)
            search.results["Where is stone 1?"] = search.results["Where is stone 3?"] = OSError("gone")
            raglift_evaluate(search, retries=0)
    """
    run(code.replace("{} }", "2}")).assert_outcomes(passed=1)
    result = run(code.replace("{} }", "1}"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *failures is 2 of 5 questions; expected ≤ 1", "E *stone-1: Where*", "E *failed: *OSError*gone*"]
    )


def test_an_evaluation_is_held_to_the_bounds_as_it_is(run: Run, asked: Callable[[], object]) -> None:
    code = """
        @pytest.fixture(scope="module")
        def evaluation():
            return rl.evaluate(Search(), rl.load_dataset("labels.jsonl"))

        @pytest.mark.parametrize("again", range(3))
        def test_it(raglift_evaluate, evaluation, again):
            assert raglift_evaluate(evaluation).run is evaluation.run

        @pytest.mark.retrieval(min={"recall@4": 0.6})
        def test_low(raglift_evaluate, evaluation):
            raglift_evaluate(evaluation)

        @pytest.mark.retrieval(min={"recall@4": 0.7})
        def test_high(raglift_evaluate, evaluation):
            raglift_evaluate(evaluation)
    """
    result = run(code)
    result.assert_outcomes(passed=4, failed=1)
    assert asked() == {"alone": [f"Where is stone {n}?" for n in range(5)]}


def test_a_run_that_lacks_queries_of_the_labelled_set_fails(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.6})
        def test_it(raglift_evaluate, raglift_dataset):
            raglift_evaluate(rl.evaluate(Search(), raglift_dataset.only(ids=["stone-0", "stone-1"])))
    """
    result = run(code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *3 questions missing in the run: stone-2, stone-3*"])


def test_marks_of_module_class_and_function_are_one(run: Run) -> None:
    code = """
        pytestmark = pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.9})

        class TestSearch:
            pytestmark = pytest.mark.retrieval(min={"recall@5": 0.8})

            @pytest.mark.parametrize("known", [pytest.param(5, id="all"), pytest.param(3, id="some")])
            def test_it(self, raglift_evaluate, known):
                raglift_evaluate(Search(known))

            @pytest.mark.retrieval(min={"recall@5": 0.5})
            def test_low(self, raglift_evaluate):
                raglift_evaluate(Search())

        def test_without(raglift_dataset):
            assert len(raglift_dataset) == 5
    """
    result = run(code)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_search.py::TestSearch::test_it[[]some[]] - *expected ≥ 0.8*"])


def test_a_test_that_never_hands_over_a_system_does_not_pass(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.9})
        def test_it(raglift_evaluate):
            pass

        @pytest.mark.retrieval(dataset="labels.jsonl")
        def test_without_bounds(raglift_evaluate):
            pass

        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.9})
        def test_skipped(raglift_evaluate):
            pytest.skip("no index on this machine")
    """
    result = run(code)
    result.assert_outcomes(failed=1, passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*raglift_evaluate was not called, so nothing was held to the bounds*"])


def test_a_table_is_shown_of_what_passed_when_asked_for(run: Run) -> None:
    result = run(MARKED.format('min={"recall@5": 0.6}', 3), "-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*retrieval*", "Recall@10 *0.600*"])


def test_a_bound_deeper_than_the_deployed_system_says_how_many_hits_it_returns(run: Run) -> None:
    code = """
        def search(query, k=2):
            return [hit.chunk for hit in Search().retrieve_one(query, k)]

        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.8})
        def test_retrieval(raglift_evaluate):
            raglift_evaluate(search)
    """
    result = run(code)
    result.assert_outcomes(failed=1)
    said = "retrieve returned no more than 2 hits, as deployed"
    result.stdout.fnmatch_lines([f"E *recall@5 is 0.600 over 5 questions; expected ≥ 0.8 ({said})"])
