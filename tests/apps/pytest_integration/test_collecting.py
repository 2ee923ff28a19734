from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]


def test_a_mark_that_cannot_be_used_is_an_error_of_collection_that_names_the_test(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recal@5": 0.8})
        def test_search(raglift_evaluate):
            raglift_evaluate(Search())

        @pytest.mark.retrieval(dataset="labels.jsonl")
        def test_other(raglift_evaluate):
            raglift_evaluate(Search())
    """
    result = run(code)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting test_search.py*",
            "test_search.py::test_search: the mark cannot be used",
            "*found 'recal' (did you mean 'recall'?); expected*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_bounds_that_nothing_would_be_held_to_are_refused(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.8})
        def test_search():
            pass
    """
    result = run(code)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["test_search.py::test_search: found bounds in its mark, and no argument raglift_evaluate*"]
    )


def test_a_mark_of_a_module_may_stand_above_other_tests_too(run: Run) -> None:
    code = """
        pytestmark = pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.6})

        def test_other():
            pass

        @pytest.fixture
        def evaluation(raglift_evaluate):
            return raglift_evaluate(Search())

        @pytest.mark.retrieval(max={"failures": 3})
        def test_through_a_fixture(evaluation):
            assert len(evaluation.dataset) == 5
    """
    run(code).assert_outcomes(passed=2)


def test_a_labelled_set_that_cannot_be_loaded_names_the_test(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="lables.jsonl", min={"recall@5": 0.8})
        def test_search(raglift_evaluate):
            raglift_evaluate(Search())
    """
    result = run(code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *lables.jsonl: *found no such file or folder*", "E *from the folder of the test's file*"]
    )
