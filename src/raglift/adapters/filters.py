"""Metadata filters of queries, as the vector stores of frameworks take them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from raglift.adapters.base import is_from
from raglift.types.filters import ANY_OF, EQUALS, Condition, Filter, Value

# LangChain: each store has a form of its own, which goes into `search_kwargs`.


_MILVUS = "langchain_milvus"


def langchain_filter(store: Any, given: Filter) -> Any:
    """Return a filter as a LangChain vector store takes it.

    `InMemoryVectorStore` takes a function of a document, Qdrant an object of its client, Milvus an expression; the
    others, among them FAISS, Chroma and PGVector, take operators as MongoDB writes them: `{"year": {"$gte": 2020}}`.

    Args:
        store: a LangChain `VectorStore`.
        given: the filter.
    """
    if is_from(store, "langchain_qdrant"):
        prefix = getattr(store, "metadata_payload_key", "metadata")
        return _qdrant_filter(given, f"{prefix}.")
    if is_from(store, "langchain_core.vectorstores.in_memory"):
        return lambda document: given.matches(document.metadata)
    if is_from(store, _MILVUS):
        return _milvus_expression(store, given)
    conditions = [_mongo(one) for one in _conditions(given)]
    return conditions[0] if len(conditions) == 1 else {"$and": conditions}


def _conditions(given: Filter) -> list[Condition]:
    """Return the conditions of a filter, a list of one value as that value: some stores take no true in a list."""
    return [
        replace(one, operator=EQUALS) if one.operator == ANY_OF and len(one.values) == 1 else one
        for one in given.conditions
    ]


def _mongo(one: Condition) -> dict[str, Any]:
    if one.operator == EQUALS:
        return {one.key: one.values[0]}
    return {one.key: {f"${one.operator}": list(one.values) if one.operator == ANY_OF else one.values[0]}}


def _milvus_expression(store: Any, given: Filter) -> str:
    """Return a filter as an expression: `year >= 2020 and language in ["de", "en"]`."""
    signs = {EQUALS: "==", ANY_OF: "in", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
    conditions = []
    for one in _conditions(given):
        value = list(one.values) if one.operator == ANY_OF else one.values[0]
        written = json.dumps(value, ensure_ascii=False)
        conditions.append(f"{_milvus_field(store, one.key)} {signs[one.operator]} {written}")
    return " and ".join(conditions)


def _milvus_field(store: Any, key: str) -> str:
    """Return what stands for a key in Milvus: the key, or its place in the field of all metadata."""
    field = store._metadata_field  # noqa: SLF001 — it is said nowhere else
    if field:
        return f"{field}[{json.dumps(key, ensure_ascii=False)}]"
    return key if key.isidentifier() else f"$meta[{json.dumps(key, ensure_ascii=False)}]"


def _qdrant_filter(given: Filter, prefix: str) -> Any:
    from qdrant_client import models

    def equal(key: str, value: Value) -> Any:
        if isinstance(value, float):  # it matches no such number
            return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))
        return models.FieldCondition(key=key, match=models.MatchValue(value=value))

    def condition(one: Condition) -> Any:
        key, values = f"{prefix}{one.key}", list(one.values)
        if one.operator not in (EQUALS, ANY_OF):
            return models.FieldCondition(key=key, range=_qdrant_range(models, one))
        if one.operator == EQUALS:
            return equal(key, values[0])
        if {type(value) for value in values} in ({str}, {int}):
            return models.FieldCondition(key=key, match=models.MatchAny(any=values))  # type: ignore[arg-type]
        return models.Filter(should=[equal(key, value) for value in values])

    return models.Filter(must=[condition(one) for one in _conditions(given)])


def _qdrant_range(models: Any, one: Condition) -> Any:
    value = one.values[0]
    kind = models.DatetimeRange if isinstance(value, str) else models.Range
    return kind(**{one.operator: value})


def both_langchain(own: Any, added: Any, given: Filter) -> Any:
    """Return the filter that a retriever has together with that of a query.

    Args:
        own: of the retriever; None for none.
        added: of the query, in the form of the same store.
        given: of the query.
    """
    if own is None:
        return added
    if isinstance(own, str) and isinstance(added, str):
        return f"({own}) and ({added})"
    if isinstance(own, Mapping) and isinstance(added, Mapping):
        return {"$and": [dict(own), dict(added)]}
    if isinstance(own, Callable) and isinstance(added, Callable):  # type: ignore[arg-type]
        return lambda found: own(found) and added(found)
    if isinstance(added, Mapping) and callable(own):  # FAISS takes a function of metadata
        return lambda metadata: own(metadata) and given.matches(metadata)
    if hasattr(added, "must"):  # Qdrant
        return type(added)(must=[own, added])
    return added


def with_langchain_filter(retriever: Any, given: Filter) -> Any:
    """Return a copy of a retriever over a vector store that looks among the matching documents only."""
    kwargs, store = retriever.search_kwargs, retriever.vectorstore
    name = "expr" if is_from(store, _MILVUS) else "filter"
    both = both_langchain(kwargs.get(name), langchain_filter(store, given), given)
    return retriever.model_copy(update={"search_kwargs": {**kwargs, name: both}})


# LlamaIndex: one form for all stores.


_OPERATORS = {EQUALS: "==", ANY_OF: "in", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def llama_index_filters(given: Filter) -> Any:
    """Return a filter as LlamaIndex's `MetadataFilters`."""
    from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

    def one(condition: Condition) -> Any:
        value: Any = list(condition.values) if condition.operator == ANY_OF else condition.values[0]
        operator = FilterOperator(_OPERATORS[condition.operator])
        # Its type has neither true nor false, for which its stores do not take 1 and 0: not validated
        return MetadataFilter.model_construct(key=condition.key, value=value, operator=operator)

    return MetadataFilters(filters=[one(condition) for condition in _conditions(given)])


def with_llama_index_filters(retriever: Any, given: Filter) -> Any:
    """Return a copy of a retriever over a vector index that looks among the matching nodes only."""
    from llama_index.core.vector_stores.types import FilterCondition, MetadataFilters

    own, added = vars(retriever).get("_filters"), llama_index_filters(given)
    if own is not None and own.condition in (None, FilterCondition.AND):
        added = MetadataFilters(filters=[*own.filters, *added.filters])  # most stores take none inside others
    elif own is not None:
        added = MetadataFilters(filters=[own, added])
    twin = copy.copy(retriever)
    twin._filters = added  # noqa: SLF001 — it has no other way
    return twin
