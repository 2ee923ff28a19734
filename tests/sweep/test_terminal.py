"""What a user reads of a plan and of a result."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raglift.metrics.parsing import parse
from raglift.rendering.document import Detail, Table
from raglift.rendering.terminal import as_text, document_parts
from raglift.report.sentences import BEYOND_CANDIDATES, short_name
from raglift.retrieval.retrievers import RetrieverSpec
from raglift.running.evaluation import evaluate
from raglift.sweep.charts import short_names
from raglift.sweep.engine import run_sweep
from raglift.sweep.planning import ChunkingPlan, EmbeddingPlan, Plan, RerankingPlan, plan_text
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.cells import Cell
from raglift.sweep.specification.record import Sweep
from raglift.sweep.view import sweep_view
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

pytestmark = pytest.mark.slow

CELLS = tuple(Cell(f"recursive:{size}/0", None, RetrieverSpec("bm25")) for size in (60, 90, 200, 400))


@pytest.fixture(scope="module")
def measured(island: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """Four cells of BM25, with context tokens."""
    sweep = Sweep(
        dataset=island,
        chunkers=[str(cell.chunker) for cell in CELLS],
        retrievers="bm25",
        ks=(1, 3),
        metrics=["ndcg", "context_tokens"],
        primary="ndcg@3",
    )
    return run_sweep(sweep, tmp_path_factory.mktemp("sweep") / "my runs", progress=False)


def column(table: Table, title: str) -> list[str]:
    place = next(number for number, one in enumerate(table.columns) if one.startswith(title))
    return [cells[place].text for cells in table.rows]


def plan(**changes: object) -> Plan:
    given = {
        "title": "shop",
        "dataset": "shop_support",
        "queries": 1200,
        "documents": 30,
        "candidates": 50,
        "cells": CELLS,
        "excluded": 2,
        "finished": 1,
        "sources": CELLS[:2],
        "chunkings": (ChunkingPlan("recursive:60/0", 1234, 1200), ChunkingPlan("bad", error="ValueError: no")),
        "embeddings": (EmbeddingPlan("bge-small", 1200, 200, 1200, 0), EmbeddingPlan("gone", 9, error="OSError: no")),
        "rerankings": (RerankingPlan("late-interaction", 60000),),
    }
    return Plan(**{**given, **changes})  # type: ignore[arg-type]


def test_a_plan_counts_what_there_is_to_do_and_what_the_cache_has() -> None:
    assert plan_text(plan()).splitlines() == [
        (
            "shop: 4 configurations (2 excluded, 1 finished already) over 1,200 questions and 30 documents of "
            "shop_support, 50 candidates"
        ),
        "  split     recursive:60/0    1,234 chunks, 1,200 of them distinct",
        "            bad               cannot be used: ValueError: no",
        (
            "  embed     bge-small         1,200 texts, 1,000 in the cache, 200 to embed; "
            "1,200 questions, all in the cache"
        ),
        "            gone              cannot be used: OSError: no",
        "  retrieve  2 rankings of 1,200 questions",
        ("  rerank    late-interaction  at most 60,000 pairs"),
    ]


def test_cells_are_shown_best_first_with_their_context_tokens(measured: SweepResult) -> None:
    view = sweep_view(measured, detail=Detail.SUMMARY)
    assert view.title == "island: 4 of 4 configurations measured"
    assert view.about == (
        "5 labelled questions; by NDCG@3; match by coverage (threshold 0.5); all with bm25, all without a reranker",
    )
    table = view.headline
    assert measured.fairness is not None
    beside = "Recall up to 2,000 tokens"
    assert table.titles == (
        *("chunker", "NDCG@3 [95%]", "gap to best [95%]", "p", "verdict"),
        *("tokens in 3 hits", "index", beside),
    )
    called = short_names(measured)
    assert column(table, "chunker") == [called[entry.cell.name] for entry in measured.ranked]
    for entry, cells in zip(measured.ranked, table.rows, strict=True):
        assert entry.evaluation is not None
        tokens = entry.evaluation.scores.mean("retrieve", parse("context_tokens@3"))
        assert cells[1].full_text.startswith(f"{entry.value(measured.primary):.3f} [")
        assert (cells[1].value, cells[5].text) == (entry.value(measured.primary), f"{tokens:,.0f}")
    assert column(table, "gap to best")[0] == "best"
    assert table.sortable


@pytest.mark.parametrize("width", [60, 120])
def test_no_line_is_wider_than_the_terminal_and_names_stay_whole(measured: SweepResult, width: int) -> None:
    entry, *others = measured.results
    long = Cell("recursive:60/0", "minilm", RetrieverSpec("dense"), "late-interaction")
    result = replace(measured, results=(replace(entry, cell=long), *others))
    view = sweep_view(result, detail=Detail.SUMMARY)
    text = as_text(document_parts(view, Detail.SUMMARY), width=width)
    assert max(map(len, text.splitlines())) <= width
    settings = r"60/0\s+minilm\s+dense\s+late-interaction"
    assert re.search(rf"\n{settings}\s+{entry.value(result.primary):.3f}", text)


def test_a_cell_is_named_by_the_parts_in_which_cells_differ(measured: SweepResult) -> None:
    kinds = (
        Cell("recursive:60/0", "bge-small", RetrieverSpec("dense")),
        Cell("recursive:60/0", None, RetrieverSpec("bm25"), "late-interaction"),
        Cell(system="mine"),
    )
    given = zip(measured.results, kinds, strict=False)
    result = replace(measured, results=tuple(replace(entry, cell=cell) for entry, cell in given))
    table = sweep_view(result, detail=Detail.SUMMARY).headline
    assert table.columns[:5] == ("system", "chunker", "embedding", "retriever", "reranker")
    assert sorted(tuple(cell.text for cell in row[:5]) for row in table.rows) == [
        ("mine", "–", "–", "–", "–"),
        ("–", "recursive:60/0", "bge-small", "dense", "–"),
        ("–", "recursive:60/0", "–", "bm25", "late-interaction"),
    ]


def test_what_is_recommended_comes_first_and_nothing_else_is_called_the_best(measured: SweepResult) -> None:
    text = str(measured)
    lines = text.splitlines()
    name = measured.recommend().best
    assert any(line.startswith(f"{short_name(name)} leads: NDCG@3 ") for line in lines)
    assert "but not shown within 0.03 of every other (about" in " ".join(lines[3:7])
    assert "best: " not in text
    assert "! only 5 labelled questions: below 30" in text
    alone = replace(measured, results=measured.results[:1])
    assert str(alone).startswith("island: 1 of 1 configuration measured")


def test_truncated_cells_are_ranked_with_all_others_and_marked_with_their_share(measured: SweepResult) -> None:
    best, *others = measured.ranked
    result = replace(measured, results=(replace(best, read_in_part=3), *others))
    view = sweep_view(result, detail=Detail.SUMMARY)
    assert best.evaluation is not None
    assert best.evaluation.run.cost.index.distinct_texts == 3  # type: ignore[union-attr]
    assert column(view.headline, "cut off") == ["100%", "", "", ""]
    assert any(note.startswith("✂ share of chunks truncated by the embedding model") for note in view.notes)
    assert (result.best(), result.best(without_truncation=True)) == (result.results[0], others[0])
    assert not any("✂" in note for note in sweep_view(measured, detail=Detail.SUMMARY).notes)


def test_failures_are_grouped_by_reason_and_what_is_not_done_is_counted(measured: SweepResult) -> None:
    failed = [CellResult(cell, error="OSError: no database") for cell in CELLS]
    other = CellResult(Cell(system="mine"), error="ValueError: no")
    waiting = CellResult(Cell(system="later"))
    text = str(replace(measured, results=(*measured.results[:1], *failed, other, waiting)))
    told = " ".join(text.split())
    names = "; ".join(short_name(cell.name) for cell in CELLS[:3])
    assert f"! 4 configurations failed: OSError: no database ({names} and 1 more)" in told
    assert "! 1 configuration failed: ValueError: no (mine)" in told
    assert "! 1 configuration not measured yet: continue with --resume" in told


def test_names_and_reasons_that_nobody_vouches_for_are_printed_safely(measured: SweepResult) -> None:
    name = "\x1b[31m[bold]mine[/bold]\u202e"
    text = str(
        replace(
            measured,
            title=name,
            results=(
                replace(measured.results[0], cell=Cell(system=name)),
                CellResult(Cell(system=name, reranker="x"), error=f"{name}\r\x07"),
            ),
        )
    )
    assert not {"\x1b", "\u202e", "\r", "\x07"} & set(text)
    assert text.count("[bold]mine[/bold]") >= 3
    plan_of_it = plan_text(plan(title=name, chunkings=(ChunkingPlan(name, error=name),)))
    assert not {"\x1b", "\u202e"} & set(plan_of_it)
    assert "[bold]mine[/bold]" in plan_of_it


def test_a_plan_says_what_is_not_known_and_that_cells_are_raced() -> None:
    told = plan_text(plan(effort="40%", embeddings=(EmbeddingPlan("org/model", 1200, None, 1200, None),)))
    assert "org/model" in told
    assert "1,200 texts and 1,200 questions; what the cache has shows when the model is here" in told
    assert "  effort    40%: all configurations are asked about " in told
    assert told.endswith("what is above is for all questions of all configurations")


def test_queries_that_failed_are_warned_of(ranked: Any, tmp_path: Path) -> None:
    down = RuntimeError("no index")
    one, two = ranked([1, down, *[2] * 30]), ranked([down, down, *[2] * 30])
    cells = {Cell(system="one"): one, Cell(system="two"): two}
    result = SweepResult("stones", parse("rr@3"), 0, tuple(CellResult(*each) for each in cells.items()), tmp_path)
    warnings = sweep_view(result).warnings
    reason = "the first: retrieve: RuntimeError: no index"
    assert f"one: 1 question failed and counts 0; {reason}" in warnings
    assert f"two: 2 questions failed and count 0; {reason}" in warnings


def test_a_reranker_that_brings_its_own_evidence_is_told(tmp_path: Path) -> None:
    data = Dataset.from_dict({f"where is stone {number}?": [f"stone {number} is here"] for number in range(5)})

    class Inventing:
        def rerank_one(self, query: str, ranking: Ranking) -> Ranking:
            return Ranking.of([(Chunk(query.replace("where is ", "").rstrip("?") + " is here"), 1.0)])

    invented = evaluate(lambda query: ["nothing"], data, reranker=Inventing(), ks=(1,), metrics=["rr"])
    plain = evaluate(lambda query: ["nothing"], data, ks=(1,), metrics=["rr"])
    cells = {Cell(system="invents"): invented, Cell(system="plain"): plain}
    result = SweepResult("stones", parse("rr@1"), 0, tuple(CellResult(*each) for each in cells.items()), tmp_path)
    view = sweep_view(result)
    assert any(warning.startswith("invents: ") for warning in view.warnings)
    assert any(BEYOND_CANDIDATES in note for note in view.notes)
