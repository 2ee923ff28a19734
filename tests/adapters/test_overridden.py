"""Systems that are overridden, patched or composed: what is measured is what the object returns to its own users.

Each case is an object, and how its users ask it. The hits after the last stage are compared one by one.
"""

from __future__ import annotations

import asyncio
import functools

import pytest
from langchain_classic.chains import RetrievalQA
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListLLM
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough, RunnableSequence
from langchain_core.runnables.base import RunnableBinding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever as NodeRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine import CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    BaseQueryEngine,
    CitationQueryEngine,
    RetrieverQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import raglift as rl

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
    pytest.mark.filterwarnings("ignore:This class is deprecated:DeprecationWarning"),
]

LINES = [f"line {number} of a log that the keeper wrote at night" for number in range(6)]
QUERY = "which line did the keeper write?"


def measured(system, **options):
    """The texts after the last stage, and the notes."""
    evaluation = rl.evaluate(system, rl.Dataset.from_dict({QUERY: [LINES[0]]}), ks=(1,), metrics=["recall"], **options)
    return [chunk.text for chunk in evaluation.run.traces[0].stages[-1].ranking.chunks], evaluation


# LangChain.


class Lines(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in LINES]

    async def _aget_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in LINES]


class FirstThree(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        return list(documents)[:3]

    async def acompress_documents(self, documents, query, callbacks=None):
        return list(documents)[:3]


def compression(cls=ContextualCompressionRetriever, base=None, compressor=None):
    return cls(base_retriever=base or Lines(), base_compressor=compressor or FirstThree())


class OwnInvoke(ContextualCompressionRetriever):
    def invoke(self, input, config=None, **kwargs):  # noqa: A002
        return super().invoke(input, config, **kwargs)[::-1]


class OwnAsyncInvoke(ContextualCompressionRetriever):
    async def ainvoke(self, input, config=None, **kwargs):  # noqa: A002
        return (await super().ainvoke(input, config, **kwargs))[::-1]


class OwnSearch(ContextualCompressionRetriever):
    def _get_relevant_documents(self, query, *, run_manager, **kwargs):
        return super()._get_relevant_documents(query, run_manager=run_manager, **kwargs)[1:]


class Reversing:
    """A mixin in front of LangChain's class."""

    def invoke(self, *args, **kwargs):
        return super().invoke(*args, **kwargs)[::-1]


class Mixed(Reversing, ContextualCompressionRetriever):
    pass


class Untouched(ContextualCompressionRetriever):
    """A subclass that changes nothing of how it is asked."""

    def describe(self):
        return "mine"


class OwnAttributes(ContextualCompressionRetriever):
    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        return OwnSearch.model_construct(**vars(self)).base_compressor if name == "base_compressor" else found


class LastFirst(EnsembleRetriever):
    def invoke(self, input, config=None, **kwargs):  # noqa: A002
        return super().invoke(input, config, **kwargs)[::-1]


class OwnPipeline(DocumentCompressorPipeline):
    def compress_documents(self, documents, query, callbacks=None):
        return super().compress_documents(documents, query, callbacks)[::-1]


class OwnSequence(RunnableSequence):
    def invoke(self, input, config=None, **kwargs):  # noqa: A002
        found = super().invoke(input, config, **kwargs)
        return found["context"][::-1]


class OwnBinding(RunnableBinding):
    def invoke(self, input, config=None, **kwargs):  # noqa: A002
        return super().invoke(input, config, **kwargs)[::-1]


class OwnQA(RetrievalQA):
    def _get_docs(self, question, *, run_manager):
        return super()._get_docs(question, run_manager=run_manager)[::-1]


class OwnChain(RetrievalQA):
    def invoke(self, input, config=None, **kwargs):  # noqa: A002
        answer = super().invoke(input, config, **kwargs)
        return {**answer, "source_documents": answer["source_documents"][::-1]}


def set_on_object(system, name, function):
    object.__setattr__(system, name, function)
    return system


def reversed_on_object(system):
    """Put an `invoke` onto an object, as LangChain's models do not allow by assignment."""
    return set_on_object(system, "invoke", lambda *args, **kw: type(system).invoke(system, *args, **kw)[::-1])


def stuffing():
    return create_stuff_documents_chain(FakeListLLM(responses=["an answer"]), PromptTemplate.from_template("{context}"))


def chain_of(cls):
    return cls.from_llm(FakeListLLM(responses=["an answer"]), retriever=Lines(), return_source_documents=True)


def in_memory(cls=VectorStoreRetriever):
    store = InMemoryVectorStore.from_texts(LINES, DeterministicFakeEmbedding(size=8))
    return cls(vectorstore=store, search_kwargs={"k": 4})


class OwnVectorSearch(VectorStoreRetriever):
    def _get_relevant_documents(self, query, *, run_manager, **kwargs):
        return super()._get_relevant_documents(query, run_manager=run_manager, **kwargs)[::-1]


def store_patched():
    retriever = in_memory()
    plain = retriever.vectorstore.similarity_search
    retriever.vectorstore.similarity_search = lambda *args, **kwargs: plain(*args, **kwargs)[::-1]
    return retriever


def sequence_of(cls):
    return cls(first=RunnablePassthrough(), middle=[RunnableParallel(context=Lines())], last=RunnableLambda(dict))


LANGCHAIN = {
    "a subclass with its own invoke": lambda: compression(OwnInvoke),
    "a subclass with its own search": lambda: compression(OwnSearch),
    "a mixin before the class": lambda: compression(Mixed),
    "a subclass that changes nothing": lambda: compression(Untouched),
    "a subclass with its own attributes": lambda: compression(OwnAttributes),
    "invoke set on the object": lambda: reversed_on_object(compression()),
    "search set on the object": lambda: set_on_object(
        compression(), "_get_relevant_documents", lambda query, *, run_manager: [Document(LINES[4])]
    ),
    "an overridden one inside another": lambda: compression(base=compression(OwnInvoke)),
    "an overridden one with_config": lambda: compression(OwnInvoke).with_config(run_name="mine"),
    "a binding with its own invoke": lambda: OwnBinding(bound=compression(), kwargs={}, config={}),
    "a pipeline of compressors with its own code": lambda: compression(
        compressor=OwnPipeline(transformers=[FirstThree(), FirstThree()])
    ),
    "an ensemble with its own invoke": lambda: LastFirst(retrievers=[Lines(), Lines()], weights=[0.5, 0.5]),
    "an ensemble of an overridden one": lambda: EnsembleRetriever(retrievers=[compression(OwnInvoke), Lines()]),
    "a vector store's retriever with its own search": lambda: in_memory(OwnVectorSearch),
    "a vector store's retriever with invoke set on it": lambda: reversed_on_object(in_memory()),
    "a vector store with its search set on it": store_patched,
    "a sequence with its own invoke": lambda: sequence_of(OwnSequence),
}


@pytest.mark.parametrize("name", LANGCHAIN)
def test_a_langchain_object_is_measured_as_it_answers(name):
    direct = [document.page_content for document in LANGCHAIN[name]().invoke(QUERY)]
    assert measured(LANGCHAIN[name](), concurrency=3)[0] == direct


def test_one_with_its_own_async_method_is_asked_by_it():
    direct = [document.page_content for document in asyncio.run(compression(OwnAsyncInvoke).ainvoke(QUERY))]
    assert measured(compression(OwnAsyncInvoke))[0] == direct


def test_a_function_put_into_the_frameworks_class_is_not_bypassed(monkeypatch):
    plain = ContextualCompressionRetriever.invoke

    @functools.wraps(plain)
    def patched(self, *args, **kwargs):
        return plain(self, *args, **kwargs)[::-1]

    assert len(measured(compression())[1].run.stages) == 2
    monkeypatch.setattr(ContextualCompressionRetriever, "invoke", patched)
    texts, evaluation = measured(compression())
    assert texts == LINES[2::-1]
    assert len(evaluation.run.stages) == 1


@pytest.mark.parametrize("cls", [RetrievalQA, OwnQA, OwnChain])
def test_a_classic_chain_is_measured_by_the_sources_of_its_answer(cls):
    direct = [document.page_content for document in chain_of(cls).invoke({"query": QUERY})["source_documents"]]
    assert measured(chain_of(cls))[0] == direct


def test_what_stays_whole_is_said_and_what_is_not_overridden_is_opened():
    for build, stages in (
        (lambda: compression(Untouched), 2),
        (lambda: compression(OwnInvoke), 1),
        (lambda: compression(OwnSearch), 1),
        (lambda: reversed_on_object(compression()), 1),
        (lambda: compression(compressor=OwnPipeline(transformers=[FirstThree()])), 2),
    ):
        _, evaluation = measured(build())
        said = [note for note in evaluation.notes if "as a whole" in note]
        assert len(evaluation.run.stages) == stages
        assert bool(said) == (build().__class__ is not Untouched)
    assert said == ["rerank: OwnPipeline has its own compress_documents, so it is asked as a whole"]


def test_the_note_says_why_there_is_no_lift():
    (said,) = [note for note in measured(compression(OwnInvoke))[1].notes if "as a whole" in note]
    assert said == (
        "retrieve: OwnInvoke has its own invoke, so it is asked as a whole; what it reranks with is no stage of its "
        "own, so there is no lift"
    )


def test_a_depth_below_a_function_that_was_set_on_the_object_is_fixed():
    (stage,) = measured(reversed_on_object(in_memory()), depth="deep", candidates=5)[1].run.stages
    assert stage.depth_fixed == ("VectorStoreRetriever (its own invoke)",)


def test_a_compressor_that_is_async_only_is_asked():
    class Remote(BaseDocumentCompressor):
        def compress_documents(self, documents, query, callbacks=None):
            raise NotImplementedError

        async def acompress_documents(self, documents, query, callbacks=None):
            return list(documents)[::-1]

    assert measured(compression(compressor=Remote()))[0] == LINES[::-1]


# LlamaIndex.


class Nodes(NodeRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(text=text, id_=text), score=1.0) for text in LINES]


