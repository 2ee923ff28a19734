"""benchmarks/board.py: one small corpus from its folder to the tables, and what is said of many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

LAMP = "The lamp is lit at dusk. Its two wicks are trimmed every fourth hour. "
HORN = "In fog the horn is blown every ninety seconds. The compressor needs water. "


@pytest.fixture(scope="module")
def board(script) -> Any:
    return script("board")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of two documents of 500 characters and three questions, of which one has no answer."""
    path = tmp_path / "signals"
    (path / "documents").mkdir(parents=True)
    for name, text in {"lamp": LAMP, "horn": HORN}.items():
        (path / "documents" / f"{name}.md").write_text("\n\n".join([text] * 7), encoding="utf-8")
    queries = [
        {"id": "wicks", "query": "How often are the wicks trimmed?", "relevant": ["trimmed every fourth hour"]},
        {"id": "horn", "query": "How often is the horn blown?", "relevant": ["every ninety seconds"]},
        {"id": "cook", "query": "Who cooks?", "relevant": [], "answerable": False},
    ]
    (path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_folder_is_measured_from_its_labels_to_the_tables(board: Any, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "board"
    arguments = ["--corpus", str(folder), "--retriever", "bm25", "--reranker", "none", "--output", str(output)]
    assert board.main(arguments) == 0
    (cell,) = pd.read_csv(output / "cells.csv").to_dict("records")
    assert (cell["corpus"], cell["size"], cell["retriever"], cell["reranker"]) == ("signals", 400, "bm25", "none")
    assert (cell["questions"], cell["of"], cell["n"]) == (2, 2, 2)
    assert cell["recall_area_low"] <= cell["recall_area"] <= cell["recall_area_high"]
    assert cell["ndcg"] == 1.0
    assert cell["tokens"] > 0
    assert cell["seconds"] >= 0
    assert not cell["may_be_best"]
    assert len(pd.read_parquet(output / "cells.parquet")) == 1
    assert "signals" in (output / "board.md").read_text("utf-8")
    kept = {file: file.stat().st_mtime_ns for file in output.glob("signals/*/cells/*/traces*")}
    assert kept
    assert board.main(arguments) == 0
    assert {file: file.stat().st_mtime_ns for file in kept} == kept  # continued, not measured again


@pytest.mark.full
def test_all_parts_are_compared(board: Any, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "board"
    assert board.main(["--corpus", str(folder), "--output", str(output)]) == 0
    cells, effects = (pd.read_parquet(output / f"{name}.parquet") for name in ("cells", "effects"))
    assert len(cells) == 12
    assert cells["may_be_best"].any()
    assert set(effects["metric"]) == {"recall_area@tokens(2000)", "ndcg@10"}
    assert effects.groupby("factor").size().to_dict() == {"reranker": 2 * 3, "retriever": 2 * 6}


@pytest.mark.slow
def test_a_corpus_that_is_not_there_leaves_the_others(board: Any, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "board"
    parts = ["--retriever", "bm25", "--reranker", "none", "--output", str(output)]
    assert board.main(["--corpus", str(tmp_path / "nothing"), str(folder), *parts]) == 1
    assert (output / "cells.csv").exists()


def test_texts_that_are_not_there_are_a_fault_that_says_where_they_are_expected(
    board: Any, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(board, "FOLDER", tmp_path / "none")
    for name in ("scifact", "xquad.zh", "chroma.pubmed"):
        with pytest.raises(board.ConfigurationError, match="RAGLIFT_CORPORA"):
            board.corpus(name)


def test_whole_documents_that_are_labels_are_not_split(board: Any) -> None:
    found = board.languages.Collection("four", {"a": "x" * 900, "b": "y" * 1200}, {"1": "q"}, {"1": ["b"]})
    dataset = board.of_whole_documents(found)
    assert board.sizes_of(dataset, (400, 1000)) == ["whole"]
    assert [passage.doc_id for fact in dataset.queries[0].facts for passage in fact.passages] == ["b"]


def test_sizes_split_at_least_half_of_the_text(board: Any) -> None:
    documents = [board.rl.Document("short", "x" * 600), board.rl.Document("long", "y " * 700)]
    dataset = board.rl.Dataset.from_dict({"why?": ["y y y y y y"]})
    dataset = board.rl.Dataset(dataset.queries, tuple(documents))
    assert board.sizes_of(dataset, (400, 1000, 2000)) == [400, 1000]


def test_claims_count_corpora_and_name_the_better_level_first(board: Any) -> None:
    def row(level: str, other: str, verdict: str, factor: str = "reranker") -> dict[str, str]:
        return {"factor": factor, "level": level, "other": other, "verdict": verdict}

    rows = [
        *[row("rerank", "none", "better")] * 3,
        row("none", "rerank", "worse"),
        row("rerank", "none", "not significant"),
        *[row("dense", "bm25", verdict, "retriever") for verdict in ("worse", "worse", "better")],
        *[row("1000", "400", "not significant", "size")] * 2,
        row("a", "b", "better"),
        row("a", "b", "too skewed to decide"),
    ]
    found = board.claims(rows)
    assert [tuple(claim) for claim in found] == [
        ("reranker", "rerank", "none", 4, 0, 5),
        ("retriever", "bm25", "dense", 2, 1, 3),
        ("size", "1000", "400", 0, 0, 2),
        ("reranker", "a", "b", 1, 0, 2),
    ]
    assert [claim.holds for claim in found] == [True, False, False, False]
    held, others = board.paragraphs(found)
    assert held.count(".") == 1
    assert "4 of 5 corpora" in held
    assert others.count(".") == 3
    assert board.paragraphs([])[0] == board.paragraphs([])[1]
