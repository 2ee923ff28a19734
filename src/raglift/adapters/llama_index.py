"""LlamaIndex retrievers, query engines, indexes and node postprocessors as raglift stages.

Nothing here asks an LLM to write an answer where the retrieved nodes can be had without one, and nothing here
changes the object it is given: depth is set on copies (see `llama_index_depth`).
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.asking import FrameworkReranker, FrameworkRetriever
from raglift.adapters.base import Adapter, finite, is_from
from raglift.adapters.filters import with_llama_index_filters
from raglift.adapters.llama_index_depth import deepen, describe, without_filters
from raglift.adapters.llama_index_nodes import Candidates, chunk_of, scored_nodes
from raglift.adapters.llama_index_workflows import is_workflow, workflow_stages
from raglift.adapters.overriding import are_async, asked_whole, base_from, base_named, definer, overridden
from raglift.adapters.results import wrapper
from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.errors import UnsupportedSystem
from raglift.utilities.event_loops import result_of

if TYPE_CHECKING:
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter


ACCEPTED = (
    "a retriever (BaseRetriever), a query engine (BaseQueryEngine), an index (BaseIndex), a chat engine "
    "with a context (ContextChatEngine, CondensePlusContextChatEngine, CondenseQuestionChatEngine), an agent "
    "(FunctionAgent, ReActAgent, AgentWorkflow) or a workflow (Workflow)"
)


def retriever_stages(obj: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
    """Open a LlamaIndex system into a retrieve stage and one rerank stage per node postprocessor.

    A query engine that is more than a retriever followed by postprocessors stays one stage: it is asked to
    `retrieve`, or, where it cannot, to answer, and then its source nodes are the ranking. A chat engine is
    evaluated as it answers the first message of a conversation. An agent or a workflow is one stage, too: see
    `llama_index_workflows`.

    Args:
        obj: a retriever, query engine, index, chat engine with a context, agent or workflow.
        as_deployed: whether every depth and `top_n` that the user set is kept; an index has none.
        doc_key: the metadata key that holds a node's document id; see `chunk_of`.

    Raises:
        UnsupportedSystem: the object is something else, or a workflow of which cannot be told how it is asked.
    """
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.indices.base import BaseIndex

    if is_workflow(obj):
        return list(workflow_stages(obj, as_deployed=as_deployed, doc_key=doc_key))
    if isinstance(obj, BaseIndex):
        return retriever_stages(_retriever_of(obj), doc_key=doc_key)  # an index has no depth of its own
    if isinstance(obj, BaseRetriever):
        return [_retrieve_stage(obj, _Retriever, as_deployed=as_deployed, doc_key=doc_key)]
    known = _composite_of(obj)
    changed = () if known is None else overridden(obj, known, _NAMES[known.__name__])
    if known is not None and not changed and _has_known_parts(obj):
        if "_query_engine" in vars(obj):
            return retriever_stages(vars(obj)["_query_engine"], as_deployed=as_deployed, doc_key=doc_key)
        retriever, postprocessors = vars(obj)["_retriever"], vars(obj)["_node_postprocessors"]
        stages = retriever_stages(retriever, as_deployed=as_deployed, doc_key=doc_key)
        for postprocessor in postprocessors:
            stages += reranker_stages(postprocessor, as_deployed=as_deployed, doc_key=doc_key, asks_for_none=True)
        return stages
    asks = _QueryEngine if isinstance(obj, BaseQueryEngine) else _ChatEngine
    if isinstance(obj, BaseQueryEngine) or known is not None:
        stage = _retrieve_stage(obj, asks, as_deployed=as_deployed, doc_key=doc_key)
        reranks = bool(vars(obj).get("_node_postprocessors"))
        return [replace(stage, unopened=asked_whole(obj, changed, reranks=reranks) if changed else "")]
    raise UnsupportedSystem(
        f"{_found(obj)} is not something LlamaIndex retrieves with; expected {ACCEPTED}{_instead(obj)}"
    )


def reranker_stages(
    obj: Any, *, as_deployed: bool = False, doc_key: str | None = None, asks_for_none: bool = False
) -> list[RerankStage]:
    """Adapt a LlamaIndex node postprocessor.

    Args:
        obj: any `BaseNodePostprocessor`.
        as_deployed: whether it keeps the `top_n` that the user set, instead of ranking all candidates.
        doc_key: the metadata key that holds the document id of a node that the postprocessor adds.
        asks_for_none: whether it is a part of an engine, which postprocesses an empty list as well.

    Raises:
        UnsupportedSystem: the object is something else.
    """
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    if not isinstance(obj, BaseNodePostprocessor):
        raise UnsupportedSystem(
            f"{_found(obj)} is not something LlamaIndex reranks with; expected a node postprocessor "
            "(BaseNodePostprocessor), as SentenceTransformerRerank is"
        )
    reranker = _Reranker(obj, as_deployed=as_deployed, doc_key=doc_key, asks_for_none=asks_for_none)
    return [RerankStage(reranker, describe(obj))]


class _Retriever(FrameworkRetriever):
    """Asks a LlamaIndex retriever."""

    def __init__(self, system: Any, **settings: Any) -> None:
        super().__init__(system, **settings)
        self.takes_filters = base_named(system, "VectorIndexRetriever", "llama_index.core") is not None

    def copy_at(self, count: int | None) -> Any:
        return deepen(self.system, count)[0]

    def filtered_copy(self, k: int, given: Filter) -> Any:
        return with_llama_index_filters(self.copy(k), given)

    def ask(self, system: Any, query: str) -> list[tuple[Chunk, float | None]]:
        return scored_nodes(self.nodes(system, query), "the retriever", self.doc_key)

    def nodes(self, system: Any, query: str) -> Any:
        return system.retrieve(query)

    async def ask_async(self, system: Any, query: str) -> list[tuple[Chunk, float | None]]:
        return scored_nodes(await system.aretrieve(query), "the retriever", self.doc_key)


class _QueryEngine(_Retriever):
    """Asks a LlamaIndex query engine for its sources."""

    def nodes(self, system: Any, query: str) -> Any:
        from llama_index.core.schema import QueryBundle

        return _sources(system, QueryBundle(query))


class _ChatEngine(_Retriever):
    """Asks a LlamaIndex chat engine for the sources of its answer to the first message of a conversation."""

    def nodes(self, system: Any, query: str) -> Any:
        from llama_index.core.memory import ChatMemoryBuffer

        twin = copy.copy(system)
        twin._memory = ChatMemoryBuffer.from_defaults()  # noqa: SLF001 — LlamaIndex has no other way
        return twin.chat(query).source_nodes


class _Reranker(FrameworkReranker):
    """Runs a LlamaIndex node postprocessor."""

    candidates = Candidates

    def copy_at(self, count: int | None) -> Any:
        return deepen(self.system, count)[0]

    def ask(self, postprocessor: Any, query: str, nodes: list[Any]) -> Any:
        from llama_index.core.schema import QueryBundle

        return postprocessor.postprocess_nodes(nodes, query_bundle=QueryBundle(query))

    async def ask_async(self, postprocessor: Any, query: str, nodes: list[Any]) -> Any:
        from llama_index.core.schema import QueryBundle

        return await postprocessor.apostprocess_nodes(nodes, query_bundle=QueryBundle(query))


def _retrieve_stage(obj: Any, adapter: type[_Retriever], *, as_deployed: bool, **settings: Any) -> RetrieveStage:
    fixed = () if as_deployed else deepen(obj, 1)[1]
    retriever = adapter(obj, as_deployed=as_deployed, **settings)
    return RetrieveStage(retriever, describe(obj), depth_fixed=fixed, has_own_depth=as_deployed)


_ANSWER = ("query", "_query", "synthesize")
_ANSWER_ASYNC = ("aquery", "_aquery", "asynthesize")
_OF_ENGINES = (
    *(*_ANSWER, *_ANSWER_ASYNC, "retrieve", "aretrieve"),
    *("_apply_node_postprocessors", "_async_apply_node_postprocessors", "_retriever", "_node_postprocessors"),
)
_CHAT = ("chat", "achat", "stream_chat", "astream_chat")
_OF_CHATS = (*_CHAT, "_get_nodes", "_aget_nodes", "_retriever", "_node_postprocessors")
_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("RetrieverQueryEngine", "CitationQueryEngine", "SimpleMultiModalQueryEngine"), _OF_ENGINES),
    **dict.fromkeys(("ContextChatEngine", "MultiModalContextChatEngine"), _OF_CHATS),
    **dict.fromkeys(
        ("CondensePlusContextChatEngine", "MultiModalCondensePlusContextChatEngine"),
        (*_OF_CHATS, "_run_c3", "_arun_c3", "_condense_question", "_acondense_question"),
    ),
    "CondenseQuestionChatEngine": (*_CHAT, "_condense_question", "_acondense_question", "_query_engine"),
}
"""The classes that retrieve and then postprocess: what they are asked by, and where they hold their parts."""


def _composite_of(obj: Any) -> type[Any] | None:
    """Return the class that is known to retrieve and then postprocess of which a system is an instance."""
    return next((found for name in _NAMES if (found := base_named(obj, name, "llama_index.core"))), None)


def _has_known_parts(obj: Any) -> bool:
    """Whether the parts of a composite are where its class keeps them, and are LlamaIndex's own kinds."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    held = vars(obj)
    if "_query_engine" in held:
        return True
    return isinstance(held.get("_retriever"), BaseRetriever) and all(
        isinstance(one, BaseNodePostprocessor) for one in held.get("_node_postprocessors", [None])
    )


