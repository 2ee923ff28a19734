from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from raglift.apps.pytest_integration.evaluating import dataset_of_test
from raglift.errors import ConfigurationError

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
FORD = "stone number 0 lies at the ford"


@pytest.fixture
def node(project: pytest.Pytester) -> Callable[..., pytest.Item]:
    """Collect a test in a folder of the project, with a mark."""

    def collect(mark: str, setting: str = "") -> pytest.Item:
        project.makeini(f"[pytest]\nraglift_dataset = {setting}\n")
        (project.path / "deep").mkdir(exist_ok=True)
        path = project.path / "deep" / "test_deep.py"
        path.write_text(
            f"import pytest\n\n@pytest.mark.retrieval({mark})\ndef test_it():\n    pass\n", encoding="utf-8"
        )
        items, _ = project.inline_genitems(path)
        return items[0]

    return collect


def write_labels(folder: Path, query_id: str) -> None:
    folder.mkdir(exist_ok=True)
    line = f'{{"id": "{query_id}", "query": "Where?", "relevant": ["{FORD}"]}}\n'
    (folder / "labels.jsonl").write_text(line, encoding="utf-8")


def test_a_path_starts_beside_the_test_or_else_at_the_root(
    node: Callable[..., pytest.Item], project: pytest.Pytester
) -> None:
    item = node('dataset="labels.jsonl"')
    assert len(dataset_of_test(item)) == 5
    write_labels(project.path / "deep", "beside")
    assert [query.id for query in dataset_of_test(node('dataset="labels.jsonl"'))] == ["beside"]


def test_the_setting_stands_in_for_the_mark_and_starts_at_the_root(
    node: Callable[..., pytest.Item], project: pytest.Pytester
) -> None:
    write_labels(project.path / "deep", "beside")
    assert len(dataset_of_test(node("", "labels.jsonl"))) == 5
    assert len(dataset_of_test(node('dataset="labels.jsonl"', "lighthouse"))) == 1


def test_without_a_name_anywhere_it_says_where_to_give_one(node: Callable[..., pytest.Item]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"test_deep.py::test_it: found no labelled set; expected one in the test's mark"
    ):
        dataset_of_test(node(""))


def test_a_fixture_of_the_projects_own_stands_in_for_both(run: Run, project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest
        import raglift as rl

        @pytest.fixture(scope="session")
        def raglift_dataset():
            return rl.load_dataset("labels.jsonl").only(ids=["stone-1", "stone-2"])
        """
    )
    code = """
        @pytest.mark.retrieval(min={"recall@5": 1.0})
        def test_search(raglift_evaluate):
            evaluation = raglift_evaluate(Search())
            assert len(evaluation.dataset) == 2
    """
    run(code).assert_outcomes(passed=1)
