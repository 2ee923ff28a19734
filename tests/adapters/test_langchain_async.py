"""Which LangChain retrievers are asked asynchronously, and the use of one adapter by several threads."""

import asyncio
import threading
import warnings

import pytest

from raglift.adapters.langchain import retriever_stages
from raglift.retrieval.retrievers import AsyncQueryRetriever, QueryRetriever

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community announces its end at import
    from langchain_classic.retrievers import EnsembleRetriever, RePhraseQueryRetriever
    from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListLLM
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

DOCUMENTS = [Document(page_content=f"Line {number} of the prince", id=f"line-{number}") for number in range(8)]
QUERY = "Which words did the prince speak?"


@pytest.fixture
def bm25():
    return BM25Retriever.from_documents(DOCUMENTS, k=2)


@pytest.fixture
def dense():
    store = InMemoryVectorStore.from_documents(DOCUMENTS, DeterministicFakeEmbedding(size=16))
    return store.as_retriever(search_kwargs={"k": 3})


class FirstLines(BaseRetriever):
    """Synchronous only."""

    def _get_relevant_documents(self, query, *, run_manager):
        return DOCUMENTS[:3]


class AsyncLines(FirstLines):
    """Asynchronous by itself."""

    async def _aget_relevant_documents(self, query, *, run_manager):
        await asyncio.sleep(0)
        return DOCUMENTS[3:5]


def only_stage(system, **options):
    (stage,) = retriever_stages(system, **options)
    return stage


def test_only_what_is_asynchronous_itself_is_asked_asynchronously(bm25, dense):
    class NoManager(BaseRetriever):  # langchain-core gives it an async method that starts a thread
        def _get_relevant_documents(self, query):
            return DOCUMENTS[:1]

    both_async = EnsembleRetriever(retrievers=[AsyncLines(), AsyncLines()])
    for system in (AsyncLines(), AsyncLines().with_retry(), both_async):
        assert isinstance(only_stage(system).retriever, AsyncQueryRetriever)
        assert isinstance(only_stage(system).retriever, QueryRetriever)
    half_async = EnsembleRetriever(retrievers=[bm25, AsyncLines()])
    for system in (bm25, dense, NoManager(), FirstLines(), half_async):
        assert not isinstance(only_stage(system).retriever, AsyncQueryRetriever)


def test_an_async_retriever_answers_by_its_own_method():
    ranking = asyncio.run(only_stage(AsyncLines()).retriever.aretrieve_one(QUERY, 10))
    assert [chunk.id for chunk in ranking.chunks] == ["line-3", "line-4"]


def test_a_coroutine_function_can_only_be_asked_asynchronously(bm25):
    async def search(query):
        return DOCUMENTS[:2]

    for system in (RunnableLambda(search), EnsembleRetriever(retrievers=[bm25, RunnableLambda(search)])):
        retriever = only_stage(system).retriever
        assert not isinstance(retriever, QueryRetriever)
        assert len(asyncio.run(retriever.aretrieve_one(QUERY, 2))) == 2


def test_an_async_method_that_is_only_a_stub_is_answered_in_a_thread():
    rephrase = RePhraseQueryRetriever.from_llm(AsyncLines(), FakeListLLM(responses=["Prince"]))
    ranking = asyncio.run(only_stage(rephrase).retriever.aretrieve_one(QUERY, 10))
    assert [chunk.id for chunk in ranking.chunks] == ["line-0", "line-1", "line-2"]


def test_one_adapter_serves_threads_at_several_depths(dense):
    retriever = only_stage(dense).retriever
    sizes: list[tuple[int, int]] = []
    asked = [1 + number % 5 for number in range(40)]
    threads = [
        threading.Thread(target=lambda k=k: sizes.append((k, len(retriever.retrieve_one(QUERY, k))))) for k in asked
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sizes) == sorted((k, k) for k in asked)