def _sources(engine: Any, query: Any) -> list[Any]:
    """Return the nodes an engine would answer from, letting it write an answer only where it must.

    A router's choice and a query transform are steps of retrieval, so they are made here, as the classes make
    them; the engine below is then asked in the same way.
    """
    from llama_index.core.query_engine import (
        RetrieverRouterQueryEngine,
        RouterQueryEngine,
        ToolRetrieverRouterQueryEngine,
        TransformQueryEngine,
    )

    known = base_from(engine, "llama_index")
    if overridden(engine, known, _ANSWER):  # its answer may rest on others than it retrieves
        return list(engine.query(query).source_nodes)
    if are_async(engine, overridden(engine, known, _OF_ENGINES)):  # whoever asks it, asks it so
        answers = overridden(engine, known, _ANSWER_ASYNC)
        return list(result_of(engine.aquery(query)).source_nodes if answers else result_of(engine.aretrieve(query)))
    held = vars(engine)
    is_known = not overridden(engine, known, ("retrieve",))
    if is_known and definer(known, "_query") is RouterQueryEngine:
        chosen = held["_selector"].select(held["_metadatas"], query).inds
        return [node for place in chosen for node in _sources(held["_query_engines"][place], query)]
    if is_known and definer(known, "_query") is ToolRetrieverRouterQueryEngine:
        tools = held["_retriever"].retrieve(query)
        return [node for tool in tools for node in _sources(tool.query_engine, query)]
    if is_known and definer(known, "_query") is RetrieverRouterQueryEngine:
        found = held["_retriever"].retrieve(query)
        if len(found) == 1:  # of any other number it says itself what is wrong
            return _sources(held["_node_to_query_engine_fn"](found[0].node), query)
    if is_known and definer(known, "retrieve") is TransformQueryEngine:
        transformed = held["_query_transform"].run(query, metadata=held["_transform_metadata"])
        return _sources(held["_query_engine"], transformed)
    try:
        return list(engine.retrieve(query))
    except NotImplementedError:
        return list(engine.query(query).source_nodes)


