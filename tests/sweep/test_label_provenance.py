"""A sweep on labels of a model: Judged joins its measures, and its tables say whose labels they rest on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from raglift.analysis.frames import export
from raglift.sweep.engine import load_sweep_result, run_sweep
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep
from raglift.types.dataset import Dataset
from raglift.types.labels import Annotator, Passage

JUDGE = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
SAID = "labels: 5 passages judged by people, 1 by openai:gpt-4o-mini (relevance@3f9a1c07)"


def measured(dataset: Dataset, folder: Path) -> SweepResult:
    sweep = Sweep(
        dataset=dataset, chunkers=["recursive:60/0", "recursive:200/0"], retrievers="bm25", ks=(1, 3), primary="ndcg@3"
    )
    return run_sweep(sweep, folder, progress=False)


@pytest.fixture(scope="module")
def folder(island: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over questions of which something was judged irrelevant by a model."""
    first = island.queries[0]
    irrelevant = Passage("The keeper trims the wick every evening", grade=0, annotator=JUDGE)
    dataset = replace(island, queries=(replace(first, judged_irrelevant=(irrelevant,)), *island.queries[1:]))
    place = tmp_path_factory.mktemp("sweep") / "runs"
    measured(dataset, place)
    return place


@pytest.mark.slow
def test_cells_and_their_comparison_say_how_much_nobody_judged(folder: Path, island: Dataset, tmp_path: Path) -> None:
    result = load_sweep_result(folder)
    for entry in result.finished:
        assert entry.evaluation is not None
        assert any("have no label and count as irrelevant" in note for note in entry.evaluation.notes)
    assert any("have no label and count as irrelevant" in warning for warning in result.compare().warnings)
    plain = measured(island, tmp_path / "plain")
    assert not any("have no label" in warning for warning in plain.compare().warnings)
    assert "labels: " not in str(plain)


@pytest.mark.slow
def test_the_terminal_and_exports_say_it(folder: Path, tmp_path: Path) -> None:
    result = load_sweep_result(folder)
    assert SAID in str(result).splitlines()
    for file in export(result, tmp_path / "cells.csv"):
        assert set(pd.read_csv(file)["labels"]) == {SAID}


@pytest.mark.slow
def test_charts_say_it(folder: Path) -> None:
    plots = load_sweep_result(folder).plot
    for chart in (plots.heatmap(x="chunker", y="retriever"), plots.differences()):
        assert SAID.partition(", ")[2] in json.dumps(chart.to_dict()["title"])
