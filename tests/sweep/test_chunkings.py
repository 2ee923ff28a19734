"""Chunkers by reference and contextual headers in a sweep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import raglift as rl
from raglift.adapters.splitters import chunker_by_name
from raglift.retrieval.embedding import SentenceTransformerEmbedder
from raglift.running.systems import LocalSystem, build_retriever
from raglift.sweep.engine import plan_sweep, run_sweep
from raglift.sweep.specification.record import Sweep
from raglift.types.documents import Document

pytestmark = pytest.mark.slow
CHUNKERS = ["recursive:60/0", "recursive:60/0+headings", "paragraph_splitters:by_paragraphs"]
SPLITTERS = "def by_paragraphs(text):\n    return text.split('\\n\\n')\n"
PAGES = {
    "returns.md": "# Returns\n\nWrap it well.\n\n## Television sets\n\nWe fetch them within a week.\n\n## Cameras\n\n"
    "Post them within thirty days.\n",
    "deliveries.md": "# Deliveries\n\nWe bring everything to the door.\n\n## Television sets\n\n"
    "Two people carry them in.\n",
}
LABELS = {
    "Who fetches a television set that I return?": "We fetch them within a week.",
    "Is a television set brought in?": "Two people carry them in.",
    "When must a camera be posted?": "Post them within thirty days.",
}


@pytest.fixture
def dataset() -> rl.Dataset:
    documents = [Document(name, text) for name, text in PAGES.items()]
    return rl.Dataset.from_dict(LABELS, documents=documents, name="pages")


@pytest.fixture
def sweep(dataset: rl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    (tmp_path / "paragraph_splitters.py").write_text(SPLITTERS)
    monkeypatch.syspath_prepend(tmp_path)
    return Sweep(
        dataset=dataset,
        chunkers=CHUNKERS,
        retrievers=["dense", "bm25"],
        candidates=4,
        ks=(1, 3),
        primary="ndcg@3",
        dtype="float32",
    )


def rankings(evaluation: rl.Evaluation, k: int | None = None) -> list[object]:
    return [[(hit.chunk.id, hit.score) for hit in trace.stages[-1].ranking.hits[:k]] for trace in evaluation.run.traces]


def test_each_cell_is_what_evaluating_it_alone_gives_and_resumes(
    sweep: Sweep, dataset: rl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_sweep(sweep)
    assert [each.chunker for each in plan.chunkings] == CHUNKERS
    assert [each.error for each in (*plan.chunkings, *plan.embeddings)] == [None] * 4
    assert [each.model for each in plan.embeddings] == ["bge-small"]
    assert all(each.texts >= 8 for each in plan.embeddings)

    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert len(result.finished) == len(plan.cells) == 6
    for entry in result.finished:
        cell = entry.cell
        parts = LocalSystem(str(cell.retriever), chunker_by_name(str(cell.chunker)), cell.embedding or "bge-small")
        alone = rl.evaluate(
            build_retriever(dataset, parts), dataset, ks=(1, 3), depth="deep", candidates=4, match=sweep.rule
        )
        assert entry.evaluation is not None
        assert rankings(entry.evaluation, sweep.candidates) == rankings(alone)
        hits = [chunk for trace in alone.run.traces for chunk in trace.stages[-1].ranking.chunks]
        assert all(chunk.text == PAGES[str(chunk.doc_id)][chunk.start : chunk.end] for chunk in hits)

    monkeypatch.setattr(SentenceTransformerEmbedder, "embed", lambda *_: pytest.fail("computed again"))
    again = run_sweep(replace(sweep, ks=(1,), primary="ndcg@1"), tmp_path / "other", progress=False)
    assert not again.failed


def test_chunkers_are_written_as_texts_and_as_mappings() -> None:
    made = Sweep(
        dataset="lighthouse",
        chunkers=[
            {"splitter": "my_rag:splitter"},
            {"splitter": "recursive", "size": 100, "overlap": 0, "headings": True},
            "my_rag.splitters:by_lines+headings",
            "recursive:100/0:characters+headings",
        ],
    )
    assert made.chunkers == (
        "my_rag:splitter",
        "recursive:100/0+headings",
        "my_rag.splitters:by_lines+headings",
    )
    assert {replace(cell).key for cell in made.cells()} == {cell.key for cell in made.cells()}
    assert len({cell.key for cell in made.cells()}) == 3
