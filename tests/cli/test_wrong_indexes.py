"""Indexes, dimensions, devices and vector stores that cannot be used: one line says so.

It is the same in Python, of a sweep, and on the command line.
Where it takes the vectors' width to know it, no more than one query is embedded before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from raglift.adapters.embeddings import embedder_by_name
from raglift.base.cache import Cache
from raglift.components import approximate, build_index
from raglift.components.chunkers import RecursiveChunker
from raglift.components.embedding import DenseIndex
from raglift.components.static_model import StaticEmbedder
from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, RagliftError
from raglift.records.dataset import Dataset
from raglift.records.labels import Fact, Passage, Query
from raglift.running.evaluation import evaluate
from raglift.sweep import load_sweep

CHUNKER = "recursive:1003/0"
"""No other test cuts so: the vectors of these chunks are in no cache."""

OF_THE_SPECIFICATION = [
    ("hnws", None, "found 'hnws' (did you mean 'hnsw'?); expected flat, hnsw(M=32,ef=64,construction=40)"),
    ("hnsw(size=3)", None, "found the setting 'size'; expected one of M, ef, construction"),
    ("hnsw(ef=-1)", None, "found ef=-1; expected an integer from 1 to 1,048,576"),
    ("hnsw(M=many)", None, "found M='many'; expected an integer"),
    ("int8(good)", None, "found the setting 'good'; expected flat"),
    ("int8(bits=4)", None, "found the setting 'bits'; expected none: int8 has no settings"),
    ("ivf(nlist=8,nprobe=9)", None, "found nprobe=9 of 8 clusters; expected no more than there are"),
    ("faiss", None, 'found no factory string; expected faiss("IVF1024,PQ32"), with a factory string'),
    ("flat", "0", "found 0; expected an integer, 1 or more, as 128 or pca(128), or all"),
    ("flat", "pca(x)", "found 'pca(x)'; expected a number"),
]
"""Wrong in themselves: refused as they are read."""

OF_THE_VECTORS = [
    ('faiss("NOPE12")', None, "could not parse index string NOPE12; expected what FAISS builds"),
    ('faiss("PQ7")', None, "expected what FAISS builds of them, as IVF256,PQ32"),
    ("ivf(nlist=5000)", None, "found nlist=5000 clusters for 99 chunks; expected at most as many clusters as chunks"),
    ("pq(m=7)", None, "found m=7 segments for 256 dimensions; expected a number that divides them, as 2, 4, 8"),
    ("pq(m=8)", None, "256 centroids a segment, for 99 chunks; expected no more centroids than chunks: bits=6"),
    ("pq(m=48)", "100", "found m=48 segments for 100 dimensions; expected a number that divides them"),
    ("flat", "1000", "found 1000; expected at most 256, as many as"),
    ("flat", "pca(150)", "found pca(150) for 99 chunks; expected no more components than chunks"),
]
"""Wrong for the model's vectors, or for so many chunks."""

DEVICES = [
    ("cudo", "device: found 'cudo' (did you mean 'cuda'?); expected auto, cpu, cuda, cuda:1 (any number) or mps"),
    ("cuda:99", "device: found 'cuda:99', which is not there"),
]


def langchain(search_type: str = "similarity", **settings: Any) -> Any:
    from langchain_core.embeddings import FakeEmbeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore.from_texts(["The lamp is lit."], FakeEmbeddings(size=8))
    return store.as_retriever(search_type=search_type, search_kwargs=settings)


def llama_index(**settings: Any) -> Any:
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.schema import TextNode

    index = VectorStoreIndex([TextNode(text="The lamp is lit.")], embed_model=MockEmbedding(8))
    return index.as_retriever(**settings)


def closed(**more: Any) -> Any:
    """A retriever over a store of another package, which gives out nothing."""
    from langchain_core.vectorstores import VectorStore

    retriever = langchain()
    retriever.vectorstore = type("Closed", (VectorStore,), {"from_texts": None, "similarity_search": None, **more})()
    return retriever