def _retriever_of(index: Any) -> Any:
    try:
        return index.as_retriever()
    except NotImplementedError:
        raise UnsupportedSystem(
            f"{_found(index)} has no retriever; pass a query engine over it, or another index"
        ) from None


def _found(obj: Any) -> str:
    if isinstance(obj, type):
        return f"the class {obj.__module__}.{obj.__qualname__} (not an instance of it)"
    return f"an object of {type(obj).__module__}.{type(obj).__qualname__}"


def _instead(obj: Any) -> str:
    """Return what to do with a tool, whose retriever or engine is what an agent asks; empty for anything else."""
    from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool

    if isinstance(obj, (FunctionTool, RetrieverTool)):
        return wrapper("tool.call(query).raw_output")
    return wrapper("tool.call(query).raw_output.source_nodes") if isinstance(obj, QueryEngineTool) else ""


def _chunk_and_score(result: Any, doc_key: str | None) -> tuple[Chunk, float | None] | None:
    """Return a node, or a node with a score, as a chunk and a score."""
    if not hasattr(getattr(result, "node", result), "node_id"):
        return None
    return chunk_of(result, doc_key), finite(getattr(result, "score", None))


ADAPTER = Adapter(
    name="LlamaIndex",
    owns=lambda obj: is_from(obj, "llama_index.core") or is_workflow(obj),
    retriever_stages=retriever_stages,
    reranker_stages=reranker_stages,
    chunk_and_score=_chunk_and_score,
    without_filters=without_filters,
    packages=("llama-index-core",),
    systems="a LlamaIndex retriever, query engine, index, agent or workflow",
    rerankers="a LlamaIndex node postprocessor",
    results="a LlamaIndex node",
)
