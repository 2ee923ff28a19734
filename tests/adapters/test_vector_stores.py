"""Users' vector stores: filters that are passed on, and exact search over what the stores hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex

from raglift.running.evaluation import evaluate
from raglift.types.dataset import Dataset
from raglift.types.filters import Filter
from raglift.types.labels import Fact, Passage, Query

from .stores import TEXTS, YEARS, K, Model, Words, documents, index_over, nodes

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
]


def in_memory() -> Any:
    return InMemoryVectorStore.from_documents(documents(), Words()).as_retriever(search_kwargs={"k": K})


def qdrant(distance: str = "COSINE") -> Any:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client.models import Distance

    store = QdrantVectorStore.from_documents(
        documents(), Words(), location=":memory:", collection_name="log", distance=Distance[distance]
    )
    return store.as_retriever(search_kwargs={"k": K})


def simple() -> Any:
    return VectorStoreIndex(nodes(), embed_model=Model()).as_retriever(similarity_top_k=K)


def llama_qdrant() -> Any:
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    return index_over(QdrantVectorStore("log", client=QdrantClient(location=":memory:")))


STORES: dict[str, Callable[[], Any]] = {
    "LangChain in memory": in_memory,
    "LangChain Qdrant": qdrant,
    "LlamaIndex simple": simple,
    "LlamaIndex Qdrant": llama_qdrant,
}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(
        tuple(
            Query(f"q{number}", f"What about the {text.split()[1]} is {text.split()[3]}", (Fact((Passage(text),)),))
            for number, text in enumerate(TEXTS[::7])
        ),
        name="log",
    )


@pytest.fixture(scope="module")
def filtered(data: Dataset) -> Dataset:
    queries = (
        Query(query.id, " ".join(query.text.split()[:4]), query.facts, filter={"year": YEARS[7 * number]})  # type: ignore[arg-type]
        for number, query in enumerate(data)
    )
    return Dataset(tuple(queries), name="log by year")


@pytest.mark.parametrize("name", STORES)
def test_filters_are_passed_on_to_the_store(name: str, filtered: Dataset) -> None:
    retriever = STORES[name]()
    evaluation = evaluate(retriever, filtered, chunks=documents(), ks=(1, K))
    assert evaluation.run.spec["filtered"] == {"stage": "retrieve", "k": K, "taken": True}
    for query, trace in zip(filtered, evaluation.run.traces, strict=True):
        assert query.filter is not None
        assert trace.matching == len(TEXTS) // 5
        assert len(trace.stages[0].ranking) == K
        assert all(query.filter.matches(chunk.metadata) for chunk in trace.stages[0].ranking.chunks)
    assert not [note for note in evaluation.notes if "filter" in note]
    assert "filter" not in getattr(retriever, "search_kwargs", {})  # the user's object is as it was


# LlamaIndex' Qdrant takes no lists of true and false, nor of fractions
@pytest.mark.parametrize("name", [name for name in STORES if name != "LlamaIndex Qdrant"])
@pytest.mark.parametrize(
    "written",
    [
        {"year": [2021, 2023], "is_late": [True, False]},
        {"year": {"gt": 2020, "lt": 2023}, "height": [2021 / 8, 2022 / 8]},
        {"is_late": [False], "height": {"gte": 2020 / 8}},
    ],
)
def test_lists_ranges_and_truth_are_passed_on(name: str, written: dict[str, Any]) -> None:
    retriever = STORES[name]()
    queries = (Query("a", "What is lit of the lamp?", (Fact((Passage(TEXTS[0]),)),), filter=written),)  # type: ignore[arg-type]
    evaluation = evaluate(retriever, Dataset(queries), ks=(1,))
    (trace,) = evaluation.run.traces
    assert trace.error is None
    assert len(trace.stages[0].ranking) == K
    assert all(Filter.of(written).matches(chunk.metadata) for chunk in trace.stages[0].ranking.chunks)


@pytest.mark.parametrize("name", STORES)
def test_a_retrievers_own_filter_holds_beside_that_of_a_query(name: str) -> None:
    from raglift.adapters.filters import langchain_filter, llama_index_filters

    own, retriever = Filter.of({"year": [2020, 2021]}), STORES[name]()
    if "LangChain" in name:
        retriever.search_kwargs["filter"] = langchain_filter(retriever.vectorstore, own)
    else:
        retriever._filters = llama_index_filters(own)
    queries = (
        Query("a", "What is lit of the lamp?", (Fact((Passage(TEXTS[0]),)),), filter={"year": {"gte": 2021}}),  # type: ignore[arg-type]
    )
    (trace,) = evaluate(retriever, Dataset(queries), ks=(1,)).run.traces
    assert trace.error is None
    assert {chunk.metadata["year"] for chunk in trace.stages[0].ranking.chunks} == {2021}


class Late(InMemoryVectorStore):
    """A store with a planted fault: it filters after its search, among a few more than it was asked for."""

    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:  # noqa: A002
        found = super()._similarity_search_with_score_by_vector(embedding, k + 2, None)
        return [each for each in found if filter(each[0])][:k]


def test_a_store_that_filters_after_its_search_is_found(filtered: Dataset) -> None:
    retriever = Late.from_documents(documents(), Words()).as_retriever(search_kwargs={"k": K})
    evaluation = evaluate(retriever, filtered, chunks=documents(), ks=(1, K))
    (note,) = [note for note in evaluation.notes if "under-returns" in note]
    found = [len(trace.stages[0].ranking) for trace in evaluation.run.traces]
    short = [count for count in found if count < max(found)]
    assert f"for {len(short)} questions of {len(filtered)} with a filter" in note
    assert note in " ".join(str(evaluation).split())


class Ignoring(InMemoryVectorStore):
    """A store with a planted fault: it does not look at filters."""

    def _similarity_search_with_score_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None) -> Any:  # noqa: A002
        return super()._similarity_search_with_score_by_vector(embedding, k, None)


def test_a_store_that_ignores_filters_is_found(filtered: Dataset) -> None:
    retriever = Ignoring.from_documents(documents(), Words()).as_retriever(search_kwargs={"k": K})
    evaluation = evaluate(retriever, filtered, chunks=documents(), ks=(1, K))
    (note,) = [note for note in evaluation.notes if "do not match the filter" in note]
    wrong = sum(
        not query.filter.matches(chunk.metadata)
        for query, trace in zip(filtered, evaluation.run.traces, strict=True)
        if query.filter
        for chunk in trace.stages[0].ranking.chunks
    )
    assert f"returned {wrong} hits" in note
