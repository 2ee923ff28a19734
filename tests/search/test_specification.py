"""Searches are read from YAML, and what is wrong in it is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from raglift.errors import SweepError
from raglift.search.budget import Budget
from raglift.search.entering import entries
from raglift.search.specification import Search, load_search

from .conftest import SPACE


def faults_of(folder: Path, text: str) -> list[str]:
    (folder / "space.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SweepError) as caught:
        load_search(folder / "space.yaml")
    return [str(fault) for fault in caught.value.faults]


def test_a_file_and_python_describe_the_same(file: Path):
    read, given = load_search(file), Search.of(**SPACE)
    assert read.cells == given.cells
    assert len(read.cells) == 20
    assert read.settings == given.settings
    assert read.budget == Budget(share=0.5)
    assert read.hash == given.hash


def test_the_budget_is_no_part_of_what_is_searched():
    assert Search.of(**{**SPACE, "budget": {"minutes": 3}}).hash == Search.of(**SPACE).hash
    assert Search.of(**{**SPACE, "alpha": 0.01}).hash != Search.of(**SPACE).hash


def test_a_sweeps_file_is_a_search():
    search = Search.of(dataset="lighthouse", chunkers=["recursive:500/0", "recursive:300/0"], retrievers="bm25")
    assert len(search.cells) == 2
    assert search.budget == Budget(share=0.25)


@pytest.mark.parametrize(
    ("budget", "questions", "told"),
    [
        (Budget(share=0.25), 250, "25% of the questions of a full sweep"),
        (Budget(share=0.0012), 1.2, "0.12% of the questions of a full sweep"),
        (Budget(cells=3), 300, "the questions of 3 cells"),
        (Budget(minutes=1), float("inf"), "1 minute"),
        (Budget(minutes=2.5), float("inf"), "2.5 minutes"),
    ],
)
def test_budgets_say_what_they_are(budget: Budget, questions: float, told: str):
    assert budget.questions(10, 100) == questions
    assert str(budget) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("budget: {share: 2}", "space.yaml:2: budget.share: found 2; expected a number above 0, at most 1"),
        ("budget: {cells: 1.5}", "space.yaml:2: budget.cells: found 1.5; expected an integer, 1 or more"),
        ("budget: {minutes: 0}", "space.yaml:2: budget.minutes: found 0; expected a number above 0"),
        ("budget: {hours: 1}", "space.yaml:2: budget"),
        (
            "budget: 3",
            "space.yaml:2: budget: found 3; expected one of share, cells and minutes",
        ),
        ("budget: {share: 0.2, cells: 4}", "space.yaml:2: budget"),
        ("configurations: 1", "space.yaml:2: configurations: found 1; expected from 2 to 10,000"),
        ("first_queries: many", "space.yaml:2: first_queries"),
        ("alpha: 1", "space.yaml:2: alpha: found 1; expected a number between 0 and 1"),
        ("hold_out: true", "space.yaml:2: hold_out"),
        ("budgets: {share: 1}", "space.yaml:2: budgets"),
        ("chunkers: [{splitter: recursive, size: {from: 9, to: 1, step: 1}}]", "space.yaml:2: chunkers[0].size: found"),
        ("chunkers: [{splitter: recursiv, size: [100, 200]}]", "space.yaml:2: chunkers[0]"),
        ("primary: ndgc@10", "space.yaml:2: primary"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: str, told: str):
    faults = faults_of(tmp_path, f"dataset: lighthouse\n{line}\n")
    assert any(fault.startswith(told) for fault in faults), faults


def test_all_faults_are_told_together(tmp_path: Path):
    faults = faults_of(tmp_path, "dataset: lighthouse\nalpha: 3\nbudget: {share: 0}\nks: [0]\n")
    assert len(faults) == 3


def test_what_is_no_yaml_is_told(tmp_path: Path):
    assert faults_of(tmp_path, "dataset: [")


def test_cells_with_rerankers_join_later_where_the_cell_without_is_there():
    search = Search.of(
        dataset="lighthouse",
        retrievers=["bm25", "dense"],
        embeddings="minilm-static",
        rerankers=["none", "late-interaction"],
        exclude=[{"retriever": "dense", "reranker": "none"}],
    )
    found = entries(search)
    assert [(str(cell.retriever), cell.reranker) for cell in found.first if cell.retriever] == [
        ("bm25", "none"),
        ("dense", "late-interaction"),
    ]
    ((base, later),) = found.later.items()
    assert base.reranker == "none"
    assert [cell.reranker for cell in later] == ["late-interaction"]


def test_where_every_cell_has_a_reranker_all_begin():
    found = entries(Search.of(dataset="lighthouse", retrievers="bm25", rerankers="late-interaction"))
    assert len(found.first) == 1
    assert not found.later
