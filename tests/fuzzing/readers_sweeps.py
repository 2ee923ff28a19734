"""Sweeps: the YAML that describes one, and the folder in which what is finished is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from raglift.errors import ConfigurationError, RunError, SweepError
from raglift.retrieval.retrievers import parse_retriever
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder
from raglift.sweep.loading import load_sweep
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.cells import Cell
from raglift.sweep.specification.record import Sweep

from .reader import Reader
from .readers_saved import saved_evaluation

__all__ = ["READERS"]

_YAML = """\
# What is compared
dataset: lighthouse
chunkers: [recursive:1000/100, "token:250/125"]
embeddings:
  - minilm
  - minilm-static
retrievers: [dense, bm25, "hybrid(dense=0.7,bm25=0.3)"]
rerankers: [none, late-interaction]
exclude:
  - {chunker: "token:250/125", retriever: bm25}
metrics: [ndcg@5, recall@tokens(500), "rbp(p=0.5)@5"]
ks: [1, 5]
match: coverage
primary: ndcg@5
candidates: 20
seed: 7
timeout: 30
retries: 2
latency: 5
"""
_CELLS = (
    Cell("recursive:1000/100", "minilm", parse_retriever("dense")),
    Cell("recursive:1000/100", "minilm", parse_retriever("hybrid(dense=0.7,bm25=0.3)"), "late-interaction"),
    Cell("recursive:1000/100", None, parse_retriever("bm25")),
    Cell(system="mine", reranker="late-interaction"),
)
_HEAD: dict[str, Any] = {
    "title": "Small",
    "primary": "ndcg@5",
    "primary_named": True,
    "seed": 7,
    "hash": "0123-4567",
    "sweep": {"chunkers": ["recursive:1000/100"], "candidates": 5, "budget": 2000, "margin": 0.03},
    "cells": [cell.to_dict() for cell in _CELLS],
}


def _yaml(folder: Path) -> None:
    (folder / "sweep.yaml").write_text(_YAML, encoding="utf-8")


def _sweep(folder: Path) -> Sweep:
    return load_sweep(folder / "sweep.yaml")


def _check_sweep(sweep: Sweep) -> None:
    """Assert that it describes cells, and itself."""
    assert sweep.cells()
    assert len({cell.key for cell in sweep.cells()}) == len(sweep.cells())
    assert [Cell.of(cell.to_dict()) for cell in sweep.cells()] == list(sweep.cells())
    json.dumps(sweep.to_dict(), allow_nan=False)
    assert sweep.hash


def _begun(folder: Path) -> None:
    """Write a sweep that was stopped: two cells are finished, one failed, one is missing."""
    with SweepFolder.begin(folder / "sweep", _HEAD, resume=False) as kept:
        for number, cell in enumerate(_CELLS[:2]):
            mark = {"name": cell.name, "cell": cell.to_dict(), "read_in_part": number, "models": {"minilm": "one"}}
            found = saved_evaluation()
            kept.save(
                cell.key, replace(found, run=replace(found.run, spec={**found.run.spec, "sweep": mark})), is_cell=True
            )
        kept.set_failures({_CELLS[2].key: "ValueError: no words"})
        kept.add_bill("openai:text-embedding-3-small", 1200)


def _shown(folder: Path) -> SweepResult:
    """Load what is finished, and show it."""
    found = load_sweep_result(folder / "sweep")
    assert str(found)
    assert found.to_markdown()
    assert len(found.to_frame()) >= len(found.results)
    found.best(without_truncation=True)
    assert found.mixed_models is not None
    if len(found.finished) > 1:
        assert str(found.compare())
    return found


_TABLES = ("sweep/sweep.json", "sweep/failures.json")

READERS: Sequence[Reader] = (
    Reader(
        "sweep.yaml",
        _yaml,
        _sweep,
        (SweepError,),
        _check_sweep,
    ),
    Reader(
        "sweep folder",
        _begun,
        _shown,
        (RunError, ConfigurationError),
        targets=(*_TABLES, "sweep/cells/*"),
    ),
)
"""All of the readers here."""