def closed_with_a_model() -> Any:
    from langchain_core.embeddings import FakeEmbeddings

    return closed(embeddings=FakeEmbeddings(size=8))


def qdrant(distance: str) -> Any:
    from langchain_core.embeddings import FakeEmbeddings
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client.models import Distance

    model, place = FakeEmbeddings(size=8), {"location": ":memory:", "distance": Distance[distance]}
    return QdrantVectorStore.from_texts(["The lamp is lit."], model, **place)


def disconnected() -> Any:
    store = qdrant("COSINE")
    store.client.close()
    return store.as_retriever()


def faiss_by_l1() -> Any:
    import faiss
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import FakeEmbeddings

    index = faiss.IndexFlat(8, faiss.METRIC_L1)
    return FAISS(FakeEmbeddings(size=8), index, InMemoryDocstore(), {}).as_retriever()


STORES = {
    "closed": (
        closed_with_a_model,
        "Closed does not give out its vectors; expected all of its chunks, to embed them again by its own model",
    ),
    "without a model": (
        closed,
        "found Closed without an embedding model; expected one, for the vectors of the queries",
    ),
    "disconnected": (
        disconnected,
        "QdrantVectorStore does not give out its vectors (RuntimeError: QdrantLocal instance is closed. Please create",
    ),
    "Manhattan": (
        lambda: qdrant("MANHATTAN").as_retriever(),
        "found a vector store that ranks by Manhattan; expected one that ranks by cosine, inner product or L2",
    ),
    "L1": (faiss_by_l1, "found a vector store that ranks by FAISS' metric 2; expected one that ranks by cosine, inner"),
    "mmr of LangChain": (
        lambda: langchain("mmr"),
        "found search_type='mmr', which returns something else than the k nearest vectors; expected a search by",
    ),
    "mmr of LlamaIndex": (
        lambda: llama_index(vector_store_query_mode="mmr"),
        "found vector_store_query_mode='mmr', which returns something else than the k nearest vectors; expected a",
    ),
    "threshold": (
        lambda: langchain("similarity_score_threshold", score_threshold=0.5),
        "found search_type='similarity_score_threshold', which returns something else than the k nearest vectors",
    ),
    "filter of LangChain": (
        lambda: langchain(filter=lambda document: True),
        "found a filter of the retriever's own in search_kwargs['filter'], which exact search does not apply; expected",
    ),
    "filter of LlamaIndex": (
        lambda: llama_index(doc_ids=["a"]),
        "found a filter of the retriever's own in doc_ids, which exact search does not apply; expected it on the",
    ),
    "no store": (
        lambda: lambda query: ["The lamp is lit."],
        "found a system without a vector store that raglift knows; expected a vector store of LangChain or LlamaIndex",
    ),
}
"""Vector stores that cannot be compared with exact search."""


def short(value: object) -> str:
    """The name of a case: what is given, and not what is said of it."""
    return "" if str(value).startswith(("found", "could", "expected", "256", "device")) else str(value)


def few(rows: list[Any]) -> list[Any]:
    """The first row; the others take a minute, and go with the tests of a release."""
    return [rows[0], *(pytest.param(*row, marks=pytest.mark.full) for row in rows[1:])]


class Random:
    """Random vectors of as many dimensions as minilm-static has."""

    identity = "random"

    def plan(self, texts: list[str]) -> list[list[str]]:
        return [list(texts)]

    def embed(self, texts: list[str], kind: str) -> Any:
        return np.random.default_rng(0).normal(size=(len(texts), 256)).astype(np.float32)

    def read_in_part(self, texts: list[str]) -> None:
        return None


@pytest.fixture(scope="module")
def dense() -> DenseIndex:
    chunks = RecursiveChunker(1003, 0).split(load_dataset("lighthouse").documents)
    assert len(chunks) == 99
    return build_index(chunks, Random(), cache=Cache(None), progress=False)


