"""A plan counts what a sweep will do, and does none of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from raglift.retrieval.cross_encoder import CrossEncoderReranker
from raglift.retrieval.embedding import SentenceTransformerEmbedder
from raglift.sweep.engine import plan_sweep, run_sweep
from raglift.sweep.measuring import Parts
from raglift.sweep.specification.record import Sweep
from raglift.testing.openai_server import OpenAIServer
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow


@pytest.fixture
def sweep(island: Dataset, tiny_cross_encoder: Path) -> Sweep:
    return Sweep(
        dataset=island,
        chunkers=["recursive:200/0", "recursive:90/30"],
        retrievers=["dense", "bm25"],
        rerankers=["none", str(tiny_cross_encoder)],
        exclude=[{"chunker": "recursive:90/30", "retriever": "bm25"}],
        candidates=2,
        ks=(1, 2),
        primary="ndcg@2",
        dtype="float32",
    )


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is loaded and none computes."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was asked for")

    monkeypatch.setattr("raglift.retrieval.models.load_sentence_transformer", refuse)
    monkeypatch.setattr("raglift.retrieval.embedding.load_sentence_transformer", refuse)
    monkeypatch.setattr(SentenceTransformerEmbedder, "embed", refuse)
    monkeypatch.setattr(CrossEncoderReranker, "score", refuse)


@pytest.mark.usefixtures("own_cache", "no_model")
def test_before_anything_is_done_everything_is_to_do(sweep: Sweep, island: Dataset) -> None:
    plan = plan_sweep(sweep)
    assert (len(plan.cells), plan.excluded, plan.finished, len(plan.sources)) == (6, 2, 0, 3)
    assert (plan.queries, plan.documents, plan.candidates) == (5, 3, 2)
    parts = Parts(sweep, island)
    counted = [len(parts.chunks(chunker)) for chunker in ("recursive:200/0", "recursive:90/30")]
    assert [(entry.chunker, entry.chunks) for entry in plan.chunkings] == [
        ("recursive:200/0", counted[0]),
        ("recursive:90/30", counted[1]),
    ]
    (embedding,) = plan.embeddings
    texts = {chunk.text for chunker in ("recursive:200/0", "recursive:90/30") for chunk in parts.chunks(chunker)}
    assert (embedding.model, embedding.texts, embedding.missing) == ("bge-small", len(texts), len(texts))
    assert (embedding.queries, embedding.missing_queries) == (5, 5)
    (reranking,) = plan.rerankings
    # At most: 2 candidates of each of the rankings over a chunker's chunks, but no more than there are chunks
    most = sum(
        min(2 * sum(source.chunker == chunker for source in plan.sources), chunks)
        for chunker, chunks in zip(("recursive:200/0", "recursive:90/30"), counted, strict=True)
    )
    assert reranking.pairs == most * 5


@pytest.mark.usefixtures("own_cache")
def test_after_a_run_the_cache_has_every_vector(sweep: Sweep, tmp_path: Path) -> None:
    run_sweep(sweep, tmp_path / "sweep", progress=False)
    (embedding,) = plan_sweep(sweep).embeddings
    assert (embedding.missing, embedding.missing_queries) == (0, 0)


@pytest.mark.usefixtures("own_cache")
def test_what_is_finished_is_not_planned_again(sweep: Sweep, tmp_path: Path) -> None:
    run_sweep(sweep, tmp_path / "sweep", progress=False)
    plan = plan_sweep(sweep, tmp_path / "sweep")
    assert (plan.finished, plan.sources, plan.chunkings, plan.embeddings, plan.rerankings) == (6, (), (), (), ())
    reranked = [cell for cell in plan.cells if cell.reranker != "none" and cell.embedding is None]
    for file in (tmp_path / "sweep/cells" / reranked[0].key).iterdir():
        file.unlink()
    (tmp_path / "sweep/cells" / reranked[0].key).rmdir()
    plan = plan_sweep(sweep, tmp_path / "sweep")
    assert plan.finished == 5
    assert [cell.name for cell in plan.sources] == ["recursive:200/0 · bm25 · none"]
    assert plan.embeddings == ()
    assert plan.rerankings[0].pairs == 5 * sweep.candidates


@pytest.mark.usefixtures("own_cache", "no_model")
def test_what_cannot_be_used_is_shown_and_the_rest_is_counted(
    island: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    sweep = Sweep(
        dataset=island,
        chunkers=["recursive:200/0", "recursive:90/30"],
        retrievers=["dense"],
        rerankers=["none", str(tmp_path / "empty")],
        ks=1,
        primary="ndcg@1",
    )

    def chunks(parts: Parts, chunker: str, _chunks: object = Parts.chunks) -> object:
        if chunker == "recursive:90/30":
            raise ValueError("this splitter fails")
        return _chunks(parts, chunker)  # type: ignore[operator]

    monkeypatch.setattr(Parts, "chunks", chunks)
    plan = plan_sweep(sweep)
    assert [entry.error for entry in plan.chunkings] == [None, "ValueError: this splitter fails"]
    assert plan.embeddings[0].texts == plan.chunkings[0].distinct > 0
    assert "cannot be used: ValueError: this splitter fails" in str(plan)
    assert plan.rerankings[0].error is not None


@pytest.mark.usefixtures("own_cache")
def test_a_model_of_the_hub_that_is_not_here_is_not_looked_for(
    island: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    sweep = Sweep(dataset=island, chunkers="recursive:200/0", embeddings="nobody/no-such-model", ks=1, primary="ndcg@1")
    (entry,) = plan_sweep(sweep).embeddings
    assert (entry.missing, entry.missing_queries, entry.error) == (entry.texts, 5, None)


@pytest.mark.usefixtures("own_cache")
def test_a_provider_is_asked_for_nothing(island: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        model = "openai:text-embedding-3-small"
        sweep = Sweep(dataset=island, chunkers="recursive:200/0", embeddings=model, ks=1, primary="ndcg@1")
        plan = plan_sweep(sweep)
        assert server.requests == []
    (entry,) = plan.embeddings
    assert (entry.missing, entry.missing_queries) == (entry.texts, 5)
