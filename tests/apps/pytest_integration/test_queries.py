from __future__ import annotations

import json
from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]
Asked = Callable[[], dict[str, list[str]]]
SPLIT = "--retrieval-per-query"
CODE = """
    @pytest.fixture
    def search():
        print("search is built")
        return Search()

    @pytest.mark.retrieval(dataset="labels.jsonl", min={"recall@5": 0.6})
    def test_search(raglift_evaluate, search):
        print("function is called")
        evaluation = raglift_evaluate(search)
        assert evaluation.scores.mean("retrieve", "recall@5") == 0.6, "the mean of all five"
"""


def questions(*numbers: int) -> dict[str, list[str]]:
    return {"alone": [f"Where is stone {number}?" for number in numbers]}


@pytest.mark.slow
def test_each_query_is_an_item_and_all_are_asked_once(run: Run, asked: Asked) -> None:
    result = run(CODE, SPLIT, "-v", "-s")
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(
        [
            "test_search.py::test_search[[]means[]] search is built",
            "test_search.py::test_search[[]stone-0[]] PASSED",
            "test_search.py::test_search[[]stone-3[]] FAILED",
            "hit_rate@10 is 0.000; expected ≥ 1",
            "stone-3: Where is stone 3?",
            "*returned 2 hits*",
            "*missed  “stone number 3 lies at the ford” (grade 1)",
            "FAILED test_search.py::test_search[[]stone-4[]] - Failed: hit_rate@10 is 0.000*",
        ]
    )
    assert asked() == questions(0, 1, 2, 3, 4)
    assert result.stdout.str().count("search is built") == 1
    assert result.stdout.str().count("function is called") == 1
    result.stdout.no_fnmatch_line("*pyfuncitem*")


@pytest.mark.slow
@pytest.mark.parametrize(
    "choice",
    [("-k", "stone-1 or stone-3"), ("test_search.py::test_search[stone-1]", "test_search.py::test_search[stone-3]")],
)
def test_only_the_queries_that_are_selected_are_asked(run: Run, asked: Asked, choice: tuple[str, ...]) -> None:
    run(CODE, SPLIT, *choice).assert_outcomes(passed=1, failed=1, deselected=4 if "-k" in choice else 0)
    assert asked() == questions(1, 3)


@pytest.mark.slow
def test_the_queries_that_failed_are_asked_again_alone(run: Run, asked: Asked) -> None:
    run(CODE, SPLIT)
    asked()
    result = run(CODE.replace("Search()", "Search(4)"), SPLIT, "--lf")
    result.assert_outcomes(passed=1, failed=1)
    assert asked() == questions(3, 4)


@pytest.mark.slow
def test_the_means_are_over_all_queries_whatever_else_is_selected(run: Run, asked: Asked) -> None:
    run(CODE, SPLIT, "-k", "means or stone-1").assert_outcomes(passed=2, deselected=4)
    assert asked() == questions(0, 1, 2, 3, 4)


@pytest.mark.slow
def test_means_that_are_too_low_fail_their_own_item_only(run: Run, asked: Asked) -> None:
    result = run(CODE.replace("0.6}", "0.8}"), SPLIT)
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(["FAILED test_search.py::test_search[[]means[]] - *recall@5 is 0.600*"])
    assert asked() == questions(0, 1, 2, 3, 4)


@pytest.mark.slow
def test_bounds_of_single_queries_hold_with_and_without_items_of_their_own(run: Run) -> None:
    code = CODE.replace("min={", 'per_query={"rr@3": 0.5}, min={')
    run(code, SPLIT).assert_outcomes(passed=4, failed=2)
    result = run(code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *rr@3 is below 0.5 for 2 queries: stone-3, stone-4", "E *missed*stone number 3 lies*"]
    )
    run(code.replace('"rr@3": 0.5', ""), SPLIT).assert_outcomes(passed=6)


@pytest.mark.slow
def test_a_system_that_cannot_be_made_fails_every_item_with_its_own_code_and_is_tried_once(run: Run) -> None:
    code = """
        TRIED = []

        def build():
            TRIED.append(1)
            raise OSError(f"no index, try {len(TRIED)}")

        @pytest.mark.retrieval(dataset="labels.jsonl")
        def test_search(raglift_evaluate):
            raglift_evaluate(build())
    """
    result = run(code, SPLIT, "-k", "stone")
    result.assert_outcomes(failed=5, deselected=1)
    assert result.stdout.str().count("E       OSError: no index, try 1") == 5
    result.stdout.fnmatch_lines([">*raglift_evaluate(build())"])


