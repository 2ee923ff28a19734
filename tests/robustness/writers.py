"""Everything that raglift writes where a user says, as one call each: what must be whole or not there at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from raglift.analysis.frames import export
from raglift.datasets.formats.writing import write_dataset
from raglift.datasets.jsonl import write_queries
from raglift.rendering.document import Cell, Table
from raglift.report.page.rendering import Page, write_page
from raglift.results.evaluation import Evaluation
from raglift.storage.rankings.exporting import export as export_rankings
from raglift.sweep.folder import SweepFolder

Writer = Callable[[Evaluation, Path], object]


def _report(evaluation: Evaluation, folder: Path) -> object:
    headline = Table("Means.", ("Metric", "Mean"), ((Cell("ndcg@5"), Cell("0.5")),))
    return write_page(Page(evaluation.dataset.name, "a lead", headline, ()), folder / "report.html")


def _sweep(evaluation: Evaluation, folder: Path) -> object:
    head = {"title": "t", "primary": "ndcg@5", "primary_named": True, "seed": 0, "hash": "h", "sweep": {}, "cells": []}
    with SweepFolder.begin(folder / "sweep", head, resume=(folder / "sweep" / "sweep.json").exists()) as sweep:
        sweep.save("cell-0123", evaluation, is_cell=True)
        sweep.set_failures({"cell-4567": "the model was not there " * 20})
    return sweep


WRITERS: Mapping[str, Writer] = {
    "evaluation": lambda evaluation, folder: evaluation.save(folder / "run", overwrite=True),
    "sweep": _sweep,
    "page": _report,
    "csv": lambda evaluation, folder: export(evaluation, folder / "table.csv", overwrite=True),
    "parquet": lambda evaluation, folder: export(evaluation, folder / "table.parquet", overwrite=True),
    "rankings": lambda evaluation, folder: export_rankings(evaluation, folder / "trec", overwrite=True),
    "rankings in parquet": lambda evaluation, folder: export_rankings(
        evaluation, folder / "pq", form="parquet", overwrite=True
    ),
    "labels": lambda evaluation, folder: write_queries(evaluation.dataset.queries, folder / "labels.jsonl"),
    "dataset": lambda evaluation, folder: write_dataset(evaluation.dataset, folder / f"set-{_free(folder)}"),
}


def _free(folder: Path) -> int:
    """A dataset is never replaced, so each has a name of its own."""
    return len(list(folder.glob("set-*")))
