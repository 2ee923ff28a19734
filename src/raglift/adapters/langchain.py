"""LangChain retrievers, vector stores, compressors and transformers as raglift stages.

Composite systems are opened: a `ContextualCompressionRetriever` becomes the stages of its base retriever and
those of its compressor, a `DocumentCompressorPipeline` one stage for each of its members. A sequence such as
`retriever | function` stays one stage, whose retriever is deepened. Of a chain that answers from documents only the
part that finds them is asked, where that is certain; see `langchain_chains`. The user's objects are never changed:
depth is set on copies. LangChain is imported only when one of its objects is at hand.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import Adapter, finite, is_from, never_returns
from raglift.adapters.filters import takes_langchain_filter, with_langchain_filter
from raglift.adapters.langchain_agents import AsyncAgent, AsyncOnlyAgent, SyncAgent
from raglift.adapters.langchain_chains import (
    Asking,
    asking,
    changed_entries,
    changes,
    documents_part,
    graph_answers_sync,
    inside,
    is_graph,
    is_plain,
    without_memory,
)
from raglift.adapters.langchain_depth import (
    ENTRIES,
    RETRIEVING,
    children,
    is_wrapper,
    resolved,
    with_depth,
    with_own_settings,
    with_room,
)
from raglift.adapters.langchain_documents import Candidates, chunk_of, documents_in, scored_documents
from raglift.adapters.overriding import (
    are_async,
    asked_whole,
    definer,
    is_as_written,
    on_object,
    overridden,
    sync_is_newer,
)
from raglift.adapters.stages import RerankStage, RetrieveStage
from raglift.base.event_loops import result_of
from raglift.components.truncation import read_by_cross_encoder
from raglift.errors import UnsupportedSystem
from raglift.records.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.documents import Document

    from raglift.adapters.stages import Stage
    from raglift.records.documents import Chunk
    from raglift.records.filters import Filter
    from raglift.records.rankings import ReadInPart


_SHOWN = ("vectorstore", "model", "embeddings")
"""Fields that distinguish two objects of one class; shown as a model name or a class name, never as a repr."""
_REFUSALS = 3
"""After so many answers without documents, and none with, a system is not asked any more."""


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
        obj: a `BaseRetriever`, a `VectorStore`, or any `Runnable` from a question to documents: a chain, a graph of
            LangGraph, or an agent, also one that takes and returns a mapping.
        as_deployed: keep every depth and `top_n` that it was given, instead of raising them. A vector store has none.
        doc_key: the metadata key that names the source document; None takes the first that is set of
            `doc_id`, `document_id`, `source` and `file_name`.

    Returns:
        One retrieve stage, then a rerank stage for each compressor or transformer that was found.

    Raises:
        UnsupportedSystem: it is none of these, or how it is asked cannot be told.
    """
    from langchain_core.runnables import Runnable
    from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

    if isinstance(obj, VectorStore):
        store = VectorStoreRetriever(vectorstore=obj)
        return [RetrieveStage(_retriever(store, asking(store), as_deployed=False, doc_key=doc_key), type(obj).__name__)]
    if not isinstance(obj, Runnable):
        raise UnsupportedSystem(
            f"retriever: found {type(obj).__name__}; expected a LangChain retriever, vector store, "
            "or Runnable from a question to documents; a compressor or transformer goes in as a reranker"
        )
    return _stages(resolved(obj), None, as_deployed, doc_key)


