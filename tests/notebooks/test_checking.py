from __future__ import annotations

from types import ModuleType

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output


def notebook(*outputs: NotebookNode, prose: str = "", tags: tuple[str, ...] = ()) -> NotebookNode:
    cells = [new_markdown_cell(prose)] if prose else []
    cells.append(new_code_cell("…", outputs=list(outputs), execution_count=1, metadata={"tags": list(tags)}))
    return new_notebook(cells=cells)


def printed(text: str, name: str = "stdout") -> NotebookNode:
    return new_output("stream", name=name, text=text)


def shown(**data: str) -> NotebookNode:
    kinds = {"html": "text/html", "plain": "text/plain", "png": "image/png"}
    return new_output("display_data", {kinds[kind]: value for kind, value in data.items()})


def test_a_notebook_that_was_run_has_no_fault(checking: ModuleType) -> None:
    assert checking.faults(notebook(printed("recall 0.50, 3 of 6\n"), prose="Recall is 0.50 of `0.77`, $0.66$.")) == []


@pytest.mark.parametrize(
    ("outputs", "fault"),
    [
        ([], "no cell has an output"),
        ([new_output("error", ename="ValueError", evalue="no", traceback=[])], "failed with ValueError: no"),
        ([printed("saved to /home/someone/runs")], "tells of the machine"),
        ([shown(html="<p>C:\\Users\\someone</p>")], "tells of the machine"),
    ],
)
def test_what_must_not_be_committed_is_a_fault(checking: ModuleType, outputs: list[NotebookNode], fault: str) -> None:
    found = checking.faults(notebook(*outputs))
    assert any(fault in sentence for sentence in found), found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ndcg 0.6123", "ndcg 0.6119"),
        ("took 12.3 s", "took 9 s"),
        ("2,208 tokens", "2,210 tokens"),
        (
            "Index: 9 chunks, 1 kB, built in 3.2 s",
            "Index: 9 chunks, 1 kB (build time unknown: 9 of 9 embeddings were cached)",
        ),
    ],
)
def test_last_bits_durations_and_alignment_are_no_difference(checking: ModuleType, before: str, after: str) -> None:
    assert checking.differences(notebook(printed(before)), notebook(printed(after))) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (printed("ndcg 0.6123"), printed("ndcg 0.6223")),
        (printed("lift +0.10"), printed("lift −0.10")),
        (printed("best: small"), printed("best: large")),
        (shown(html="<b>best</b>"), shown(html="<b>worst</b>")),
        (shown(png="aaaa"), shown(plain="a chart")),
    ],
)
def test_another_word_or_another_number_is_a_difference(
    checking: ModuleType, before: NotebookNode, after: NotebookNode
) -> None:
    assert len(checking.differences(notebook(before), notebook(after))) == 1
