"""One index of a real text, asked through raglift and LlamaIndex: the same ranking, the same scores."""

from __future__ import annotations

from typing import Any

import pytest

import raglift as rl
from raglift.results.evaluation import Evaluation
from raglift.retrieval.embedding import DenseIndex, SentenceTransformerEmbedder, build_index, embed
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.full

CANDIDATES = 20


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return rl.load_dataset("lighthouse")


@pytest.fixture(scope="module")
def index(dataset: Dataset) -> DenseIndex:
    chunks = rl.RecursiveChunker(600, 60).split(dataset.documents)
    return build_index(chunks, SentenceTransformerEmbedder(dtype="float32"))


@pytest.fixture(scope="module")
def query_vectors(index: DenseIndex, dataset: Dataset) -> dict[str, list[float]]:
    """The vectors that raglift itself asks with, so that the frameworks ask with the same."""
    texts = [query.text for query in dataset]
    vectors = embed(index.embedder, texts, "query", index.cache).vectors
    return dict(zip(texts, vectors.tolist(), strict=True))


@pytest.fixture(scope="module")
def own(index: DenseIndex, dataset: Dataset) -> Evaluation:
    return rl.evaluate(rl.DenseRetriever(index), dataset, ks=(1, 5, 10), depth="deep", candidates=CANDIDATES)


def test_llama_index_over_the_same_index_ranks_and_scores_the_same(
    index: DenseIndex, dataset: Dataset, query_vectors: dict[str, list[float]], own: Evaluation
) -> None:
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.vector_stores.faiss import FaissVectorStore

    vectors = dict(zip((chunk.text for chunk in index.chunks), index.vectors.tolist(), strict=True))

    class Vectors(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return query_vectors[query]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return query_vectors[query]

        def _get_text_embedding(self, text: str) -> list[float]:
            return vectors[text]

    import faiss

    nodes = [
        TextNode(
            id_=chunk.id,
            text=chunk.text,
            start_char_idx=chunk.start,
            end_char_idx=chunk.end,
            embedding=vector,
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.doc_id or "")},
        )
        for chunk, vector in zip(index.chunks, index.vectors.tolist(), strict=True)
    ]
    store = FaissVectorStore(faiss_index=faiss.IndexFlatIP(index.vectors.shape[1]))
    storage = StorageContext.from_defaults(vector_store=store)
    vector_index = VectorStoreIndex(nodes, storage_context=storage, embed_model=Vectors())
    assert_same(
        rl.evaluate(vector_index.as_retriever(), dataset, ks=(1, 5, 10), depth="deep", candidates=CANDIDATES), own
    )


def assert_same(found: Evaluation, own: Evaluation) -> None:
    for trace, expected in zip(found.run.traces, own.run.traces, strict=True):
        assert trace.error is None
        ranking, wanted = trace.stages[0].ranking, expected.stages[0].ranking
        for hit, same in zip(ranking, wanted, strict=True):  # FAISS orders equal texts as it happens to find them
            if hit.chunk.text != same.chunk.text or [each.chunk.text for each in wanted].count(same.chunk.text) == 1:
                assert (hit.chunk.id, place(hit.chunk)) == (same.chunk.id, place(same.chunk))
        assert [hit.score for hit in ranking] == pytest.approx([hit.score for hit in wanted], abs=1e-6)
    assert found.scores.values == pytest.approx(own.scores.values, nan_ok=True)


def place(chunk: Any) -> tuple[Any, ...]:
    return chunk.doc_id, chunk.start, chunk.end, chunk.text