def _stages(
    runnable: Any, asked: Asking | None, as_deployed: bool, doc_key: str | None
) -> list[RetrieveStage | RerankStage]:
    """Return the stages of a Runnable, which is asked as the chain is of which it is a part."""
    if opened := _opened(runnable):
        base, compressor = opened
        return [
            *_stages(resolved(base), None, as_deployed, doc_key),
            *_rerank_stages(compressor, as_deployed, doc_key),
        ]
    if part := documents_part(runnable):
        found, by_text = part
        return _stages(resolved(found), None if by_text else asked or asking(runnable), as_deployed, doc_key)
    asked = asked or asking(runnable)
    runnable = without_memory(runnable)
    if asked.is_agent:
        name = _describe(runnable)
        agent = _agent(runnable, asked, doc_key)
        return [RetrieveStage(agent, name, () if as_deployed else (name,), has_own_depth=as_deployed)]
    fixed = () if as_deployed else with_depth(runnable, 1)[1]
    unopened, changed = _unopened(runnable)
    if are_async(runnable, changed):  # whoever asks it, asks it so
        retriever: Any = _AsyncOnlyRetriever(runnable, asked, as_deployed, doc_key)
    else:
        retriever = _retriever(runnable, asked, as_deployed=as_deployed, doc_key=doc_key)
    return [RetrieveStage(retriever, _describe(runnable), fixed, has_own_depth=as_deployed, unopened=unopened)]


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
    changed = changes(obj, "DocumentCompressorPipeline", (*_COMPRESS[0], "transformers"))
    if changed == ():
        members: list[Any] = obj.transformers  # type: ignore[union-attr]
        return [stage for member in members for stage in _rerank_stages(member, as_deployed, doc_key)]
    adapter: type[_Reranker | _AsyncOnlyReranker] = _AsyncReranker if _answers_async(obj) else _Reranker
    if not _compresses_sync(obj):
        adapter = _AsyncOnlyReranker
    unopened = asked_whole(obj, changed, reranks=False) if changed else ""
    return [RerankStage(adapter(obj, as_deployed, doc_key), _describe(obj), unopened=unopened)]


def _opened(runnable: Any) -> tuple[Any, Any] | None:
    """Return the base retriever and the compressor of a contextual compression retriever.

    What was wrapped around it (`with_retry`, `with_config`, `bind`) is put around its base retriever.
    """
    from langchain_core.runnables.base import RunnableBindingBase

    if isinstance(runnable, RunnableBindingBase):
        if is_plain(runnable) and (opened := _opened(resolved(runnable.bound))):
            return runnable.model_copy(update={"bound": opened[0]}), opened[1]
        return None
    if changes(runnable, "ContextualCompressionRetriever", _OF_COMPRESSION) == ():
        return runnable.base_retriever, runnable.base_compressor
    return None


def _unopened(runnable: Any) -> tuple[str, tuple[str, ...]]:
    """Return why a composite is asked as a whole, and what it overrides; empty for what is no composite."""
    from langchain_core.runnables.base import RunnableBindingBase, RunnableSequence

    changed = changes(runnable, "ContextualCompressionRetriever", _OF_COMPRESSION) or ()
    reranks = bool(changed)
    if isinstance(runnable, RunnableBindingBase):
        inner = resolved(runnable.bound)
        if is_plain(runnable):
            return _unopened(inner)
        changed, reranks = changed_entries(runnable), _opened(inner) is not None
    elif isinstance(runnable, RunnableSequence):
        changed = changed_entries(runnable)
    return asked_whole(runnable, changed, reranks=reranks) if changed else "", changed


_COMPRESS = (("compress_documents", "acompress_documents"), ("transform_documents", "atransform_documents"))
_OF_COMPRESSION = (*ENTRIES, *RETRIEVING, "base_retriever", "base_compressor")
_SIDES = (("invoke", "ainvoke"), RETRIEVING, *_COMPRESS)


def _retriever(runnable: Any, asked: Asking, *, as_deployed: bool, doc_key: str | None) -> Any:
    """Choose the adapter whose methods are the ones that the system can be asked by."""
    if not _answers_sync(runnable):
        adapter: type[_RetrieverAdapter] = _AsyncOnlyRetriever
    else:
        adapter = _AsyncRetriever if _answers_async(runnable) else _Retriever
    return adapter(runnable, asked, as_deployed, doc_key)


def _agent(runnable: Any, asked: Asking, doc_key: str | None) -> SyncAgent | AsyncOnlyAgent:
    """Choose the adapter whose methods are the ones that the agent can be asked by."""
    if not _answers_sync(runnable):
        return AsyncOnlyAgent(runnable, asked, doc_key)
    return (AsyncAgent if _answers_async(runnable) else SyncAgent)(runnable, asked, doc_key)


