from __future__ import annotations

from collections.abc import Callable

import pytest

from raglift.results.evaluation import load_evaluation

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Asked = Callable[[], dict[str, list[str]]]
UPDATE = "--raglift-update-baseline"
FOLDER = "baselines/test_search/test_search"
CODE = """
    LABELS = rl.Dataset.from_dict({f"Where is stone {n}?": [f"stone number {n} lies"] for n in range(8)})

    @pytest.mark.retrieval(dataset=LABELS, no_regression=["ndcg@10"], margin=MARGIN)
    def test_search(raglift_evaluate):
        raglift_evaluate(Search(KNOWN))
"""


def code(known: int, margin: float = 0.0) -> str:
    return CODE.replace("KNOWN", str(known)).replace("MARGIN", str(margin))


def test_a_missing_baseline_is_an_error_that_names_the_option_before_anything_is_asked(run: Run, asked: Asked) -> None:
    result = run(code(8))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *RunError: {FOLDER}: found no baseline there*pytest {UPDATE}*"])
    assert asked() == {}


def test_a_baseline_is_saved_compared_with_and_replaced(run: Run, project: pytest.Pytester) -> None:
    result = run(code(8), UPDATE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*retrieval baselines*", f"saved {FOLDER}: 8 questions, ndcg@10 0.631"])
    run(code(8)).assert_outcomes(passed=1)
    run(code(6)).assert_outcomes(passed=1)  # two of eight queries: may be noise
    result = run(code(0))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *NDCG@10 got worse: 0.631 → 0.000*", "E *q1*", "E *2 *✓ *stone number 0 lies*"])
    assert load_evaluation(project.path / FOLDER).scores.mean("retrieve", "ndcg@10") == pytest.approx(0.6309, abs=1e-4)
    run(code(0, margin=0.7)).assert_outcomes(passed=1)
    result = run(code(0), UPDATE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"replaced {FOLDER}: 8 questions, ndcg@10 0.000 (was 0.631)"])
    run(code(0)).assert_outcomes(passed=1)


def test_a_baseline_may_be_named_by_its_path_from_the_tests_folder(run: Run, project: pytest.Pytester) -> None:
    named = code(8).replace("margin=", 'baseline="kept/first", margin=')
    run(named, UPDATE).stdout.fnmatch_lines(["saved kept/first: 8 questions, ndcg@10 0.631"])
    assert not (project.path / "baselines").exists()
    run(named).assert_outcomes(passed=1)


def test_nothing_but_a_saved_evaluation_is_replaced(run: Run, project: pytest.Pytester, asked: Asked) -> None:
    run(code(8), UPDATE)
    asked()
    kept = project.path / FOLDER / "notes.txt"
    kept.write_text("mine", encoding="utf-8")
    before = sorted(kept.parent.iterdir())
    result = run(code(8), UPDATE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *not a saved evaluation alone, and so is not overwritten*", "none was saved"])
    assert sorted(kept.parent.iterdir()) == before
    assert asked() == {}


def test_what_does_not_keep_the_bounds_is_not_saved(run: Run, project: pytest.Pytester) -> None:
    result = run(code(2).replace("margin=", 'min={"recall@5": 0.8}, margin='), UPDATE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["none was saved"])
    assert not (project.path / "baselines").exists()


def test_what_could_never_be_compared_is_not_saved(run: Run, project: pytest.Pytester) -> None:
    tests = """
        @pytest.mark.retrieval(dataset="labels.jsonl", no_regression=["ndcg@10"])
        def test_search(raglift_evaluate):
            raglift_evaluate(lambda question: FILLER)
    """
    result = run(tests, UPDATE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *NDCG@10 cannot be compared*returned fewer hits*smaller depth", "none was saved"])
    assert not (project.path / "baselines").exists()


def test_a_test_has_one_baseline_and_so_one_evaluation(run: Run) -> None:
    result = run(code(8).rstrip() + "\n        raglift_evaluate(Search())\n", UPDATE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *found a second evaluation; expected one*"])


def test_each_parameter_has_a_baseline_of_its_own(run: Run, project: pytest.Pytester) -> None:
    tests = """
        class TestAll:
            @pytest.mark.parametrize("known", [pytest.param(5, id="a/b"), 4])
            @pytest.mark.retrieval(dataset="labels.jsonl", no_regression=["rr@3"])
            def test_it(self, raglift_evaluate, known):
                raglift_evaluate(Search(known))
    """
    run(tests, UPDATE).assert_outcomes(passed=2)
    folders = {path.name for path in (project.path / "baselines" / "test_search").iterdir()}
    assert folders == {"TestAll.test_it_a_b", "TestAll.test_it_4"}
    run(tests).assert_outcomes(passed=2)
