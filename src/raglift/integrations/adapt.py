"""From whatever the user has to the stages of a system."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import itertools
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, MissingDependency, UnsupportedSystem
from raglift.execution import RerankStage, RetrieveStage, Stage
from raglift.integrations import langchain, llama_index, plain
from raglift.retrieval.http import HttpRetriever, is_http_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.models import Dtype

__all__ = ["adapt_reranker", "adapt_system", "check_reranker", "named_stages"]

LATE_INTERACTION = "late-interaction"
"""The name of the embedded reranker."""

_RETRIEVE_METHODS = ("retrieve", "retrieve_one", "aretrieve_one")
_RERANK_METHODS = ("rerank", "rerank_one", "arerank_one")


def adapt_system(system: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[Stage]:
    """Return the stages of a retrieval system.

    Args:
        system: a LangChain retriever, vector store or Runnable; a LlamaIndex retriever, query engine or index; a
            function from text to results; the address of an HTTP service; or anything with `retrieve(queries, k)` or
            `retrieve_one(query, k)`.
        as_deployed: keep the rerankers' own top_n.
        doc_key: the metadata key that holds document ids.

    Raises:
        UnsupportedSystem: none of these.
    """
    if isinstance(system, type):
        raise UnsupportedSystem(f"system: found the class {system.__name__}; expected an object made from it")
    if langchain.is_langchain(system):
        return list(langchain.retriever_stages(system, as_deployed=as_deployed, doc_key=doc_key))
    if llama_index.is_llama_index(system):
        return list(llama_index.retriever_stages(system, as_deployed=as_deployed, doc_key=doc_key))
    if isinstance(system, HttpRetriever):
        service = system.with_doc_key(doc_key)
        return [RetrieveStage(service, str(service), service.depth_fixed, asynchronous=True)]
    if any(callable(getattr(system, name, None)) for name in _RETRIEVE_METHODS):
        _require_two_arguments(system, _RETRIEVE_METHODS, "queries, k")
        return [RetrieveStage(system, _described(system))]
    if isinstance(system, str) and is_http_address(system):
        return adapt_system(HttpRetriever(system), doc_key=doc_key)
    if callable(system):
        return [plain.retriever_stage(system, doc_key=doc_key)]
    raise UnsupportedSystem(
        f"system: found a {type(system).__name__}; expected a LangChain retriever, vector store or Runnable, "
        "a LlamaIndex retriever, query engine or index, a function from a query to results, "
        "or an object with retrieve(queries, k) or retrieve_one(query, k)"
    )


def adapt_reranker(
    reranker: Any, *, as_deployed: bool = False, dtype: Dtype = "auto", progress: bool | None = None
) -> list[RerankStage]:
    """Return the stages of a reranker.

    Args:
        reranker: None or "none"; "late-interaction" (the embedded default); the name or path of a cross-encoder, or a
            `CrossEncoder`; a LangChain document compressor; a LlamaIndex node postprocessor; a function of a query
            and texts; anything with `rerank(queries, rankings)` or `rerank_one(query, ranking)`; or a list of these.
        as_deployed: keep the reranker's own top_n.
        dtype: what a model named here computes in.
        progress: whether a model named here shows progress.

    Raises:
        UnsupportedSystem: none of these.
        ConfigurationError: a name that is nearly, but not, the embedded reranker's, or "none".
    """
    if reranker is None:
        return []
    if isinstance(reranker, str):
        return _by_name(reranker, dtype, progress)
    if isinstance(reranker, type):
        raise UnsupportedSystem(f"reranker: found the class {reranker.__name__}; expected an object made from it")
    if isinstance(reranker, (list, tuple)):
        parts: Sequence[Any] = reranker
        return [
            stage
            for part in parts
            for stage in adapt_reranker(part, as_deployed=as_deployed, dtype=dtype, progress=progress)
        ]
    if langchain.is_langchain(reranker):
        return list(langchain.reranker_stages(reranker, as_deployed=as_deployed))
    if llama_index.is_llama_index(reranker):
        return list(llama_index.reranker_stages(reranker, as_deployed=as_deployed))
    if any(base.__name__ == "CrossEncoder" for base in type(reranker).__mro__):
        from raglift.reranking import CrossEncoderReranker

        reranker = CrossEncoderReranker(reranker, progress=progress)
    if any(callable(getattr(reranker, name, None)) for name in _RERANK_METHODS):
        _require_two_arguments(reranker, _RERANK_METHODS, "queries, rankings")
        return [RerankStage(reranker, _described(reranker))]
    if callable(reranker):
        return [plain.reranker_stage(reranker)]
    raise UnsupportedSystem(
        f"reranker: found a {type(reranker).__name__}; expected a name, a CrossEncoder, a LangChain document "
        "compressor, a LlamaIndex node postprocessor, a function of a query and texts, "
        "or an object with rerank(queries, rankings) or rerank_one(query, ranking)"
    )


def _require_two_arguments(part: Any, names: Sequence[str], arguments: str) -> None:
    """Raise where a method has a name of the protocol but cannot be called as the protocol says."""
    for name in names:
        method = getattr(part, name, None)
        if callable(method):
            try:
                inspect.signature(method).bind("", 1)
            except TypeError as error:
                raise UnsupportedSystem(
                    f"{type(part).__name__}.{name}: found {name}{inspect.signature(method)}; expected "
                    f"{name}({arguments}): {error}. A function from a query's text to results is accepted too: "
                    f"pass the bound method itself"
                ) from None
            except ValueError:  # a built-in without a signature
                continue


def check_reranker(reranker: str) -> None:
    """Raise for a reranker by name that cannot be used, before any work is done for it.

    Raises:
        MissingDependency: its package is not installed.
        ModelError: its model is neither here nor on a hub.
        ConfigurationError: the name is nearly, but not, the embedded reranker's, or "none".
    """
    for stage in adapt_reranker(reranker):
        check = getattr(stage.reranker, "check", None)
        if callable(check):
            check()


def named_stages(stages: Sequence[Stage]) -> list[Stage]:
    """Return the stages with distinct names: a second `rerank` becomes `rerank-2`."""
    named: dict[str, Stage] = {}
    for stage in stages:
        numbered = (f"{stage.name}-{number}" for number in itertools.count(2))
        name = next(name for name in itertools.chain([stage.name], numbered) if name not in named)
        named[name] = replace(stage, name=name)
    return list(named.values())


def _by_name(name: str, dtype: Dtype, progress: bool | None) -> list[RerankStage]:
    from raglift.reranking import CrossEncoderReranker, LateInteractionReranker

    if name.lower() == "none":
        return []
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingDependency("sentence_transformers", "local", f"the reranker {name!r}")
    if name == LATE_INTERACTION:
        late = LateInteractionReranker(dtype=dtype, progress=progress)
        return [RerankStage(late, str(late))]
    near = difflib.get_close_matches(name.lower().replace("_", "-"), [LATE_INTERACTION, "none"], n=1, cutoff=0.7)
    if not name.strip() or (near and "/" not in name and os.sep not in name):  # those are hub ids and paths
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ConfigurationError(
            f"reranker: found {name!r}{hint}; expected {LATE_INTERACTION!r}, 'none', or the name or path of a "
            "cross-encoder"
        )
    cross = CrossEncoderReranker(name, dtype=dtype, progress=progress)
    return [RerankStage(cross, f"cross-encoder {name}")]


def _described(part: Any) -> str:
    """Return what raglift's own parts say of themselves, else the class: a foreign text might hold secrets."""
    return str(part) if type(part).__module__.startswith("raglift.") else type(part).__name__