class _RetrieverAdapter:
    """A LangChain Runnable from a question to documents, with a copy of it for each depth asked.

    As deployed there is one copy, with the settings that it was given, and all that it returns is kept.
    """

    def __init__(self, runnable: Any, asked: Asking, as_deployed: bool, doc_key: str | None) -> None:
        self._runnable = runnable
        self._asked = asked
        self._as_deployed = as_deployed
        self._doc_key = doc_key
        self._by_depth: dict[int | None, Any] = {}
        self._answered = False
        self._sync_is_stub = False
        self._async_is_stub = False
        self._refusals: list[UnsupportedSystem] = []

    @property
    def asked_system(self) -> Any:
        """What is asked."""
        return self._runnable

    @property
    def takes_filters(self) -> bool:
        """Whether a filter can be passed on: to the search of a vector store."""
        return takes_langchain_filter(self._runnable)

    def _at_depth(self, k: int, given: Filter | None = None) -> Any:
        depth = None if self._as_deployed else k
        if depth not in self._by_depth:
            copied = with_own_settings(self._runnable) if depth is None else with_depth(self._runnable, depth)[0]
            self._by_depth.setdefault(depth, copied)
        found = self._by_depth[depth]
        if given is None:
            return found
        if depth is None or "k" not in self._runnable.search_kwargs:
            return with_langchain_filter(found, given)
        # What it fetches before it filters is raised with its own k
        return with_depth(with_langchain_filter(self._runnable, given), depth)[0]

    def _ask(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        self._stop_if_refused()
        runnable = self._at_depth(k, given)
        scored = _vector_search(runnable, query)
        if scored is None:
            with self._explained():
                answer = runnable.invoke(self._asked.question(query))
            return self._ranking(answer, k)
        return self._kept([(chunk_of(document, self._doc_key), score) for document, score in scored], k)

    async def _ask_async(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        self._stop_if_refused()
        with self._explained():
            answer = await self._at_depth(k, given).ainvoke(self._asked.question(query))
        return self._ranking(answer, k)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say of a function that is given a text and reads keys of it that it takes a mapping."""
        try:
            yield
        except (TypeError, AttributeError) as error:
            refusal = self._asked.mapping_expected(error)
            if refusal is None:
                raise
            self._refusals.append(refusal)
            raise refusal from error

    def _stop_if_refused(self) -> None:
        """Raise where nothing but refusals came so far: a chain may cost money with each question."""
        if len(self._refusals) >= _REFUSALS and not self._answered:
            raise self._refusals[0]

    def _ranking(self, answer: Any, k: int) -> Ranking:
        try:
            results = self._asked.results(answer)
            scored = scored_documents(results, type(self._runnable).__name__, self._doc_key)
        except UnsupportedSystem as error:
            self._refusals.append(error)
            raise
        self._answered = True
        return self._kept(scored, k)

    def _kept(self, scored: list[tuple[Chunk, float | None]], k: int) -> Ranking:
        return Ranking.of(scored if self._as_deployed else scored[:k])


class _Retriever(_RetrieverAdapter):
    def retrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        """Return a ranking of at most `k` hits; by the async method where the sync one is only a stub."""
        if not self._sync_is_stub:
            try:
                return self._ask(query, k, given)
            except NotImplementedError:
                self._sync_is_stub = True
        return result_of(self._ask_async(query, k, given))


class _AsyncOnlyRetriever(_RetrieverAdapter):
    async def aretrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        """Return a ranking of at most `k` hits, without blocking."""
        return await self._ask_async(query, k, given)


class _AsyncRetriever(_Retriever):
    async def aretrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        """Return a ranking of at most `k` hits; in a thread where the async method is only a stub."""
        if not self._async_is_stub:
            try:
                return await self._ask_async(query, k, given)
            except NotImplementedError:
                self._async_is_stub = True  # trying it again would call once more what comes before the stub
        return await asyncio.to_thread(self._ask, query, k, given)


def _vector_search(retriever: Any, query: str) -> list[tuple[Document, float | None]] | None:
    """Ask the vector store of a plain `VectorStoreRetriever` for scores with the documents.

    Returns:
        What the retriever itself would return, in its order, with scores; None if that is not to be had.
    """
    from langchain_core.vectorstores import VectorStoreRetriever

    changed = overridden(retriever, VectorStoreRetriever, (*ENTRIES, *RETRIEVING))
    if type(retriever) is not VectorStoreRetriever or changed:
        return None
    store, arguments = retriever.vectorstore, retriever.search_kwargs
    if retriever.search_type == "similarity_score_threshold":
        search = store.similarity_search_with_relevance_scores
    elif retriever.search_type == "similarity" and _scores_its_own_search(store):
        search = store.similarity_search_with_score
    else:
        return None
    try:
        return [(document, finite(score)) for document, score in search(query, **arguments)]
    except (NotImplementedError, TypeError):  # no scores in this store, or not with these arguments
        return None


def _scores_its_own_search(store: Any) -> bool:
    """Whether the scored search is as new as the plain one: a subclass may have changed only that one."""
    scored, plain = "similarity_search_with_score", "similarity_search"
    where = definer(type(store), scored), definer(type(store), plain)
    if None in where or on_object(store, plain) or on_object(store, scored):
        return False
    mro = type(store).__mro__
    return mro.index(where[0]) <= mro.index(where[1]) and is_as_written(where[1], plain)  # type: ignore[arg-type]


class _RerankerAdapter:
    """A LangChain compressor or transformer, with a copy of it for each number of candidates."""

    def __init__(self, part: Any, as_deployed: bool, doc_key: str | None) -> None:
        self._part = part
        self._as_deployed = as_deployed
        self._doc_key = doc_key
        self._by_room: dict[int, Any] = {}

    def read_in_part(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> ReadInPart | None:
        """Return how many candidates a cross-encoder reads in part; None for another compressor."""
        if changes(self._part, "CrossEncoderReranker", _COMPRESS[0]) != ():
            return None
        asked = [
            (query, [chunk.text for chunk in ranking.chunks]) for query, ranking in zip(queries, rankings, strict=True)
        ]
        # `model` is a HuggingFaceCrossEncoder, whose `client` is sentence-transformers' CrossEncoder
        return read_by_cross_encoder(getattr(self._part.model, "client", None), asked)

    def _with_room(self, candidates: int) -> Any:
        if self._as_deployed:
            return self._part
        if candidates not in self._by_room:
            return self._by_room.setdefault(candidates, with_room(self._part, candidates))
        return self._by_room[candidates]


class _Reranker(_RerankerAdapter):
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


class _AsyncOnlyReranker(_RerankerAdapter):
    async def arerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking, without blocking."""
        if not ranking:
            return Ranking()
        part = self._with_room(len(ranking))
        candidates = Candidates(ranking, self._doc_key)
        if hasattr(part, "acompress_documents"):
            outputs = await part.acompress_documents(candidates.documents, query)
        else:
            outputs = await part.atransform_documents(candidates.documents)
        return candidates.ranking(documents_in(outputs, type(part).__name__))


class _AsyncReranker(_AsyncOnlyReranker, _Reranker):
    async def arerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking, without blocking; in a thread where the async method is only a stub."""
        try:
            return await super().arerank_one(query, ranking)
        except NotImplementedError:
            return await asyncio.to_thread(self.rerank_one, query, ranking)


def _compresses_sync(part: Any) -> bool:
    """Whether a compressor can be asked without an event loop: its sync method is no stub beside an async one."""
    name = next((sync for sync, _ in _COMPRESS if hasattr(part, sync)), "")
    return not (never_returns(getattr(part, name, None)) and _overrides_async_method(part))


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
    """Whether a part can be asked without an event loop: nothing in it is a coroutine function alone."""
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda

    part = resolved(part)
    if isinstance(part, RunnableLambda):
        return hasattr(part, "func")
    if is_graph(part):
        return graph_answers_sync(part)
    if isinstance(part, BaseRetriever) and never_returns(getattr(part, "_get_relevant_documents", None)):
        return False
    return all(_answers_sync(child) for child in inside(part))


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
    if sync_is_newer(part, _SIDES):
        return False
    if not all(_answers_async(child) and not _async_method_raises(child) for child in children(part)):
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
    method = _async_method(part)
    return method is not None and not method.__module__.startswith("langchain_core.")


def _async_method_raises(part: Any) -> bool:
    """Whether the async method is only a stub: inside another part it is found out after a model was called."""
    return never_returns(_async_method(resolved(part)))


def _async_method(part: Any) -> Any:
    names = ("_aget_relevant_documents", "acompress_documents", "atransform_documents", "ainvoke")
    return next((found for name in names if (found := getattr(type(part), name, None))), None)


def _embeds_async(embeddings: Any) -> bool:
    from langchain_core.embeddings import Embeddings

    return not isinstance(embeddings, Embeddings) or (
        type(embeddings).aembed_query is not Embeddings.aembed_query
        and type(embeddings).aembed_documents is not Embeddings.aembed_documents
    )