class Nothing(NodeRetriever):
    def _retrieve(self, query_bundle):
        return []


class OwnAnswer(RetrieverQueryEngine):
    def _query(self, query_bundle):
        response = super()._query(query_bundle)
        response.source_nodes = response.source_nodes[::-1]
        return response


class OwnQuery(RetrieverQueryEngine):
    def query(self, str_or_query_bundle):
        response = super().query(str_or_query_bundle)
        response.source_nodes = response.source_nodes[1:]
        return response


class OwnRetrieve(RetrieverQueryEngine):
    def retrieve(self, query_bundle):
        return super().retrieve(query_bundle)[::-1]


class OwnPostprocessing(RetrieverQueryEngine):
    def _apply_node_postprocessors(self, nodes, query_bundle):
        return super()._apply_node_postprocessors(nodes, query_bundle)[:2]


class OwnAsyncAnswer(RetrieverQueryEngine):
    async def _aquery(self, query_bundle):
        response = await super()._aquery(query_bundle)
        response.source_nodes = response.source_nodes[::-1]
        return response


class OwnParts(RetrieverQueryEngine):
    @property
    def _node_postprocessors(self):
        return [Longest()]

    @_node_postprocessors.setter
    def _node_postprocessors(self, given):
        pass


class UntouchedEngine(RetrieverQueryEngine):
    pass


