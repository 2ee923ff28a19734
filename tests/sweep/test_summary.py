"""Summary of a sweep: the best cells, whether their difference is significant, and warnings."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from raglift.rendering.document import Detail
from raglift.report.recommendation import recommendation_sentence
from raglift.sweep.engine import run_sweep
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep
from raglift.sweep.view import sweep_view
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow


def test_what_to_use_comes_first_then_every_cell_and_why(measured: SweepResult) -> None:
    told = measured.to_markdown()
    assert told.splitlines()[0] == "### island: 4 of 4 configurations measured"
    sentence = recommendation_sentence(measured.recommend())
    view = sweep_view(measured)
    assert view.lead.startswith(sentence)
    assert [section.heading for section in view.sections if not section.detail] == [
        "Why",
        "Effect of each setting",
        "Recall by prompt size",
    ]
    assert "> [!WARNING]" in told
    rows = re.findall(r"^\| .* \| (\d\.\d{3})[†§]? \[", told.split("**Why**")[0], re.MULTILINE)
    assert len(rows) == 4
    assert rows == sorted(rows, reverse=True)


def test_of_many_cells_the_first_table_has_the_best_and_the_details_all(measured: SweepResult) -> None:
    many = replace(measured, results=measured.results * 10)
    view = sweep_view(many)
    assert len(view.headline.rows) == 24
    assert "the 24 best of 40 configurations; the details have all" in view.notes
    (every,) = [section for section in view.sections if section.heading == "All configurations"]
    assert every.detail == Detail.DETAILS
    assert len(every.tables[0].rows) == 40


def test_failed_cells_and_hostile_names_are_told(measured: SweepResult) -> None:
    first, *others = measured.results
    failed = replace(first, evaluation=None, error="<b>no | model</b>\n# x @somebody")
    told = replace(measured, title="<i>a</i> | b", results=(failed, *others)).to_markdown()
    assert "1 configuration failed: &lt;b&gt;no &#124; model&lt;/b&gt; # x @<!-- -->somebody" in told
    assert told.startswith("### &lt;i&gt;a&lt;/i&gt; &#124; b: 3 of 4 configurations measured")


def test_without_a_label_no_cell_is_the_best_and_the_reason_is_told(island: Dataset, tmp_path: Path) -> None:
    unlabelled = replace(island, queries=tuple(replace(query, facts=()) for query in island.queries))
    sweep = Sweep(
        dataset=unlabelled, chunkers=["recursive:60/0", "recursive:200/0"], retrievers=["bm25"], ks=(3,), primary="rr@3"
    )
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert "No recommendation: no question counts in MRR@3" in str(result)
    assert "nan" not in str(result)
    assert sweep_view(result).lead.startswith("No recommendation: no question counts")
