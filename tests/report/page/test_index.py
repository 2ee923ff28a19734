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
    assert "Recall@3 of each run" in page.headline.caption
    by_name = {row[0].text: [cell.text for cell in row] for row in page.headline.rows}
    assert list(by_name)[-1] == "undated"
    assert "2 of 2" in by_name["dated"]
    assert "–" in by_name["unlabelled"]


def test_runs_are_grouped_by_dataset_and_system_with_their_settings_costs_and_changes(
    ranked: Callable[..., Evaluation],
) -> None:
    def run(name: str, found: Evaluation, dataset: str, hour: int, **parts: str) -> IndexedRun:
        spec = {**found.run.spec, "started": f"2026-03-01T{hour}:05:00+02:00", "parts": parts}
        named = replace(found.dataset, name=dataset)
        return IndexedRun(name, replace(found, run=replace(found.run, spec=spec), dataset=named), f"{name}.html")

    page = index_page(
        "runs",
        [
            run("old", ranked([1, 2]), "shop", 15, chunker="recursive:1000/100:characters", reranker="none"),
            run("new", ranked([1, None]), "shop", 17, chunker="recursive:1000/100:characters", reranker="none"),
            run("small", ranked([2, 2]), "shop", 16, chunker="recursive:400/40:characters", reranker="none"),
            run("other", ranked([1, 1]), "lighthouse", 14, chunker="recursive:1000/100:characters"),
        ],
        primary="recall@1",
    )
    assert page.lead.startswith("4 runs of 1 system on 2 datasets; the newest, new, ")
    shop, lighthouse = page.headline, page.sections[0].tables[0]
    rows = {row[0].text: dict(zip(shop.columns, row, strict=True)) for row in shop.rows}
    assert list(rows) == ["new", "small", "old"]
    assert [row[0].text for row in lighthouse.rows] == ["other"]
    assert rows["new"]["date"].text == "2026-03-01 15:05"  # UTC
    assert [row["chunker"].text for row in rows.values()] == [
        "recursive:1000/100",
        "recursive:400/40",
        "recursive:1000/100",
    ]
    assert "reranker" not in shop.columns  # the same in all
    assert [row["change"].text for row in rows.values()] == ["0.000", "–", "–"]
    assert all(row["tokens"].value for row in rows.values())
    (apart,) = (note for note in page.notes if "different chunks" in note)
    assert apart.endswith(("raglift report runs/new runs/small", "raglift report runs/small runs/new"))