class OwnCitations(CitationQueryEngine):
    def retrieve(self, query_bundle):
        return super().retrieve(query_bundle)[::-1]


class Mine(BaseQueryEngine):
    """An engine of one's own, whose answer rests on other nodes than it would retrieve."""

    def __init__(self):
        super().__init__(callback_manager=None)

    def retrieve(self, query_bundle):
        return Nodes().retrieve(query_bundle)

    def _query(self, query_bundle):
        return Response("an answer", source_nodes=self.retrieve(query_bundle)[::-1])

    async def _aquery(self, query_bundle):
        return self._query(query_bundle)

    def _get_prompt_modules(self):
        return {}


class Longest(BaseNodePostprocessor):
    def _postprocess_nodes(self, nodes, query_bundle=None):
        return nodes[::-1]


class OwnEntry(LongContextReorder):
    def postprocess_nodes(self, nodes, query_bundle=None, query_str=None):
        return super().postprocess_nodes(nodes, query_bundle, query_str)[:3]


class Fallback(BaseNodePostprocessor):
    """Adds a node where none was found."""

    def _postprocess_nodes(self, nodes, query_bundle=None):
        return nodes or [NodeWithScore(node=TextNode(text=LINES[5]), score=0.0)]


class Duck:
    """What an engine takes for a postprocessor, because it has its method."""

    callback_manager = None

    def postprocess_nodes(self, nodes, query_bundle=None, query_str=None):
        return nodes[:2]


class OwnChat(ContextChatEngine):
    def _get_nodes(self, message):
        return super()._get_nodes(message)[::-1]


class OwnCondensing(CondenseQuestionChatEngine):
    def chat(self, message, chat_history=None):
        answer = super().chat(message, chat_history)
        answer.source_nodes = answer.source_nodes[::-1]
        return answer


class OwnVectorRetriever(VectorIndexRetriever):
    def _retrieve(self, query_bundle):
        return super()._retrieve(query_bundle)[::-1]


def engine_of(cls=RetrieverQueryEngine, retriever=None, postprocessors=None):
    return cls.from_args(retriever or Nodes(), node_postprocessors=postprocessors or [Longest()])


