"""End to end on the real book: what a user runs, from the text to the figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import raglift as rl
from raglift.metrics.rank_measures import HitRate, Recall
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.embedding import build_index
from raglift.retrieval.onnx_models import OnnxEmbedder
from raglift.types.dataset import Dataset
from raglift.types.documents import Document

Run = Callable[..., tuple[int, str, str]]
BOOK_ONE = 270_000  # characters: about the first book of the novel
CHUNKER = rl.RecursiveChunker(1000, 100)


@pytest.fixture(scope="module")
def book(book_path: Path) -> Dataset:
    return rl.load_dataset("war_and_peace", documents=book_path)


@pytest.fixture(scope="module")
def first_book(book: Dataset) -> Dataset:
    """The beginning of the novel, and the questions that it answers."""
    document = book.documents[0]
    queries = [
        query
        for query in book
        if all((passage.end or 0) < BOOK_ONE for fact in query.facts for passage in fact.passages)
    ]
    return Dataset(tuple(queries), (Document(document.id, document.text[:BOOK_ONE]),), "book one")


@pytest.mark.slow
def test_every_label_of_the_novel_resolves_to_the_text_at_its_place(book: Dataset) -> None:
    text = book.documents[0].text
    passages = [passage for query in book for fact in query.facts for passage in fact.passages]
    assert len(book) >= 31
    assert all(passage.text == text[passage.start : passage.end] for passage in passages)
    places = sorted((passage.start or 0) / len(text) for passage in passages)
    assert np.diff([0, *places, 1]).max() < 0.1, "a stretch of the novel has no label"


@pytest.mark.full
@pytest.mark.parametrize("kind", ["dense", "bm25"])
def test_reranking_the_first_book_keeps_the_candidates_and_the_pair_is_fair(first_book: Dataset, kind: str) -> None:
    chunks = CHUNKER.split(first_book.documents)
    retriever = BM25Retriever(chunks)
    if kind == "dense":
        retriever = rl.DenseRetriever(build_index(chunks, OnnxEmbedder()))
    evaluation = rl.evaluate(retriever, first_book, reranker="cross-encoder", ks=(1, 10, 50), candidates=50)
    assert len(first_book) >= 5
    for trace in evaluation.run.traces:
        before, after = (stage.ranking for stage in trace.stages)
        assert {hit.chunk.id for hit in before} == {hit.chunk.id for hit in after}
    for metric in (HitRate @ 50, Recall @ 50):
        assert evaluation.lift(metric) == pytest.approx(np.zeros(len(first_book)))
    assert evaluation.scores.mean("rerank", HitRate @ 10) > 0.5


@pytest.mark.full
def test_a_second_walkthrough_of_a_small_corpus_embeds_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cheap form of the next test: a few documents, in this process."""
    documents = ("lamp-and-lens.md", "visiting.md", "volunteers.md")
    whole = rl.load_dataset("lighthouse")
    kept = {document.id: document for document in whole.documents if document.id in documents}
    queries = [
        query
        for query in whole
        if query.facts and all(passage.doc_id in kept for fact in query.facts for passage in fact.passages)
    ]
    rl.write_dataset(Dataset(tuple(queries), tuple(kept.values()), "small"), tmp_path / "small")
    for name, value in {"RAGLIFT_CACHE": str(tmp_path / "cache"), "RAGLIFT_PROGRESS": "1", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    (_, first, first_told), (_, second, second_told) = (
        run("walkthrough", "--corpus", tmp_path / "small", "--all") for _ in range(2)
    )
    assert re.search(r"(\d+) of \1 distinct chunks embedded now", first)
    assert "embed chunks: " in first_told
    assert re.search(r"\b0 of \d+ distinct chunks embedded now", second)
    assert "embed" not in second_told
    assert figures(first) == figures(second)
    assert len(figures(first)) > 10


def figures(text: str) -> list[str]:
    """Return the rows of metrics."""
    return re.findall(r"^\w+@\d+ .*$", text, re.MULTILINE)
