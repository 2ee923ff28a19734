"""Ten documents and twenty questions in Japanese, Thai and Arabic, from the files to the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

import raglift as rl
from raglift.auditing import audit
from raglift.running import LocalSystem, build_retriever

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
LANGUAGES = {"japanese": "Japanese", "thai": "Thai", "arabic": "Arabic"}
in_each_language = pytest.mark.parametrize("name", LANGUAGES)


@in_each_language
def test_bm25_finds_what_is_asked_in_every_language(name: str) -> None:
    data = rl.load_dataset(HERE / name)
    evaluation = rl.evaluate(build_retriever(data, LocalSystem("bm25")), data, ks=(1, 10), progress=False)
    assert evaluation.scores.mean("retrieve", "mrr@10") >= 0.85
    assert all(trace.stages[0].ranking.hits for trace in evaluation.run.traces)
    assert "does not know" not in str(evaluation)


@in_each_language
def test_an_audit_warns_that_the_embedded_model_cannot_read_it(name: str) -> None:
    found = audit(rl.load_dataset(HERE / name), chunkers=["recursive:120/0"])
    assert found.broken == ()
    (warning,) = (note for note in found.notes if "bge-small-en-v1.5" in note)
    assert f"use a model for {LANGUAGES[name]}, or BM25" in warning


def test_an_evaluation_of_the_embedded_model_warns_beside_its_figures() -> None:
    data = rl.load_dataset(HERE / "thai")
    evaluation = rl.evaluate(build_retriever(data, LocalSystem("dense")), data, progress=False)
    assert "! bge-small-en-v1.5 does not know" in str(evaluation)
    assert evaluation.scores.mean("retrieve", "mrr@10") < 0.5


def test_a_sweep_warns_of_a_reranker_that_cannot_read_the_texts(tmp_path: Path) -> None:
    cells = {"chunkers": ["recursive:200/0"], "retrievers": ["bm25"], "rerankers": ["none", "cross-encoder"]}
    found = rl.Sweep(dataset=str(HERE / "arabic"), **cells).run(tmp_path / "sweep", progress=False)
    said = {entry.cell.reranker: str(entry.evaluation) for entry in found.results}
    assert "MiniLM" not in said["none"]
    assert "ms-marco-MiniLM-L-12-v2 spells the texts (Arabic) out" in said["cross-encoder"]
