"""LangChain retrievers, vector stores, compressors and transformers as raglift stages.

Composite systems are opened: a `ContextualCompressionRetriever` becomes the stages of its base retriever and
those of its compressor, a `DocumentCompressorPipeline` one stage for each of its members. A sequence such as
`retriever | function` stays one stage, whose retriever is deepened. The user's objects are never changed: depth
is set on copies. LangChain is imported only when one of its objects is at hand.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import Adapter, finite, is_from
from raglift.adapters.langchain_depth import children, is_wrapper, resolved, with_depth, with_own_settings, with_room
from raglift.adapters.langchain_documents import Candidates, chunk_of, documents_in, noted_score
from raglift.adapters.stages import RerankStage, RetrieveStage
from raglift.errors import UnsupportedSystem
from raglift.records.rankings import Ranking

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from raglift.adapters.stages import Stage
    from raglift.records.documents import Chunk


_SHOWN = ("vectorstore", "model", "embeddings")
"""Fields that distinguish two objects of one class; shown as a model name or a class name, never as a repr."""


def is_langchain(obj: Any) -> bool:
    """Whether an object is built on langchain-core, determined from its classes' modules without importing it."""
    return is_from(obj, "langchain_core")


class LangChainAdapter(Adapter):
    """Adapts LangChain's objects."""

    name = "LangChain"
    packages = ("langchain-core",)
    systems = "a LangChain retriever, vector store or Runnable"
    rerankers = "a LangChain document compressor"
    results = "a LangChain Document"

    def owns(self, obj: Any) -> bool:
        """Whether an object is built on langchain-core."""
        return is_langchain(obj)

    def retriever_stages(self, system: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
        """Return the stages of what turns a question into documents; see `retriever_stages`."""
        return list(retriever_stages(system, as_deployed=as_deployed, doc_key=doc_key))

    def reranker_stages(self, reranker: Any, *, as_deployed: bool = False) -> list[RerankStage]:
        """Return the stages of a compressor or transformer; see `reranker_stages`."""
        return reranker_stages(reranker, as_deployed=as_deployed)

    def chunk_and_score(self, result: Any, doc_key: str | None = None) -> tuple[Chunk, float | None] | None:
        """Return a document as a chunk, with the score in its metadata."""
        if not isinstance(getattr(result, "page_content", None), str):
            return None
        return chunk_of(result, doc_key), finite(result.metadata.get("score"))


ADAPTER = LangChainAdapter()


def retriever_stages(
    obj: Any, *, as_deployed: bool = False, doc_key: str | None = None
) -> list[RetrieveStage | RerankStage]:
    """Adapt anything of LangChain's that turns a question into documents.

    Args:
        obj: a `BaseRetriever`, a `VectorStore`, or any `Runnable` from a string to documents.
        as_deployed: keep every depth and `top_n` that it was given, instead of raising them. A vector store has none.
        doc_key: the metadata key that names the source document; None takes the first that is set of
            `doc_id`, `document_id`, `source` and `file_name`.

    Returns:
        One retrieve stage, then a rerank stage for each compressor or transformer that was found.

    Raises:
        UnsupportedSystem: it is none of these.
    """
    from langchain_core.runnables import Runnable
    from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

    if isinstance(obj, VectorStore):
        store = VectorStoreRetriever(vectorstore=obj)
        return [RetrieveStage(_retriever(store, as_deployed=False, doc_key=doc_key), type(obj).__name__)]
    if not isinstance(obj, Runnable):
        raise UnsupportedSystem(
            f"retriever: found {type(obj).__name__}; expected a LangChain retriever, vector store, "
            "or Runnable from a question to documents; a compressor or transformer goes in as a reranker"
        )
    runnable: Any = resolved(obj)
    if opened := _opened(runnable):
        base, compressor = opened
        return [
            *retriever_stages(base, as_deployed=as_deployed, doc_key=doc_key),
            *_rerank_stages(compressor, as_deployed, doc_key),
        ]
    retriever = _retriever(runnable, as_deployed=as_deployed, doc_key=doc_key)
    if as_deployed:
        return [RetrieveStage(retriever, _describe(runnable), has_own_depth=True)]
    return [RetrieveStage(retriever, _describe(runnable), with_depth(runnable, 1)[1])]


def reranker_stages(obj: Any, *, as_deployed: bool = False) -> list[RerankStage]:
    """Adapt a LangChain compressor or transformer; a `DocumentCompressorPipeline` gives a stage per member.

    Args:
        obj: a `BaseDocumentCompressor` or `BaseDocumentTransformer`.
        as_deployed: keep the `top_n` it was given, instead of raising it to the number of candidates.

    Raises:
        UnsupportedSystem: it is neither.
    """
    return _rerank_stages(obj, as_deployed, None)


def _rerank_stages(obj: Any, as_deployed: bool, doc_key: str | None) -> list[RerankStage]:
    from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer

    if not isinstance(obj, BaseDocumentCompressor | BaseDocumentTransformer):
        raise UnsupportedSystem(
            f"reranker: found {type(obj).__name__}; expected a LangChain document compressor or transformer"
        )
    if _runs(obj, "compress_documents", "DocumentCompressorPipeline"):
        members: list[Any] = obj.transformers  # type: ignore[union-attr]
        return [stage for member in members for stage in _rerank_stages(member, as_deployed, doc_key)]
    adapter = _AsyncReranker if _answers_async(obj) else _Reranker
    return [RerankStage(adapter(obj, as_deployed, doc_key), _describe(obj))]


def _opened(runnable: Any) -> tuple[Any, Any] | None:
    """Return the base retriever and the compressor of a contextual compression retriever.

    What was wrapped around it (`with_retry`, `with_config`, `bind`) is put around its base retriever.
    """
    from langchain_core.runnables.base import RunnableBindingBase

    if isinstance(runnable, RunnableBindingBase):
        if opened := _opened(resolved(runnable.bound)):
            return runnable.model_copy(update={"bound": opened[0]}), opened[1]
        return None
    if _runs(runnable, "_get_relevant_documents", "ContextualCompressionRetriever"):
        return runnable.base_retriever, runnable.base_compressor
    return None


def _runs(obj: Any, method: str, owner: str) -> bool:
    """Whether an object runs a method as LangChain's class `owner` wrote it, not as a subclass changed it."""
    function = getattr(type(obj), method, None)
    if function is None or function.__qualname__ != f"{owner}.{method}":
        return False
    return str(function.__module__).startswith("langchain")


def _retriever(runnable: Any, *, as_deployed: bool, doc_key: str | None) -> Any:
    """Choose the adapter whose methods are the ones that the system can be asked by."""
    if not _answers_sync(runnable):
        adapter: type[_RetrieverAdapter] = _AsyncOnlyRetriever
    else:
        adapter = _AsyncRetriever if _answers_async(runnable) else _Retriever
    return adapter(runnable, as_deployed, doc_key)


class _RetrieverAdapter:
    """A LangChain Runnable from a question to documents, with a copy of it for each depth asked.

    As deployed there is one copy, with the settings that it was given, and all that it returns is kept.
    """

    def __init__(self, runnable: Any, as_deployed: bool, doc_key: str | None) -> None:
        self._runnable = runnable
        self._as_deployed = as_deployed
        self._doc_key = doc_key
        self._by_depth: dict[int | None, Any] = {}

    def _at_depth(self, k: int) -> Any:
        depth = None if self._as_deployed else k
        if depth not in self._by_depth:
            copied = with_own_settings(self._runnable) if depth is None else with_depth(self._runnable, depth)[0]
            return self._by_depth.setdefault(depth, copied)
        return self._by_depth[depth]

    def _ranking(self, scored: list[tuple[Document, float | None]], k: int) -> Ranking:
        kept = scored if self._as_deployed else scored[:k]
        return Ranking.of((chunk_of(document, self._doc_key), score) for document, score in kept)

    def _scored(self, result: Any) -> list[tuple[Document, float | None]]:
        found = documents_in(result, type(self._runnable).__name__)
        return [(document, noted_score(document)) for document in found]


class _Retriever(_RetrieverAdapter):
    def retrieve_one(self, query: str, k: int) -> Ranking:
        """Return a ranking of at most `k` hits."""
        runnable = self._at_depth(k)
        scored = _vector_search(runnable, query)
        return self._ranking(self._scored(runnable.invoke(query)) if scored is None else scored, k)


class _AsyncOnlyRetriever(_RetrieverAdapter):
    async def aretrieve_one(self, query: str, k: int) -> Ranking:
        """Return a ranking of at most `k` hits, without blocking."""
        return self._ranking(self._scored(await self._at_depth(k).ainvoke(query)), k)


class _AsyncRetriever(_Retriever, _AsyncOnlyRetriever):
    async def aretrieve_one(self, query: str, k: int) -> Ranking:
        """Return a ranking of at most `k` hits; in a thread where the async method is only a stub."""
        try:
            return await super().aretrieve_one(query, k)
        except NotImplementedError:
            return await asyncio.to_thread(self.retrieve_one, query, k)


def _vector_search(retriever: Any, query: str) -> list[tuple[Document, float | None]] | None:
    """Ask the vector store of a plain `VectorStoreRetriever` for scores with the documents.

    Returns:
        What the retriever itself would return, in its order, with scores; None if that is not to be had.
    """
    from langchain_core.vectorstores import VectorStoreRetriever

    if type(retriever) is not VectorStoreRetriever:
        return None
    store, arguments = retriever.vectorstore, retriever.search_kwargs
    if retriever.search_type == "similarity_score_threshold":
        search = store.similarity_search_with_relevance_scores
    elif retriever.search_type == "similarity" and _scores_its_own_search(type(store)):
        search = store.similarity_search_with_score
    else:
        return None
    try:
        return [(document, finite(score)) for document, score in search(query, **arguments)]
    except (NotImplementedError, TypeError):  # no scores in this store, or not with these arguments
        return None


def _scores_its_own_search(store: type) -> bool:
    """Whether the scored search is as new as the plain one: a subclass may have changed only that one."""
    names = ("similarity_search_with_score", "similarity_search")
    return next(name for cls in store.__mro__ for name in names if name in vars(cls)) == names[0]


class _Reranker:
    """A LangChain compressor or transformer, with a copy of it for each number of candidates."""

    def __init__(self, part: Any, as_deployed: bool, doc_key: str | None) -> None:
        self._part = part
        self._as_deployed = as_deployed
        self._doc_key = doc_key
        self._by_room: dict[int, Any] = {}

    def rerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking."""
        if not ranking:
            return Ranking()
        part = self._with_room(len(ranking))
        candidates = Candidates(ranking, self._doc_key)
        if hasattr(part, "compress_documents"):
            outputs = part.compress_documents(candidates.documents, query)
        else:
            outputs = part.transform_documents(candidates.documents)
        return candidates.ranking(documents_in(outputs, type(part).__name__))

    def _with_room(self, candidates: int) -> Any:
        if self._as_deployed:
            return self._part
        if candidates not in self._by_room:
            return self._by_room.setdefault(candidates, with_room(self._part, candidates))
        return self._by_room[candidates]


class _AsyncReranker(_Reranker):
    async def arerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking, without blocking; in a thread where the async method is only a stub."""
        if not ranking:
            return Ranking()
        part = self._with_room(len(ranking))
        candidates = Candidates(ranking, self._doc_key)
        try:
            if hasattr(part, "acompress_documents"):
                outputs = await part.acompress_documents(candidates.documents, query)
            else:
                outputs = await part.atransform_documents(candidates.documents)
        except NotImplementedError:
            return await asyncio.to_thread(self.rerank_one, query, ranking)
        return candidates.ranking(documents_in(outputs, type(part).__name__))


def _describe(part: Any) -> str:
    """Name a retriever or compressor for people: `EnsembleRetriever(BM25Retriever + …)`.

    Only class names, model names, function names and the kind of search are shown, so no secret can be.
    """
    from langchain_core.runnables import RunnableLambda
    from langchain_core.runnables.base import RunnableBindingBase

    part = resolved(part)
    if isinstance(part, RunnableBindingBase):
        return _describe(part.bound)
    details = [" + ".join(_describe(child) for child in children(part))]
    details += [_label(value) for field in _SHOWN if (value := getattr(part, field, None)) is not None]
    search_type = getattr(part, "search_type", "similarity")
    if search_type != "similarity":
        details.append(str(getattr(search_type, "value", search_type)))
    if isinstance(part, RunnableLambda):  # named for its function, unless that is a lambda
        details.append(getattr(part, "name", None) or "")
    shown = ", ".join(detail for detail in details if detail)
    return f"{type(part).__name__}({shown})" if shown else type(part).__name__


def _label(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


def _answers_sync(part: Any) -> bool:
    """Whether a part can be asked without an event loop: all but a RunnableLambda of a coroutine function."""
    from langchain_core.runnables import RunnableLambda, RunnableSequence

    part = resolved(part)
    if isinstance(part, RunnableLambda):
        return hasattr(part, "func")
    inside = part.steps if isinstance(part, RunnableSequence) else children(part)
    return all(_answers_sync(child) for child in inside)


def _answers_async(part: Any) -> bool:
    """Whether a part's own code, and that of every part inside it, is asynchronous.

    The rule: the class overrides its async method (`_aget_relevant_documents`, `acompress_documents`,
    `atransform_documents`, or `ainvoke`) outside langchain-core, whose default runs the sync one in a
    thread; its embeddings override theirs; and it holds no vector store, because nothing tells whether a
    store's async method does more than start a thread.
    """
    from langchain_core.runnables import RunnableLambda

    part = resolved(part)
    if isinstance(part, RunnableLambda):
        return hasattr(part, "afunc")
    if not all(_answers_async(child) for child in children(part)):
        return False
    return is_wrapper(part) or (
        _overrides_async_method(part)
        and getattr(part, "vectorstore", None) is None
        and _embeds_async(getattr(part, "embeddings", None))
    )


def _overrides_async_method(part: Any) -> bool:
    """Whether the async method is defined outside langchain-core.

    Identity with the base's method would not do: `BaseRetriever.__init_subclass__` puts a thread-running
    method into each subclass whose sync method takes no `run_manager`.
    """
    names = ("_aget_relevant_documents", "acompress_documents", "atransform_documents", "ainvoke")
    method = next((found for name in names if (found := getattr(type(part), name, None))), None)
    return method is not None and not method.__module__.startswith("langchain_core.")


def _embeds_async(embeddings: Any) -> bool:
    from langchain_core.embeddings import Embeddings

    return not isinstance(embeddings, Embeddings) or (
        type(embeddings).aembed_query is not Embeddings.aembed_query
        and type(embeddings).aembed_documents is not Embeddings.aembed_documents
    )
