"""The index of a folder of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from raglift.report.page.index import IndexedRun, index_page
from raglift.results.evaluation import Evaluation


def test_each_run_has_a_row_also_without_labels_or_a_date(ranked: Callable[..., Evaluation]) -> None:
    evaluation = ranked([1, 2])
    undated = replace(evaluation.run, spec={**evaluation.run.spec, "started": "some day"})
    runs = [
        IndexedRun("undated", replace(evaluation, run=undated), "undated.html"),
        IndexedRun("dated", evaluation, "dated.html"),
        IndexedRun("unlabelled", ranked([1, 2], unlabelled=[0, 1]), "unlabelled.html"),
    ]
    assert runs[0].started is None
    page = index_page("runs", runs, primary="recall@3")
    assert page.headline.caption.startswith("Recall@3 of each run, newest first")
    by_name = {row[0].text: [cell.text for cell in row] for row in page.headline.rows}
    assert list(by_name)[-1] == "undated"
    assert "2 of 2" in by_name["dated"]
    assert "–" in by_name["unlabelled"]
