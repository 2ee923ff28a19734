"""Chroma, LanceDB, Milvus Lite and PostgreSQL with pgvector, with their own libraries where these are installed.

They are not among the development dependencies: docs/how-to/indexes.md says with which versions these tests were run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from raglift.records.dataset import Dataset
from raglift.records.filters import Filter
from raglift.records.labels import Fact, Passage, Query
from raglift.running.evaluation import evaluate

from .stores import DIMENSIONS, TEXTS, YEARS, K, Words, documents, index_over, vector_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # what these libraries warn of is theirs
]


def langchain_chroma(folder: Path, distance: str) -> Any:
    pytest.importorskip("chromadb")
    module = pytest.importorskip("langchain_chroma")
    space = {"cosine": "cosine", "l2": "l2", "dot": "ip"}[distance]
    store = module.Chroma(
        "log", Words(), persist_directory=str(folder), collection_configuration={"hnsw": {"space": space}}
    )
    store.add_documents(documents())
    return store.as_retriever(search_kwargs={"k": K})


def llama_chroma(folder: Path, distance: str) -> Any:
    chromadb = pytest.importorskip("chromadb")
    module = pytest.importorskip("llama_index.vector_stores.chroma")
    space = {"cosine": "cosine", "l2": "l2", "dot": "ip"}[distance]
    client = chromadb.PersistentClient(str(folder))
    return index_over(module.ChromaVectorStore(client.create_collection("log", metadata={"hnsw:space": space})))


def langchain_lancedb(folder: Path, distance: str) -> Any:
    pytest.importorskip("lancedb")
    from langchain_community.vectorstores import LanceDB

    store = LanceDB(uri=str(folder), embedding=Words())
    store.add_documents(documents())
    metric = {} if distance == "l2" else {"metrics": distance}
    return store.as_retriever(search_kwargs={"k": K, "prefilter": True} | metric)


def llama_lancedb(folder: Path, distance: str) -> Any:
    pytest.importorskip("lancedb")
    module = pytest.importorskip("llama_index.vector_stores.lancedb")
    store = module.LanceDBVectorStore(uri=str(folder))
    retriever = index_over(store)
    if distance != "l2":
        store.create_index(metric=distance, num_partitions=1, index_type="IVF_FLAT")
    return retriever


def langchain_milvus(folder: Path, distance: str) -> Any:
    pytest.importorskip("milvus_lite")
    module = pytest.importorskip("langchain_milvus")
    metric = {"cosine": "COSINE", "l2": "L2", "dot": "IP"}[distance]
    store = module.Milvus(
        Words(),
        connection_args={"uri": str(folder / "milvus.db")},
        index_params={"metric_type": metric, "index_type": "FLAT"},
    )
    store.add_documents(documents())
    return store.as_retriever(search_kwargs={"k": K})


def llama_milvus(folder: Path, distance: str) -> Any:
    pytest.importorskip("milvus_lite")
    module = pytest.importorskip("llama_index.vector_stores.milvus")
    metric = {"cosine": "COSINE", "l2": "L2", "dot": "IP"}[distance]
    uri = str(folder / "milvus.db")
    return index_over(
        module.MilvusVectorStore(uri, dim=DIMENSIONS, similarity_metric=metric, use_async_client=False, overwrite=True)
    )


LIBRARIES: dict[str, Callable[[Path, str], Any]] = {
    "LangChain Chroma": langchain_chroma,
    "LlamaIndex Chroma": llama_chroma,
    "LangChain LanceDB": langchain_lancedb,
    "LlamaIndex LanceDB": llama_lancedb,
    "LangChain Milvus": langchain_milvus,
    "LlamaIndex Milvus": llama_milvus,
}
STORES = [(name, distance) for name in LIBRARIES for distance in ("cosine", "l2", "dot")]


def nearest(query: str, distance: str, years: Callable[[int], bool] = lambda year: True) -> list[str]:
    """The texts that are nearest by definition, among those of some years."""
    places = [place for place, year in enumerate(YEARS) if years(year)]
    vectors, asked = np.array([vector_of(TEXTS[place]) for place in places]), np.array(vector_of(query))
    far = {
        "l2": np.linalg.norm(vectors - asked, axis=1),
        "dot": -vectors @ asked,
        "cosine": -vectors @ asked / np.linalg.norm(vectors, axis=1),
    }[distance]
    return [TEXTS[places[number]] for number in np.argsort(far)[:K]]


def dataset(filters: Any = None) -> Dataset:
    texts = TEXTS[::7]
    return Dataset(
        tuple(
            Query(
                f"q{number}",
                f"What about the {text.split()[1]} is {text.split()[3]}",
                (Fact((Passage(text),)),),
                filter=filters,
            )
            for number, text in enumerate(texts)
        )
    )


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    name, distance = request.param
    return LIBRARIES[name](tmp_path, distance)


@pytest.mark.parametrize(("name", "distance"), STORES)
def test_the_vectors_are_read_out_and_searched_by_the_distance_of_the_store(
    name: str, distance: str, tmp_path: Path
) -> None:
    data = dataset()
    evaluation = evaluate(LIBRARIES[name](tmp_path, distance), data, exact=True, ks=(1, K))
    assert evaluation.run.spec["exact"] == {"stage": "retrieve", "k": K, "source": "read out"}
    for query, trace in zip(data, evaluation.run.traces, strict=True):
        expected = nearest(query.text, distance)
        assert trace.exact is not None
        assert [hit.chunk.text for hit in trace.exact.full] == expected
        assert [hit.chunk.text for hit in trace.stages[0].ranking] == expected
    losses = evaluation.index_losses()
    assert losses.step("together").overlap == 1.0
    assert evaluation.run.inventory is not None
    assert evaluation.run.inventory.chunks == len(TEXTS)


FILTERS: dict[str, Any] = {
    "equal": {"year": 2021},
    "list": {"year": [2021, 2023]},
    "bound": {"year": {"gte": 2022}},
    "range": {"year": {"gt": 2020, "lt": 2023}},
}


@pytest.mark.parametrize("written", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_filters_are_passed_on(name: str, written: dict[str, Any], tmp_path: Path) -> None:
    retriever = LIBRARIES[name](tmp_path, "l2")
    data = dataset(written)
    evaluation = evaluate(retriever, data, exact=True, ks=(1, K))
    allowed = Filter.of(written)
    for query, trace in zip(data, evaluation.run.traces, strict=True):
        assert trace.error is None
        expected = nearest(query.text, "l2", lambda year: allowed.matches({"year": year}))
        assert trace.exact is not None
        assert [hit.chunk.text for hit in trace.exact.full] == expected
        assert [hit.chunk.text for hit in trace.stages[0].ranking] == expected
    assert not [note for note in evaluation.notes if "filter" in note]
