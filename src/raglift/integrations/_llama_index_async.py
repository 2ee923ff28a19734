"""Whether a LlamaIndex retriever can be asked without blocking, as it was put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.integrations._llama_index_depth import attributes_of, definer, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_async"]

ASYNC_CLIENTS = frozenset({"aclient", "async_client"})
"""Attributes of a vector store that hold the client of its async methods, without a leading underscore."""


def is_async(retriever: Any) -> bool:
    """Whether a retriever's class is async of its own, and neither its user nor its stores rule that out.

    With `use_async=False` a fusion passes one query bundle through its retrievers, and the first embedding
    stays in it: asking such a retriever in its other way could change the ranking. A store that was given a
    client for blocking calls only, as Qdrant's often is, fails in its async methods.
    """
    from llama_index.core.base.base_retriever import BaseRetriever

    if definer(retriever, "_aretrieve") is BaseRetriever or getattr(retriever, "use_async", True) is False:
        return False
    return not any(_lacks_async_client(store) for store in _stores(retriever, set()))


def _stores(part: Any, seen: set[int]) -> Iterator[Any]:
    """The vector stores of a retriever, of its index, and of the retrievers inside it."""
    from llama_index.core.indices.base import BaseIndex
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

    if id(part) in seen:
        return
    seen.add(id(part))
    for _, _, value in attributes_of(part):
        if isinstance(value, BasePydanticVectorStore):
            yield value
        elif isinstance(value, BaseIndex):
            yield from _stores(value, seen)
    for inner in parts_of(part):
        yield from _stores(inner, seen)


def _lacks_async_client(store: Any) -> bool:
    return any(value is None and name.lstrip("_") in ASYNC_CLIENTS for _, name, value in attributes_of(store))
