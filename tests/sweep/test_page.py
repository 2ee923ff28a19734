"""The page of a sweep: every cell, the best one measured anew, and the queries of few."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Document, Section
from raglift.report.sentences import short_name
from raglift.sweep.charts import short_names
from raglift.sweep.engine import run_sweep
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep
from raglift.sweep.view import sweep_document
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def measured(island: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """Seven cells of BM25, and one of a system that knows one answer."""
    sweep = Sweep(
        dataset=island,
        chunkers=[f"recursive:{size}/0" for size in (40, 60, 80, 100, 120, 150, 200)],
        retrievers=["bm25"],
        systems={"lamp": lambda query: ["The lamp is lit at dusk and put out at dawn."]},
        ks=(1, 3),
        metrics=["ndcg", "recall", "context_tokens"],
        primary="ndcg@3",
    )
    return run_sweep(sweep, tmp_path_factory.mktemp("sweep") / "sweep", progress=False)


def section(document: Document, heading: str) -> Section:
    return next(one for one in document.sections if one.heading == heading)


def test_every_cell_is_in_the_table_best_first(measured: SweepResult) -> None:
    document = sweep_document(measured)
    table = document.headline
    assert len(table.rows) == len(measured.finished) == 8
    assert table.sortable
    place = table.columns.index(mean_title(measured.primary))
    values = [row[place].value for row in table.rows]
    assert values == [entry.value(measured.primary) for entry in measured.ranked]
    assert document.title == "island: 8 of 8 configurations measured"
    assert dict(document.measured)["Swept over"].startswith("chunker: recursive:40/0, recursive:60/0, ")


def test_the_queries_are_of_few_cells_and_the_page_says_so(measured: SweepResult) -> None:
    queries = sweep_document(measured).queries
    assert queries is not None
    assert 2 <= len(queries.systems) <= 6
    best = measured.best()
    assert best is not None
    assert queries.systems[0] == short_names(measured)[best.cell.name]
    assert queries.notes[0].startswith(
        f"Questions are shown for {len(queries.systems)} of 8 configurations: the baseline, the best"
    )


def test_failed_and_waiting_cells_are_told(measured: SweepResult) -> None:
    broken = CellResult(measured.results[0].cell, error="no such model <b>")
    waiting = CellResult(measured.results[1].cell)
    document = sweep_document(replace(measured, results=(broken, waiting, *measured.results[2:])))
    assert document.title == "island: 6 of 8 configurations measured"
    assert document.warnings[:2] == (
        f"1 configuration failed: no such model <b> ({short_name(broken.cell.name)})",
        "1 configuration not measured yet: continue with --resume",
    )
    (table,) = section(document, "What failed").tables
    assert [cell.text for cell in table.rows[0]] == ["no such model <b>", "1", broken.cell.name]


def test_one_cell_has_the_page_of_an_evaluation_and_none_has_no_page(measured: SweepResult) -> None:
    broken = CellResult(measured.results[0].cell, error="no such model")
    one = sweep_document(replace(measured, results=(measured.results[1], broken)))
    assert one.lead.startswith("Use recursive:60/0 · bm25. NDCG@3 is ")
    assert (one.title, one.warnings[0]) == (
        "island: 1 of 2 configurations measured",
        f"1 configuration failed: no such model ({short_name(broken.cell.name)})",
    )
    assert dict(one.measured)["Configuration"] == measured.results[1].cell.name
    with pytest.raises(
        ConfigurationError, match=r"found no measured configuration .*; the first failed: no such model"
    ):
        sweep_document(replace(measured, results=(broken,)))


def counts(page: Any) -> dict[str, int]:
    parts = (text.rpartition(" ") for text in page.locator(".chip").all_inner_texts())
    return {name: int(number) for name, _, number in parts}


def test_a_whole_page_counts_outcomes_as_the_evaluations_do(
    measured: SweepResult, browser: Any, tmp_path: Path
) -> None:
    path = measured.report(tmp_path / "sweep.html")
    evaluations = {one.cell.name: one.evaluation for one in measured.finished}
    page = browser.new_page(viewport={"width": 390, "height": 844})
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: troubles.append(request.url) if request.url.partition("#")[0] != path.as_uri() else None,
    )
    page.goto(f"{path.as_uri()}#details")
    page.wait_for_selector("#explorer:not([hidden])", state="attached")
    for chart in page.locator("#details .section:not(:has(details)) [data-chart]").all():
        chart.locator("svg").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.evaluate("location.hash = '#queries'")
    choices = page.get_by_label("Right", exact=True).locator("option").all_inner_texts()
    (lamp,) = [name for name in evaluations if "lamp" in name]
    for title in choices:
        page.get_by_label("Right", exact=True).select_option(label=title)
        evaluation = evaluations[lamp if "lamp" in title else next(name for name in evaluations if title in name)]
        assert evaluation is not None
        loss = evaluation.failure_analysis(3)
        shown = counts(page)
        lost = {"Ranked too low": ["below_k"], "Not retrieved": ["not_retrieved", "missed"]}
        lost["Lost in chunking"] = ["not_attainable"]
        for name, outcomes in lost.items():
            queries = {query for outcome in outcomes for query in loss.of(outcome).query_ids}
            assert shown.get(name, 0) == len(queries), (title, name)
        assert shown["All"] == len(evaluation.dataset.queries)
    assert len(choices) >= 2
    assert troubles == []
    page.close()
