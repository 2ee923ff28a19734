"""What a user reads of a plan and of a result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from raglift.components.retrievers import RetrieverSpec
from raglift.metrics.parsing import parse
from raglift.records.dataset import Dataset
from raglift.records.rankings import Cost, StageLatency
from raglift.sweep.engine import run_sweep
from raglift.sweep.planning import ChunkingPlan, EmbeddingPlan, Plan, RerankingPlan
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.cells import Cell
from raglift.sweep.specification.record import Sweep
from raglift.sweep.terminal import plan_text, result_text

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


def header(text: str) -> int:
    """Return the place of the line that names the columns."""
    return next(place for place, line in enumerate(text.splitlines()) if line.startswith("chunker  "))


def cells_text(result: SweepResult) -> str:
    """The text after what is recommended."""
    return result_text(result).rpartition("\n\n")[2]


def row(text: str, name: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(name))
    return line.removeprefix(name).split()


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
        "embeddings": (EmbeddingPlan("minilm", 1200, 200, 1200, 0), EmbeddingPlan("gone", 9, error="OSError: no")),
        "rerankings": (RerankingPlan("late-interaction", 60000),),
    }
    return Plan(**{**given, **changes})  # type: ignore[arg-type]


def test_a_plan_counts_what_there_is_to_do_and_what_the_cache_has() -> None:
    assert plan_text(plan()).splitlines() == [
        (
            "shop: 4 cells (2 excluded, 1 finished already) over 1,200 queries and 30 documents of shop_support, "
            "50 candidates"
        ),
        "  split     recursive:60/0    1,234 chunks, 1,200 of them distinct",
        "            bad               cannot be used: ValueError: no",
        (
            "  embed     minilm            1,200 texts, 1,000 in the cache, 200 to embed; "
            "1,200 queries, all in the cache"
        ),
        "            gone              cannot be used: OSError: no",
        "  retrieve  2 rankings of 1,200 queries",
        ("  rerank    late-interaction  at most 60,000 pairs; exactly how many shows when the candidates are known"),
    ]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            EmbeddingPlan("m", 5, 5, 2, 2, tokens=1234, dollars=0.01),
            "5 texts to embed; 2 queries to embed; about 1,234 tokens, US$ 0.0100",
        ),
        (
            EmbeddingPlan("m", 5, 5, 2, 2, tokens=7),
            "5 texts to embed; 2 queries to embed; about 7 tokens, price not known",
        ),
        (
            EmbeddingPlan("m", 5, None, 2, None),
            "5 texts and 2 queries; what the cache has shows when the model is here",
        ),
    ],
)
def test_what_a_model_has_to_embed(entry: EmbeddingPlan, told: str) -> None:
    assert f"m               {told}".replace(" ", "") in plan_text(plan(embeddings=(entry,))).replace(" ", "")


def test_exact_pairs_and_those_in_the_cache() -> None:
    text = plan_text(plan(rerankings=(RerankingPlan("r", 10, is_exact=True, missing=4),)))
    assert "10 pairs, 6 in the cache, 4 to score" in text


def test_a_plan_with_nothing_to_do_is_one_line() -> None:
    assert len(plan_text(plan(sources=(), chunkings=(), embeddings=(), rerankings=())).splitlines()) == 1


def test_cells_are_shown_best_first_with_their_context_tokens(measured: SweepResult) -> None:
    text = cells_text(measured)
    assert (
        text.splitlines()[0] == "island: 4 of 4 cells measured, by NDCG@3, match by coverage (threshold 0.5); "
        "all with bm25, all without a reranker"
    )
    first = header(text)
    assert measured.fairness is not None
    beside = f"NDCG@{measured.fairness.budgeted.budget}"
    titles = ["chunker", "retrieved", "tokens", beside, "by", "containment"]
    assert text.splitlines()[first].split() == titles
    chunkers = [entry.cell.chunker for entry in measured.ranked]
    assert [line.split()[0] for line in text.splitlines()[first + 2 : first + 6]] == chunkers
    for entry in measured.ranked:
        assert entry.evaluation is not None
        tokens = entry.evaluation.scores.mean("retrieve", parse("context_tokens@3"))
        told = row(text, str(entry.cell.chunker))
        assert told[:3] == [f"{entry.value(measured.primary):.3f}", f"{tokens:,.0f}", told[2]]
        assert len(told) == len(titles) - 2
    assert f"best: {measured.ranked[0].cell.name}" in text


def test_latency_of_the_whole_is_shown_where_it_is_known(measured: SweepResult) -> None:
    first, *others = measured.results
    assert first.evaluation is not None
    latency = StageLatency("retrieve", 5, 0.0123, 0.02)
    run = replace(first.evaluation.run, cost=Cost(latencies=(latency,), whole=latency))
    timed = replace(first, evaluation=replace(first.evaluation, run=run))
    text = cells_text(replace(measured, results=(timed, *others)))
    assert row(text, str(first.cell.chunker))[2:4] == ["12.3", "ms"]
    assert row(text, str(others[0].cell.chunker))[2] == "–"


def test_each_part_in_which_cells_differ_has_a_column(measured: SweepResult) -> None:
    kinds = (
        Cell("recursive:60/0", "minilm", RetrieverSpec("dense")),
        Cell("recursive:60/0", None, RetrieverSpec("bm25"), "late-interaction"),
        Cell(system="mine"),
    )
    given = zip(measured.results, kinds, strict=False)
    text = cells_text(replace(measured, results=tuple(replace(entry, cell=cell) for entry, cell in given)))
    assert text.splitlines()[header(text)].split()[:5] == ["chunker", "embedding", "retriever", "reranker", "system"]
    assert row(text, "recursive:60/0  minilm")[:3] == ["dense", "none", "–"]
    assert row(text, "recursive:60/0  –")[:3] == ["bm25", "late-interaction", "–"]
    assert row(text, "–")[:4] == ["–", "–", "none", "mine"]


def test_the_best_of_many_is_doubted_and_how_to_compare_is_said(measured: SweepResult) -> None:
    text = result_text(measured)
    assert "! the best of 4 on the queries that it was chosen on, so its lead is likely too large" in text
    assert "! only 5 queries count: with fewer than 30" in text
    last = text.splitlines()[-1]
    assert last.endswith(f"raglift compare '{measured.folder}'/cells/* --primary ndcg@3 --hold-out")
    two = result_text(replace(measured, results=measured.results[:2]))
    assert "the best of" not in two
    assert "raglift compare" in two
    assert "raglift compare" not in result_text(replace(measured, results=measured.results[:1]))


def test_what_is_recommended_and_why_comes_first(measured: SweepResult) -> None:
    assert result_text(measured).startswith(str(measured.recommend().best) + " has the highest NDCG@3 (")
    assert "are too few to recommend it." in result_text(measured).splitlines()[0]
    alone = replace(measured, results=measured.results[:1])
    assert result_text(alone).startswith("island: 1 of 1 cells measured")


def test_truncated_cells_are_ranked_with_all_others_and_marked_with_their_share(measured: SweepResult) -> None:
    best, *others = measured.ranked
    result = replace(measured, results=(replace(best, read_in_part=3), *others))
    text = cells_text(result)
    assert best.evaluation is not None
    share = 3 / best.evaluation.run.cost.index.distinct_texts  # type: ignore[union-attr]
    assert row(text, str(best.cell.chunker))[:3] == ["✂", f"{100 * share:.1f}", "%"]
    assert f"best: {best.cell.name} ✂ {100 * share:.1f} %, NDCG@3 " in text
    assert f"best without truncation: {others[0].cell.name}, NDCG@3 " in text
    assert (result.best(), result.best(without_truncation=True)) == (result.results[0], others[0])
    all_cut = replace(measured, results=tuple(replace(entry, read_in_part=1) for entry in measured.results))
    assert "best without truncation: none, because every cell truncates some chunks" in cells_text(all_cut)


def test_the_best_is_named_once_where_truncation_does_not_matter(measured: SweepResult) -> None:
    *others, last = measured.ranked
    text = cells_text(replace(measured, results=(*others, replace(last, read_in_part=3))))
    assert f"best: {others[0].cell.name}, NDCG@3 " in text
    assert "best without truncation" not in text


def test_failures_are_grouped_by_reason_and_what_is_not_done_is_counted(measured: SweepResult) -> None:
    failed = [CellResult(cell, error="OSError: no database") for cell in CELLS]
    other = CellResult(Cell(system="mine"), error="ValueError: no")
    waiting = CellResult(Cell(system="later"))
    text = result_text(replace(measured, results=(*measured.results[:1], *failed, other, waiting)))
    assert "! 4 cells failed: OSError: no database" in text
    assert f"    {'; '.join(cell.name for cell in CELLS[:3])} and 1 more" in text
    assert "! 1 cell failed: ValueError: no\n    mine · none" in text
    assert "! 1 cell not measured yet: go on with --resume" in text


def test_what_was_billed_is_said_with_its_price_where_it_is_known(measured: SweepResult) -> None:
    billed = {"openai:text-embedding-3-small": 2_000_000, "openai:somewhere-else": 10}
    text = result_text(replace(measured, billed=billed))
    assert "billed for openai:text-embedding-3-small: 2,000,000 tokens, US$ 0.0400 at list price" in text
    assert "billed for openai:somewhere-else: 10 tokens\n" in text


def test_queries_that_failed_are_told(measured: SweepResult) -> None:
    first = measured.results[0]
    assert first.evaluation is not None
    traces = list(first.evaluation.run.traces)
    traces[1] = replace(traces[1], error="TimeoutError: too slow")
    run = replace(first.evaluation.run, traces=tuple(traces))
    partly = replace(first, evaluation=replace(first.evaluation, run=run))
    text = result_text(replace(measured, results=(partly, *measured.results[1:])))
    assert f"! {first.cell.name}: 1 query failed and counts 0; the first: TimeoutError: too slow" in text


def test_names_and_reasons_that_nobody_vouches_for_are_printed_safely(measured: SweepResult) -> None:
    name = "\x1b[31m[bold]mine[/bold]\u202e"
    text = result_text(
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


def test_nothing_measured_is_no_table(tmp_path: Path) -> None:
    result = SweepResult("island", parse("ndcg@3"), 0, (CellResult(CELLS[0]),), tmp_path)
    assert result_text(result).splitlines() == [
        "island: 0 of 1 cells measured, by NDCG@3",
        "! 1 cell not measured yet: go on with --resume",
    ]
