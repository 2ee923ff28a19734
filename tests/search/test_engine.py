"""Searches end to end on real text: what they find, what they spend, and how they go on."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, RunError
from raglift.records.dataset import Dataset
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.search.budget import Budget
from raglift.search.charts import race_chart
from raglift.search.engine import run_search
from raglift.search.records import FAILED, FINALIST, NOT_TRIED
from raglift.search.result import SearchResult
from raglift.search.specification import Search
from raglift.search.view import search_view
from raglift.sweep.engine import load_sweep_result

from .conftest import SPACE

pytestmark = pytest.mark.slow


def facts(found: SearchResult) -> dict[str, Any]:
    """What a search says, but for times."""
    return {
        "recommended": found.recommended,
        "rungs": [replace(rung, seconds=0.0) for rung in found.rungs],
        "entrants": [
            (one.cell, one.fate, one.asked, None if np.isnan(one.mean) else one.mean, one.p) for one in found.entrants
        ],
        "questions": found.questions,
        "paths": dict(found.paths),
        "held out": None if found.finalists.check is None else found.finalists.check.mean,
        "means": {entry.cell.name: entry.evaluation.scores.values.tolist() for entry in found.finalists.finished},
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    return run_search(Search.of(**SPACE), tmp_path_factory.mktemp("found") / "out", progress=False)


def test_a_search_spends_its_budget_and_no_more(found: SearchResult):
    assert found.queries == 32
    assert found.full == 20 * 32
    assert 0.4 * found.full < found.questions <= 0.5 * found.full
    asked = sum(one.asked for one in found.entrants)
    assert asked == found.questions
    assert found.rungs[-1].queries == 32


def test_what_is_left_is_what_a_sweep_over_the_same_queries_says(found: SearchResult):
    finalists = {one.cell: one.mean for one in found.of_fate(FINALIST)}
    assert finalists
    for entry in found.finalists.finished:
        assert entry.evaluation is not None
        mean = entry.evaluation.scores.mean(entry.evaluation.after, str(found.primary))
        assert mean == pytest.approx(finalists[entry.cell])
    full = replace(Search.of(**SPACE), hold_out=0.0).sweep.run(found.folder.parent / "sweep", progress=False)
    best = max(entry.evaluation.scores.mean(entry.evaluation.after, "ndcg@5") for entry in full.finished)
    chosen = next(entry for entry in full.finished if entry.cell.name == found.recommended)
    assert chosen.evaluation.scores.mean(chosen.evaluation.after, "ndcg@5") > best - 0.1


def test_the_winner_is_measured_on_queries_that_took_no_part(found: SearchResult):
    check = found.finalists.check
    assert check is not None
    assert len(check.held_out) == 8
    assert not {*check.held_out} & {*check.selection}
    assert check.system == found.recommended
    raced = {trace.query_id for entry in found.finalists.finished for trace in entry.evaluation.run.traces}
    (folder,) = (found.folder / "rungs").glob("held-out-*")
    held = {trace.query_id for entry in load_sweep_result(folder).finished for trace in entry.evaluation.run.traces}
    assert len(held) == 8
    assert not held & raced


def test_a_search_that_is_resumed_says_the_same(found: SearchResult):
    again = run_search(Search.of(**SPACE), found.folder, resume=True, progress=False)
    assert facts(again) == facts(found)


def test_a_folder_with_a_search_is_not_written_over(found: SearchResult):
    with pytest.raises(ConfigurationError, match="found a search there already; expected a new folder"):
        run_search(Search.of(**SPACE), found.folder, progress=False)
    with pytest.raises(ConfigurationError, match="found another search there"):
        run_search(Search.of(**{**SPACE, "alpha": 0.1}), found.folder, resume=True, progress=False)
    with pytest.raises(RunError, match="found something there that is no search"):
        run_search(Search.of(**SPACE), found.folder.parent, progress=False)


def test_a_larger_budget_goes_on_where_a_smaller_one_ended(tmp_path: Path):
    small = run_search(Search.of(**{**SPACE, "budget": {"cells": 5}}), tmp_path / "out", progress=False)
    larger = run_search(Search.of(**{**SPACE, "budget": {"share": 0.6}}), tmp_path / "out", resume=True, progress=False)
    assert small.questions <= 5 * 32
    assert larger.questions >= small.questions
    assert larger.rungs[: len(small.rungs)] == small.rungs


@pytest.mark.full
def test_a_budget_of_minutes_ends(tmp_path: Path):
    found = run_search(Search.of(**{**SPACE, "budget": {"minutes": 0.0001}}), tmp_path / "out", progress=False)
    assert len(found.rungs) == 1
    assert len(found.of_fate(FINALIST)) > 1
    assert "the budget ended after" in str(found)


def test_a_budget_that_is_too_small_is_told_before_anything_runs(tmp_path: Path):
    with pytest.raises(
        ConfigurationError, match=r"budget: found the questions of 1 cell.*expected at least 160, 8 for"
    ):
        run_search(Search.of(**{**SPACE, "budget": {"cells": 1}}), tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_too_few_queries_are_told(tmp_path: Path):
    full = load_dataset("lighthouse")
    few = Dataset(full.queries[:2], full.documents)
    with pytest.raises(ConfigurationError, match="found 2 labelled queries; expected at least 25"):
        run_search(Search.of(**{**SPACE, "dataset": few}), tmp_path / "out", progress=False)


def test_a_metric_without_bounds_is_told(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="expected a metric that lies between 0 and 1"):
        run_search(Search.of(**{**SPACE, "metrics": ["dcg"], "primary": "dcg@5"}), tmp_path / "out", progress=False)


def test_rerankers_join_for_the_cells_that_go_on(tmp_path: Path, tiny_cross_encoder: Path):
    search = Search.of(
        **{**SPACE, "chunkers": ["recursive:300/0", "recursive:900/0"], "rerankers": ["none", str(tiny_cross_encoder)]},
        first_queries=6,
    )
    found = run_search(replace(search, budget=Budget(share=0.7)), tmp_path / "out", progress=False)
    assert found.rungs[0].systems == 4
    assert found.rungs[1].joined >= 1
    with_reranker = [one for one in found.entrants if one.cell.reranker != "none"]
    assert any(one.asked for one in with_reranker)
    assert found.questions <= 0.7 * found.full
    assert sum(one.asked for one in found.entrants) == found.questions


def test_of_a_large_space_optuna_chooses_the_cells(tmp_path: Path):
    pytest.importorskip("optuna")
    search = Search.of(**SPACE, configurations=9)
    found = run_search(search, tmp_path / "out", progress=False)
    tried = [one.cell for one in found.entrants if one.asked]
    assert len(tried) == 9
    assert len(found.of_fate(NOT_TRIED)) == 11
    assert found.began is None
    again = run_search(search, tmp_path / "other", progress=False)
    assert facts(again) == facts(found)


def test_users_systems_take_part_and_one_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own_systems.py").write_text(
        "def fine(query):\n    return ['The keeper trims the wick every evening.']\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    search = Search.of(
        **{**SPACE, "chunkers": ["recursive:300/0"]}, systems=["own_systems:fine", "own_systems:gone"], first_queries=6
    )
    found = run_search(replace(search, budget=Budget(share=1.0)), tmp_path / "out", progress=False)
    by_name = {one.cell.name: one for one in found.entrants}
    assert by_name["own_systems:fine · none"].asked > 0
    failed = by_name["own_systems:gone · none"]
    assert failed.fate == FAILED
    assert failed.error
    (said,) = [line for line in search_view(found).warnings if " failed: " in line]
    assert said.startswith("1 cell failed: ")
    assert said.endswith("(own_systems:gone · none)")
    again = run_search(replace(search, budget=Budget(share=1.0)), tmp_path / "out", resume=True, progress=False)
    assert facts(again) == facts(found)


def test_decisions_that_do_not_fit_what_was_measured_are_told(space: Search, found: SearchResult, tmp_path: Path):
    folder = shutil.copytree(found.folder, tmp_path / "damaged")
    head = json.loads((folder / "search.json").read_text(encoding="utf-8"))
    assert head["rungs"][0]["keep"] < len(space.cells)
    head["rungs"][0]["keep"] = 9_999
    (folder / "search.json").write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(RunError, match=r"damaged: found other cells or queries than search\.json says"):
        run_search(space, folder, resume=True, progress=False)


def test_a_search_that_is_killed_goes_on_to_the_same_result(file: Path, found: SearchResult):
    command = [sys.executable, "-c", "from raglift.cli import main; main()", "search", str(file), "-o", "killed"]
    process = subprocess.Popen(command, env=os.environ, start_new_session=True, stderr=subprocess.DEVNULL)
    rung = file.parent / "killed" / "rungs" / "1"
    until = time.monotonic() + 240
    while not rung.is_dir() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
    process.wait()
    assert process.returncode == -signal.SIGKILL
    again = run_search(Search.of(**SPACE), file.parent / "killed", resume=True, progress=False)
    assert facts(again) == facts(found)


# What is shown


def test_a_cell_is_told_what_became_of_it(found: SearchResult):
    frame = found.to_frame()
    assert len(frame) == 20
    assert set(frame["fate"]) <= {"finalist", "dropped", "set aside"}
    assert {one.fate for one in found.survivors} <= {"finalist", "set aside"}
    text = found.to_markdown()
    assert f"{len(found.of_fate('set aside'))} cells set aside" in text
    assert "Held-out check: " in text
    assert text.count("Held-out check: ") == 1


def test_effects_are_those_of_all_cells_over_the_first_queries(found: SearchResult):
    assert found.began is not None
    assert len(found.began.finished) == 20
    effects = found.began.effects()
    assert effects.n == found.rungs[0].queries
    text = found.to_text()
    assert f"From the first {effects.n} queries, which all 20 cells that began were asked" in " ".join(text.split())
    assert text.count("What each part does") == 1


def test_the_page_has_the_race(found: SearchResult, tmp_path: Path):
    page = found.report(tmp_path / "search.html").read_text(encoding="utf-8")
    assert "best of 20 cells" in page
    summary = page[page.index('id="summary"') : page.index('id="queries"')]
    assert "Rung by rung" in summary
    assert summary.count("Held-out check: ") == 1
    assert "The cells that are left, the best first" in summary
    assert "lines end where a cell was dropped or set aside" in page
    assert found.recommended is not None
    assert found.recommended in page


def test_a_search_whose_held_out_queries_contradict_it_recommends_nothing(found: SearchResult, tmp_path: Path):
    check = found.finalists.check
    assert check is not None
    refuted = replace(check, verdict="contradicted")
    for cells in (found.finalists.results, found.finalists.results[:1]):
        against = replace(found, finalists=replace(found.finalists, check=refuted, results=cells))
        assert against.recommended is None
        assert search_view(against).lead.startswith("No recommendation yet: ")
        with pytest.raises(ConfigurationError, match="no cell that is recommended"):
            against.export_best(tmp_path / "pipeline")


def test_the_race_is_drawn(found: SearchResult):
    drawn = race_chart(found).to_dict()
    rows = next(iter(drawn["datasets"].values()))
    assert {row["cell"] for row in rows} == {one.cell.name for one in found.entrants if one.asked}
    assert {row["fate"] for row in rows} >= {"recommended", "set aside"}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_of_any_width_has_whole_lines(found: SearchResult, width: int):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    print_document(search_view(found, detail=Detail.DETAILS), console, Detail.DETAILS)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert any("Rung by rung" in line for line in lines)


def test_the_recommended_pipeline_is_exported(found: SearchResult, tmp_path: Path):
    files = found.export_best(tmp_path / "pipeline")
    assert {file.name for file in files} == {"langchain_pipeline.py", "llama_index_pipeline.py"}
    for file in files:
        compile(file.read_text(encoding="utf-8"), str(file), "exec")
