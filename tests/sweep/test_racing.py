"""Sweeps with limited effort on real text: what they find, what they spend, and how they go on."""

from __future__ import annotations

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

import pytest
import yaml

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, RunError
from raglift.rendering.document import Detail
from raglift.sweep.engine import load_sweep_result, run_sweep
from raglift.sweep.result import SweepResult
from raglift.sweep.specification import Sweep
from raglift.sweep.view import sweep_view

pytestmark = pytest.mark.slow

SPACE: dict[str, Any] = {
    "dataset": "lighthouse",
    "chunkers": [{"splitter": "recursive", "size": {"from": 200, "to": 1000, "step": 200}, "overlap": [0, 100]}],
    "retrievers": ["bm25", "bm25(k1=0.6,b=0.2)"],
    "ks": [1, 5],
    "metrics": ["ndcg"],
    "primary": "ndcg@5",
    "candidates": 10,
    "effort": "50%",
}


def facts(found: SweepResult) -> dict[str, Any]:
    return {
        "recommended": found.recommended,
        "race": found.race,
        "cells": [(one.cell, one.error, one.eliminated) for one in found.results],
        "check": found.check and (found.check.mean, found.check.held_out, found.check.verdict),
        "means": {one.cell.name: one.evaluation.scores.values.tolist() for one in found.finished if one.evaluation},
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return Sweep(**SPACE).run(tmp_path_factory.mktemp("found") / "out", progress=False)


def test_a_race_spends_its_effort_and_finds_what_it_always_found(found: SweepResult):
    race = found.race
    assert race is not None
    assert (race.queries, race.full, race.questions) == (32, 640, 316)
    rungs = [(rung.cells, rung.queries, rung.dropped, rung.set_aside, rung.left) for rung in race.rungs]
    assert rungs == [(20, 8, 0, 0, 20), (11, 14, 0, 9, 11), (6, 26, 0, 5, 6), (3, 32, 0, 3, 3)]
    assert found.recommended == "recursive:800/0 · bm25 · none"
    assert [round(one.value(found.primary), 6) for one in found.ranked] == [0.589977, 0.568951, 0.566051]
    assert len(found.eliminated) == 17
    assert sum(one.eliminated.asked for one in found.eliminated if one.eliminated) + 3 * 32 == 316


def test_the_choice_is_checked_on_queries_that_took_no_part(found: SweepResult):
    check = found.check
    assert check is not None
    assert (check.system, check.verdict, len(check.held_out)) == (found.recommended, "not confirmed", 8)
    assert check.mean == pytest.approx(0.586527, abs=1e-6)
    raced = {query for one in found.finished if one.evaluation for query in one.evaluation.scores.query_ids}
    assert len(raced) == 32
    assert not raced & {*check.held_out}


def test_a_race_that_is_resumed_or_loaded_says_the_same(found: SweepResult):
    assert facts(Sweep(**SPACE).run(found.folder, resume=True, progress=False)) == facts(found)
    assert facts(load_sweep_result(found.folder)) == facts(found)


@pytest.mark.full
def test_a_larger_effort_goes_on_where_a_smaller_one_ended(tmp_path: Path):
    few = {**SPACE, "chunkers": [f"recursive:{size}/0" for size in (200, 600, 1000)]}
    small = Sweep(**{**few, "effort": "26%"}).run(tmp_path / "out", progress=False)
    larger = Sweep(**{**few, "effort": "60%"}).run(tmp_path / "out", resume=True, progress=False)
    assert small.race is not None
    assert larger.race is not None
    assert small.race.questions <= 0.26 * 192
    assert larger.race.questions >= small.race.questions
    assert larger.race.rungs[: len(small.race.rungs)] == small.race.rungs
    with pytest.raises(ConfigurationError, match="found another sweep there"):
        Sweep(**{**few, "effort": None}).run(tmp_path / "out", resume=True, progress=False)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"effort": "5%"},
            "effort: found 5%, which is 32 questions; expected at least 160, 8 for each of 20 configurations: 25%",
        ),
        ({"metrics": ["dcg"], "primary": "dcg@5"}, "expected a metric that lies between 0 and 1"),
    ],
    ids=["effort", "metric"],
)
def test_what_cannot_be_raced_is_refused(tmp_path: Path, changed, message):
    with pytest.raises(ConfigurationError, match=message):
        Sweep(**{**SPACE, **changed}).run(tmp_path / "out", progress=False)


def test_too_few_queries_are_refused(tmp_path: Path):
    full = load_dataset("lighthouse")
    few = replace(full, queries=full.queries[:2])
    with pytest.raises(ConfigurationError, match="found 2 labelled questions; expected at least 25"):
        Sweep(**{**SPACE, "dataset": few}).run(tmp_path / "out", progress=False)


@pytest.mark.full
def test_users_systems_and_rerankers_take_part_and_what_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_cross_encoder: Path
):
    (tmp_path / "own_systems.py").write_text(
        "def fine(question):\n    return ['The keeper trims the wick every evening.']\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    sweep = Sweep(
        **{**SPACE, "chunkers": ["recursive:300/0"], "effort": "100%", "rerankers": ["none", str(tiny_cross_encoder)]},
        systems=[
            {"system": "own_systems:fine", "rerankers": "none"},
            {"system": "own_systems:gone", "rerankers": "none"},
        ],
    )
    found = run_sweep(sweep, tmp_path / "out", progress=False)
    by_name = {one.cell.name: one for one in found.results}
    fine, gone = by_name["own_systems:fine · none"], by_name["own_systems:gone · none"]
    assert fine.evaluation is not None or fine.eliminated is not None
    assert gone.error
    assert any("own_systems:gone" in warning for warning in sweep_view(found).warnings)
    assert facts(run_sweep(sweep, tmp_path / "out", resume=True, progress=False)) == facts(found)