@pytest.fixture
def no_chunk_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    original = StaticEmbedder.embed

    def watched(self: Any, texts: Any, kind: Any) -> Any:
        assert kind == "query", "chunks are embedded before the index is looked at"
        return original(self, texts, kind)

    monkeypatch.setattr(StaticEmbedder, "embed", watched)


def of_a_sweep(tmp_path: Path, **fields: Any) -> str:
    """What a sweep says, which has nothing but the wrong value to do."""
    file = tmp_path / "sweep.yaml"
    parts = {"dataset": "lighthouse", "chunkers": CHUNKER, "retrievers": "dense", "rerankers": "none", "ks": [1]}
    file.write_text(json.dumps({**parts, "primary": "ndcg@1", **fields}), encoding="utf-8")
    try:
        result = load_sweep(file).run(tmp_path / "out", progress=False)
    except RagliftError as error:
        return str(error)
    assert not result.finished
    (failed,) = result.failed
    return str(failed.error)


@pytest.mark.parametrize(("index", "dimensions", "told"), [*OF_THE_SPECIFICATION, *OF_THE_VECTORS], ids=short)
def test_in_python(dense: DenseIndex, index: str, dimensions: str | None, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        approximate(dense, index, dimensions)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("index", "dimensions", "told"), OF_THE_SPECIFICATION, ids=short)
def test_in_a_sweep_before_anything_is_read(tmp_path: Path, index: str, dimensions: str | None, told: str) -> None:
    fields = {"indexes": [index]} | ({} if dimensions is None else {"dimensions": [dimensions]})
    assert told in of_a_sweep(tmp_path, embeddings="minilm-static", **fields)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("no_chunk_is_embedded")
@pytest.mark.parametrize(("index", "dimensions", "told"), few(OF_THE_VECTORS), ids=short)
def test_in_a_sweep_before_its_chunks_are_embedded(
    tmp_path: Path, index: str, dimensions: str | None, told: str
) -> None:
    fields = {"indexes": [index]} | ({} if dimensions is None else {"dimensions": [dimensions]})
    assert told in of_a_sweep(tmp_path, embeddings="minilm-static", **fields)


@pytest.mark.slow
@pytest.mark.usefixtures("no_chunk_is_embedded")
@pytest.mark.parametrize(("index", "dimensions", "told"), [*few(OF_THE_SPECIFICATION), *few(OF_THE_VECTORS)], ids=short)
def test_on_the_command_line(run, index: str, dimensions: str | None, told: str) -> None:
    retriever = f"dense(index={index}{'' if dimensions is None else f',dimensions={dimensions}'})"
    parts = ("--retriever", retriever, "--embedding", "minilm-static", "--chunker", CHUNKER, "--reranker", "none")
    code, out, err = run("evaluate", "lighthouse", *parts)
    assert (code, out) == (2, "")
    assert told in " ".join(err.split())


@pytest.mark.slow  # PyTorch is loaded
@pytest.mark.parametrize(("device", "told"), DEVICES, ids=short)
def test_devices(run, tmp_path: Path, device: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        embedder_by_name("minilm", device=device).embed(["a"], "query")
    assert told in str(caught.value)
    assert told in of_a_sweep(tmp_path, device=device)
    code, out, err = run("evaluate", "lighthouse", "--device", device)
    assert (code, out) == (2, "")
    assert told in " ".join(err.split())


@pytest.mark.slow  # LangChain and LlamaIndex are loaded
@pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning")
@pytest.mark.parametrize(("made", "told"), STORES.values(), ids=STORES)
def test_stores_that_cannot_be_compared(made: Callable[[], Any], told: str) -> None:
    data = Dataset((Query("a", "What is lit?", (Fact((Passage("The lamp is lit."),)),)),))
    with pytest.raises(ConfigurationError) as caught:
        evaluate(made(), data, exact=True)
    assert str(caught.value).startswith(f"exact: {told}")
    assert "\n" not in str(caught.value)
