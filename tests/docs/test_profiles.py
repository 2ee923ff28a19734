"""The tools' numbers that the page on profiles begins with are those that the profiles give."""

from __future__ import annotations

import re

import pytest

from raglift.metrics.profiles.registry import PROFILES
from raglift.running.evaluation import evaluate
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

from .pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "profiles.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("|---|")[2].partition("\n\n")[0]
METRICS = ("precision", "recall", "f1", "rr", "ap", "ndcg")
ROWS = {
    "trec_eval (pytrec_eval), ranx, at 5": ("trec", ["A", "B", "C"]),
    "LlamaIndex": ("llamaindex", ["A", "B", "C"]),
    "ragas": ("ragas", ["A", "B", "C"]),
    "AutoRAG, three groups of one": ("autorag", ["A", "B", "C"]),
    "AutoRAG, one group of three": ("autorag", ["ABC"]),
    "scikit-learn over the returned list": ("tutorial", ["A", "B", "C"]),
}


def shown(row: str) -> list[str]:
    (line,) = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", TABLE, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


@pytest.mark.parametrize("row", ROWS)
def test_the_numbers_of_a_tool_are_its_profiles(row: str) -> None:
    profile, groups = ROWS[row]
    query = Query("q", "?", tuple(Fact(tuple(Passage(chunk_id=one) for one in group)) for group in groups))
    hits = [Chunk(f"text of {one}", id=one) for one in "AXB"]
    scores = evaluate(lambda _: hits, Dataset((query,)), metrics=METRICS, ks=(5,), profile=profile).scores
    cells = shown(row)
    assert len(cells) == len(METRICS)
    assert any(cells)
    for name, cell in zip(METRICS, cells, strict=True):
        assert not cell or float(cell) == pytest.approx(scores.mean("retrieve", f"{name}@5"), abs=5e-5)


def test_every_row_of_the_table_is_checked_and_every_profile_is_told_of() -> None:
    assert re.findall(r"^\| (.+?) \|", TABLE, re.MULTILINE) == list(ROWS)
    assert all(f"`{name}`" in PAGE for name in PROFILES if name != "default")