@pytest.mark.slow
def test_a_query_that_fails_fails_its_item(run: Run) -> None:
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl")
        def test_search(raglift_evaluate):
            search = Search(5)
            search.results["Where is stone 2?"] = ValueError("no such shard")
            raglift_evaluate(search)
    """
    result = run(code, SPLIT)
    result.assert_outcomes(passed=4, failed=2)  # and the means, which allow no failures
    result.stdout.fnmatch_lines(["_*test_search[[]stone-2[]]*", "failed: retrieve: ValueError: no such shard"])


@pytest.mark.slow
def test_parameters_and_classes_have_their_own_queries(run: Run, asked: Asked) -> None:
    code = """
        class TestSearch:
            @pytest.mark.parametrize("known", [2, 5])
            @pytest.mark.retrieval(dataset="labels.jsonl", per_query={"rr@3": 0.5})
            def test_it(self, raglift_evaluate, known):
                raglift_evaluate(Search(known))
    """
    result = run(code, SPLIT, "-v")
    result.assert_outcomes(passed=9, failed=3)
    result.stdout.fnmatch_lines(
        ["*TestSearch::test_it[[]2-means[]] PASSED*", "*TestSearch::test_it[[]5-stone-4[]] PASSED*"]
    )
    assert len(asked()["alone"]) == 10
    run(code, SPLIT, "-k", "2-stone-4").assert_outcomes(failed=1, deselected=11)


@pytest.mark.slow
def test_what_nobody_labelled_is_skipped(run: Run, project: pytest.Pytester) -> None:
    labels = [
        {"id": "labelled", "query": "Where is stone 0?", "relevant": ["stone number 0 lies at the ford"]},
        {"id": "unlabelled", "query": "Where is stone 1?", "relevant": []},
        {"id": "unanswerable", "query": "Why?", "answerable": False, "relevant": []},
    ]
    (project.path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    result = run(CODE.partition("        evaluation =")[0] + "        raglift_evaluate(search)\n", SPLIT, "-rs")
    result.assert_outcomes(passed=2, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*: without labels", "SKIPPED*: the corpus does not answer it"])


@pytest.mark.slow
def test_hostile_ids_have_node_ids_that_select_them(run: Run, project: pytest.Pytester, asked: Asked) -> None:
    ids = ["a/b::c[d]", "new\nline", "\u202eabc\x1b[31m", "é", "é\u0301", "means", "[", "]@x", "a b"]
    labels = [
        {"id": name, "query": f"Where is stone {n}?", "relevant": ["a ford at the river"]} for n, name in enumerate(ids)
    ]
    (project.path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    code = """
        @pytest.mark.retrieval(dataset="labels.jsonl", per_query={})
        def test_search(raglift_evaluate):
            raglift_evaluate(Search())
    """
    result = run(code, SPLIT, "--collect-only", "-q")
    nodes = [line for line in result.outlines if line.startswith("test_search.py::")]
    assert len(set(nodes)) == len(nodes) == len(ids) + 1
    assert all(node.isascii() and node.isprintable() and " " not in node for node in nodes)
    for number in (0, 2, 7):
        run(code, SPLIT, nodes[1 + number]).assert_outcomes(passed=1)
        assert asked() == questions(number)


@pytest.mark.slow
def test_a_labelled_set_that_only_a_fixture_knows_is_refused(run: Run) -> None:
    code = """
        @pytest.fixture
        def raglift_dataset():
            return rl.load_dataset("labels.jsonl")

        def test_search(raglift_evaluate):
            raglift_evaluate(Search())
    """
    result = run(code, SPLIT)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["test_search.py::test_search: found no labelled set while tests are collected*"])
    run(code).assert_outcomes(passed=1)


@pytest.mark.slow
def test_what_came_back_is_shown_of_queries_that_passed_when_asked_for(run: Run) -> None:
    result = run(CODE, SPLIT, "-rP", "-k", "stone-0")
    result.stdout.fnmatch_lines(["stone-0: Where is stone 0?", "*✓   2. stone number 0 lies at the ford"])


@pytest.mark.slow
def test_a_query_that_is_selected_alone_and_fails_is_shown_as_a_query(run: Run) -> None:
    code = """
        def broken(query):
            raise ConnectionError("no index")

        @pytest.mark.retrieval(dataset="labels.jsonl", per_query={"recall@5": 0.5})
        def test_search(raglift_evaluate):
            raglift_evaluate(broken, retries=0)
    """
    result = run(code, SPLIT, "-k", "stone-3")
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines(["stone-3: Where is stone 3?", "*ConnectionError: no index*"])