def chat_engine():
    return OwnChat.from_defaults(Nodes(), memory=ChatMemoryBuffer.from_defaults())


def patched(system, name, function):
    setattr(system, name, functools.partial(function, system))
    return system


def reversed_sources(engine, query):
    response = type(engine).query(engine, query)
    response.source_nodes = response.source_nodes[::-1]
    return response


def vector_retriever():
    index = VectorStoreIndex([TextNode(text=text, id_=text) for text in LINES])
    return OwnVectorRetriever(index, similarity_top_k=4)


def by_query(engine):
    return engine.query(QUERY).source_nodes


def by_retrieve(system):
    return system.retrieve(QueryBundle(QUERY))


def by_chat(engine):
    return engine.chat(QUERY).source_nodes


LLAMA_INDEX = {
    "its own _query": (lambda: engine_of(OwnAnswer), by_query),
    "its own query": (lambda: engine_of(OwnQuery), by_query),
    "its own retrieve": (lambda: engine_of(OwnRetrieve), by_query),
    "its own postprocessing": (lambda: engine_of(OwnPostprocessing), by_query),
    "its own parts": (lambda: engine_of(OwnParts), by_query),
    "its own _aquery": (
        lambda: engine_of(OwnAsyncAnswer),
        lambda engine: asyncio.run(engine.aquery(QUERY)).source_nodes,
    ),
    "nothing of its own": (lambda: engine_of(UntouchedEngine), by_query),
    "retrieve set on the engine": (
        lambda: patched(engine_of(), "retrieve", lambda engine, bundle: type(engine).retrieve(engine, bundle)[::-1]),
        by_query,
    ),
    "query set on the engine": (lambda: patched(engine_of(), "query", reversed_sources), by_query),
    "citations with its own retrieve": (
        lambda: OwnCitations(Nodes(), node_postprocessors=[Longest()]),
        by_retrieve,  # whole nodes: an answer numbers them
    ),
    "an engine of one's own": (Mine, by_query),
    "an overridden engine inside a transforming one": (
        lambda: TransformQueryEngine(engine_of(OwnAnswer), KEEP()),
        by_query,
    ),
    "a postprocessor with its own entry": (lambda: engine_of(postprocessors=[OwnEntry()]), by_query),
    "a postprocessor with a method set on it": (
        lambda: engine_of(
            postprocessors=[set_on_object(Longest(), "postprocess_nodes", lambda nodes, **_: nodes[2:4])]
        ),
        by_query,
    ),
    "a postprocessor of no class of LlamaIndex's": (lambda: engine_of(postprocessors=[Duck()]), by_query),
    "a postprocessor that answers where nothing was found": (
        lambda: engine_of(retriever=Nothing(), postprocessors=[Fallback()]),
        by_retrieve,
    ),
    "a chat engine with its own nodes": (chat_engine, by_chat),
    "a chat engine with its own chat": (
        lambda: OwnCondensing.from_defaults(engine_of(), memory=ChatMemoryBuffer.from_defaults()),
        by_chat,
    ),
    "a retriever with retrieve set on it": (
        lambda: patched(Nodes(), "retrieve", lambda retriever, query: type(retriever).retrieve(retriever, query)[3:]),
        by_retrieve,
    ),
    "a vector retriever with its own _retrieve": (vector_retriever, by_retrieve),
    "a fusion of overridden retrievers": (
        lambda: QueryFusionRetriever([vector_retriever(), Nodes()], num_queries=1, use_async=False),
        by_retrieve,
    ),
}


def KEEP():  # noqa: N802 — made when it is needed: LlamaIndex is set up by a fixture
    from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform

    return IdentityQueryTransform()


@pytest.mark.parametrize("name", LLAMA_INDEX)
def test_a_llama_index_object_is_measured_as_it_answers(name):
    build, ask = LLAMA_INDEX[name]
    direct = [item.node.get_content() for item in ask(build())]
    assert measured(build(), concurrency=3)[0] == direct


def test_an_engine_whose_framework_class_was_patched_is_not_opened(monkeypatch):
    plain = RetrieverQueryEngine.retrieve
    monkeypatch.setattr(RetrieverQueryEngine, "retrieve", lambda self, bundle: plain(self, bundle)[:1])
    texts, evaluation = measured(engine_of())
    assert texts == LINES[5:]
    assert len(evaluation.run.stages) == 1


def test_a_chat_engine_that_is_asked_whole_keeps_its_memory():
    engine = chat_engine()
    measured(engine)
    assert engine.chat_history == []
