"""LangChain retrievers, vector stores, compressors and transformers as raglift stages.

Composite systems are opened: a `ContextualCompressionRetriever` becomes the stages of its base retriever and
those of its compressor, a `DocumentCompressorPipeline` one stage for each of its members. A sequence such as
`retriever | function` stays one stage, whose retriever is deepened. Of a chain that answers from documents only the
part that finds them is asked, where that is certain; see `langchain_chains`. The user's objects are never changed:
depth is set on copies. LangChain is imported only when one of its objects is at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.adapters.asking import FrameworkReranker, FrameworkRetriever, Refusals
from raglift.adapters.base import Adapter, finite, is_from
from raglift.adapters.filters import with_langchain_filter
from raglift.adapters.langchain_agents import LangChainAgent
from raglift.adapters.langchain_chains import (
    Asking,
    agent_name,
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
from raglift.adapters.langchain_depth import ENTRIES, RETRIEVING, children, resolved, with_depth, without_filters
from raglift.adapters.langchain_documents import Candidates, chunk_of, documents_in, scored_documents
from raglift.adapters.overriding import (
    are_async,
    asked_whole,
    base_named,
    definer,
    is_as_written,
    on_object,
    overridden,
)
from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.errors import UnsupportedSystem

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter


_SHOWN = ("vectorstore", "model", "embeddings")
"""Fields that distinguish two objects of one class; shown as a model name or a class name, never as a repr."""


def retriever_stages(obj: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
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
        return [RetrieveStage(_Retriever(store, asking(store), doc_key=doc_key), type(obj).__name__)]
    if not isinstance(obj, Runnable):
        raise UnsupportedSystem(
            f"retriever: found {type(obj).__name__}; expected a LangChain retriever, vector store, "
            "or Runnable from a question to documents; a compressor or transformer goes in as a reranker"
        )
    return _stages(resolved(obj), None, as_deployed, doc_key)


def _stages(runnable: Any, asked: Asking | None, as_deployed: bool, doc_key: str | None) -> list[Stage]:
    """Return the stages of a Runnable, which is asked as the chain is of which it is a part."""
    if opened := _opened(runnable):
        base, compressor = opened
        return [*_stages(resolved(base), None, as_deployed, doc_key), *_rerank_stages(compressor, as_deployed, doc_key)]
    if part := documents_part(runnable):
        found, by_text = part
        return _stages(resolved(found), None if by_text else asked or asking(runnable), as_deployed, doc_key)
    asked = asked or asking(runnable)
    runnable = without_memory(runnable)
    name, by_async = _describe(runnable), not _answers_sync(runnable)
    if asked.is_agent:
        name = agent_name(runnable)
        agent = LangChainAgent(runnable, asked, doc_key, by_async=by_async)
        return [RetrieveStage(agent, name, depth_fixed=() if as_deployed else (name,), has_own_depth=as_deployed)]
    fixed = () if as_deployed else with_depth(runnable, 1)[1]
    unopened, changed = _unopened(runnable)
    by_async = by_async or are_async(runnable, changed)  # if only these are overridden, its users ask it by them
    retriever = _Retriever(runnable, asked, as_deployed=as_deployed, doc_key=doc_key, by_async=by_async)
    return [RetrieveStage(retriever, name, depth_fixed=fixed, has_own_depth=as_deployed, unopened=unopened)]


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
    changed = changes(obj, "DocumentCompressorPipeline", (*_COMPRESS, "transformers"))
    if changed == ():
        members: list[Any] = obj.transformers  # type: ignore[union-attr]
        return [stage for member in members for stage in _rerank_stages(member, as_deployed, doc_key)]
    reranker = _Reranker(obj, as_deployed=as_deployed, doc_key=doc_key)
    unopened = asked_whole(obj, changed, reranks=False) if changed else ""
    return [RerankStage(reranker, _describe(obj), unopened=unopened)]


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
    if changed:
        return asked_whole(runnable, changed, reranks=reranks), changed
    inner = "has a compressor or reranker inside that is no stage of its own, so there is no lift"
    return f"{type(runnable).__name__} {inner}" if _has_compression(runnable) else "", ()


def _has_compression(part: Any) -> bool:
    part = resolved(part)
    return _opened(part) is not None or any(map(_has_compression, inside(part)))


_COMPRESS = ("compress_documents", "acompress_documents")
_OF_COMPRESSION = (*ENTRIES, *RETRIEVING, "base_retriever", "base_compressor")


class _Retriever(FrameworkRetriever):
    """A LangChain Runnable from a question to documents."""

    def __init__(self, runnable: Any, asked: Asking, **settings: Any) -> None:
        super().__init__(runnable, **settings)
        self.takes_filters = base_named(runnable, "VectorStoreRetriever", "langchain_core") is not None
        self._asked = asked
        self._refusals = Refusals()

    def copy_at(self, count: int | None) -> Any:
        return with_depth(self.system, count)[0]

    def filtered_copy(self, k: int, given: Filter) -> Any:
        if self.as_deployed or "k" not in self.system.search_kwargs:
            return with_langchain_filter(self.copy(k), given)
        # What it fetches before it filters is raised with its own k
        return with_depth(with_langchain_filter(self.system, given), k)[0]

    def ask(self, runnable: Any, query: str) -> list[tuple[Chunk, float | None]]:
        with self._refusals:
            if (scored := _vector_search(runnable, query)) is not None:
                return [(chunk_of(document, self.doc_key), score) for document, score in scored]
            with self._asked.mapping_explained():
                answer = runnable.invoke(self._asked.question(query))
            return self._scored(answer)

    async def ask_async(self, runnable: Any, query: str) -> list[tuple[Chunk, float | None]]:
        with self._refusals:
            with self._asked.mapping_explained():
                answer = await runnable.ainvoke(self._asked.question(query))
            return self._scored(answer)

    def _scored(self, answer: Any) -> list[tuple[Chunk, float | None]]:
        if isinstance(answer, str) and base_named(self.system, "BaseTool", "langchain_core"):
            raise UnsupportedSystem(
                f"{self._asked.who}: a tool that answers with a text; expected documents: pass the retriever or "
                "function that it asks"
            )
        return scored_documents(self._asked.results(answer), type(self.system).__name__, self.doc_key)


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


class _Reranker(FrameworkReranker):
    """A LangChain compressor or transformer."""

    candidates = Candidates

    def copy_at(self, count: int | None) -> Any:
        return with_depth(self.system, count)[0]

    def ask(self, part: Any, query: str, documents: list[Document]) -> list[Document]:
        if hasattr(part, "compress_documents"):
            return documents_in(part.compress_documents(documents, query), type(part).__name__)
        return documents_in(part.transform_documents(documents), type(part).__name__)

    async def ask_async(self, part: Any, query: str, documents: list[Document]) -> list[Document]:
        if hasattr(part, "acompress_documents"):
            return documents_in(await part.acompress_documents(documents, query), type(part).__name__)
        return documents_in(await part.atransform_documents(documents), type(part).__name__)


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
    from langchain_core.runnables import RunnableLambda

    part = resolved(part)
    if isinstance(part, RunnableLambda):
        return hasattr(part, "func")
    if is_graph(part):
        return graph_answers_sync(part)
    return all(_answers_sync(child) for child in inside(part))


def _chunk_and_score(result: Any, doc_key: str | None) -> tuple[Chunk, float | None] | None:
    """Return a document as a chunk, with the score in its metadata."""
    if not isinstance(getattr(result, "page_content", None), str):
        return None
    return chunk_of(result, doc_key), finite(result.metadata.get("score"))


ADAPTER = Adapter(
    name="LangChain",
    owns=lambda obj: is_from(obj, "langchain_core"),
    retriever_stages=retriever_stages,
    reranker_stages=reranker_stages,
    chunk_and_score=_chunk_and_score,
    without_filters=without_filters,
    packages=("langchain-core",),
    systems="a LangChain retriever, vector store or Runnable",
    rerankers="a LangChain document compressor",
    results="a LangChain Document",
)