def test_decisions_that_do_not_fit_what_was_measured_are_refused(found: SweepResult, tmp_path: Path):
    folder = shutil.copytree(found.folder, tmp_path / "damaged")
    race = json.loads((folder / "race.json").read_text(encoding="utf-8"))
    (folder / "race.json").write_text(
        json.dumps({**race, "decisions": [{"keep": 9_999, "batches": 3}]}), encoding="utf-8"
    )
    with pytest.raises(RunError, match=r"damaged: found other configurations or questions than race\.json says"):
        Sweep(**SPACE).run(folder, resume=True, progress=False)
    (folder / "race.json").write_text('{"decisions": "all"}', encoding="utf-8")
    with pytest.raises(RunError, match=r"race\.json: damaged: decisions: found .*all"):
        load_sweep_result(folder)


@pytest.mark.full
def test_a_race_that_is_killed_goes_on_to_the_same_result(found: SweepResult, tmp_path: Path):
    file = tmp_path / "space.yaml"
    file.write_text(yaml.safe_dump(SPACE, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-c", "from raglift.cli import main; main()", "sweep", str(file), "-o", "killed"]
    process = subprocess.Popen(command, cwd=tmp_path, env=os.environ, start_new_session=True, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 240
    while not (tmp_path / "killed" / "rungs" / "1").is_dir() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert facts(Sweep(**SPACE).run(tmp_path / "killed", resume=True, progress=False)) == facts(found)


# What is shown


def test_eliminated_cells_are_shown_as_such(found: SweepResult):
    view = sweep_view(found, detail=Detail.DETAILS)
    assert view.title == "lighthouse: 3 of 20 configurations remaining"
    assert any(warning.startswith("17 configurations were stopped early") for warning in view.warnings)
    by_heading = {section.heading: section for section in view.sections}
    assert len(by_heading["Rounds"].tables[0].rows) == 4
    assert len(by_heading["Eliminated or stopped early"].tables[0].rows) == 17
    frame = found.to_frame()
    assert frame[frame.eliminated != ""].cell.nunique() == 17
    with pytest.raises(ConfigurationError, match="effects: found the configurations that a race left"):
        found.effects()


def test_the_page_shows_the_race(found: SweepResult, tmp_path: Path):
    page = found.report(tmp_path / "race.html").read_text(encoding="utf-8")
    assert "3 of 20 configurations remaining" in page
    assert "The rounds, in order" in page


def test_what_is_shown_of_a_race_that_ended_early_or_was_not_checked(found: SweepResult):
    race = found.race
    assert race is not None
    early = sweep_view(replace(found, race=replace(race, rungs=race.rungs[:-1])))
    told = "the effort ended after 26 of 32 questions, with 6 configurations remaining; a larger one with "
    told += "--resume continues"
    assert told in early.warnings
    assert not any("the effort ended" in warning for warning in sweep_view(found).warnings)
    best = next(one for one in found.results if one.cell.name == found.recommended)
    alone = sweep_view(replace(found, results=(best, *found.eliminated)), detail=Detail.SUMMARY)
    headings = [section.heading for section in alone.sections]
    assert "Held-out check" in headings
    assert "Eliminated or stopped early" not in headings


def test_a_choice_that_is_not_checked_yet_is_loaded_without_a_check(found: SweepResult, tmp_path: Path):
    folder = shutil.copytree(found.folder, tmp_path / "unchecked")
    race = json.loads((folder / "race.json").read_text(encoding="utf-8"))
    assert race["held_out"]
    (folder / "race.json").write_text(json.dumps({**race, "held_out": None}), encoding="utf-8")
    loaded = load_sweep_result(folder)
    assert (loaded.check, loaded.recommended) == (None, loaded.recommend().recommended)


def never_there(query: str) -> list[str]:
    raise ValueError("no index")


def knows_nothing(query: str) -> list[str]:
    return ["Nobody knows."]


def knows_the_lamp(query: str) -> list[str]:
    return ["The keeper trims the wick every evening."]


def race_of(systems: dict[str, Any], **options: Any) -> Sweep:
    return Sweep(**{"dataset": "lighthouse", "systems": systems, "ks": 1, "primary": "ndcg@1", **options})


def test_a_race_in_which_every_cell_fails_says_why(tmp_path: Path):
    sweep = race_of({"one": never_there, "other": never_there}, effort="100%")
    with pytest.raises(ConfigurationError, match=r"sweep: every configuration failed; the first: .*no index"):
        sweep.run(tmp_path / "out", progress=False)


def test_a_cell_that_fails_leaves_the_others_to_race_and_to_be_checked(tmp_path: Path):
    sweep = race_of({"gone": never_there, "lamp": knows_the_lamp, "nothing": knows_nothing}, effort="5 minutes")
    assert sweep.plan().effort is not None
    found = sweep.run(tmp_path / "out", progress=False)
    assert [one.cell.name for one in found.failed] == ["gone · none"]
    assert {one.cell.name for one in found.finished} == {"lamp · none", "nothing · none"}
    assert found.race is not None
    assert (found.race.effort, found.race.queries) == ("5 minutes", 32)
    assert found.check is not None
    assert len(found.check.held_out) == 8
