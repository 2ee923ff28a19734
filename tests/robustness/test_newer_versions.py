"""What a newer raglift wrote: every file that has a version says so, and nothing of it is guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raglift.errors import RunError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder

from .conftest import content


@pytest.mark.parametrize("version", [3, 10**6])
def test_a_newer_evaluation_is_told_and_left_as_it_is(evaluation: Evaluation, tmp_path: Path, version: int) -> None:
    folder = evaluation.save(tmp_path / "run")
    head = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({**head, "format": version, "new": {"field": 1}}), "utf-8")
    before = content(folder)
    with pytest.raises(RunError, match=rf"format {version}; .*newer raglift; upgrade with pip install -U raglift"):
        load_evaluation(folder)
    assert content(folder) == before


def test_a_newer_sweep_is_told_and_neither_read_nor_gone_on_with(tmp_path: Path) -> None:
    head = {"title": "t", "primary": "ndcg@5", "seed": 0, "hash": "h", "sweep": {}, "cells": []}
    with SweepFolder.begin(tmp_path / "sweep", head, resume=False):
        pass
    place = tmp_path / "sweep" / "sweep.json"
    place.write_text(json.dumps({**json.loads(place.read_text("utf-8")), "format": 2}), "utf-8")
    before = place.read_bytes()
    told = "written by a newer raglift"
    with pytest.raises(RunError, match=told):
        load_sweep_result(tmp_path / "sweep")
    with pytest.raises(RunError, match=told), SweepFolder.begin(tmp_path / "sweep", head, resume=True):
        pass
    assert place.read_bytes() == before
