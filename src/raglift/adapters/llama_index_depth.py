"""How deep a LlamaIndex system looks, set on a copy of it.

A LlamaIndex system is a tree of retrievers, query engines, tools and postprocessors that hold one another in
plain attributes, lists and dictionaries. `deepen` copies that tree, and nothing else: indexes, stores, models
and callback managers stay shared with the user's object, which is never written to.

Depth is raised, never lowered: a fusion whose parts look 50 deep still fuses 50 when the caller wants 10, and
the caller cuts the result.

A retriever that strings together what several others return (`RecursiveRetriever`, index nodes with an `obj`,
a router that picks more than one) gives `k` of the first before it comes to the second.

An engine that looks up other engines while it is asked (a retriever of tools, a function from a node to an engine, a
graph of indexes) keeps its depth.
"""

from __future__ import annotations

import copy
from collections import Counter
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from raglift.adapters.base import is_count
from raglift.adapters.overriding import definer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


DEPTH_NAMES = frozenset(
    {
        "similarity_top_k",
        "top_k",
        "sparse_top_k",  # of a hybrid query
        "hybrid_top_k",
        "image_similarity_top_k",  # MultiModalVectorIndexRetriever
        "max_top_k",  # VectorIndexAutoRetriever: the most its LLM may ask for
        "empty_query_top_k",
        "num_chunks_per_query",  # keyword tables and knowledge graphs
        "choice_top_k",  # DocumentSummaryIndexLLMRetriever
        "limit",  # property graphs
    }
)
"""Attributes that say how many nodes come back, without a leading underscore."""

BARE_DEPTH_NAME = "k"
"""A depth only where nothing above is there: next to a `top_k` it is rather the constant of a rank fusion."""

CUT_NAMES = ("top_n", "top_k")
"""Fields of a postprocessor that say how many nodes it lets through."""

UNLIMITED = frozenset(
    {
        "EmptyIndexRetriever",
        "SummaryIndexLLMRetriever",
        "SummaryIndexRetriever",
        "TreeAllLeafRetriever",
        "TreeRootRetriever",
    }
)
"""Retrievers that return all they have: they need no depth."""

ANSWERED = frozenset({"_query_engine_dict", "object_map"})
"""Attributes whose query engines write an answer, which becomes one node: their depth is their own."""

SEALED = frozenset({"RetrieverRouterQueryEngine"})
"""Systems that break when their retriever returns more: this one looks up a single engine with it."""


def deepen(system: Any, k: int) -> tuple[Any, tuple[str, ...]]:
    """Copy a retriever or query engine so that it returns at least `k` nodes where it can.

    Args:
        system: a LlamaIndex retriever or query engine.
        k: how many nodes are wanted; 0 for its own settings.

    Returns:
        The copy, and the parts whose depth could not be set, as
        `QueryFusionRetriever.retrievers[1]: MyRetriever`.
    """
    walk = _Walk(k)
    deep = walk.visit(system, type(system).__name__)
    return deep, tuple(walk.fixed)


def raise_top_n(postprocessor: Any, n: int) -> Any:
    """Copy a postprocessor so that it lets `n` nodes through, if it has a `top_n` or `top_k` below that."""
    return postprocessor.model_copy(update={name: n for name, value in _cuts(postprocessor) if value < n})


def describe(system: Any) -> str:
    """Name a system by class and what it is made of, as `QueryFusionRetriever(VectorIndexRetriever + …)`."""
    store = vars(system).get("_vector_store")
    return _named(system, frozenset(), [] if store is None else [type(store).__name__])


def parts_of(part: Any) -> list[Any]:
    """Return the retrievers, query engines, tools and postprocessors that one of them holds itself."""
    held: list[Any] = []
    for _, name, value in attributes_of(part):
        _swap(value, "", _held_by(name), lambda child, _: held.append(child))
    return held


class _Walk:
    """One copy of a tree; a part that is held twice is copied once."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.fixed: list[str] = []
        self._copies: dict[int, Any] = {}

    def visit(self, part: Any, path: str) -> Any:
        """Return the copy of a part, with everything inside it copied and deepened."""
        if id(part) not in self._copies:
            name = type(part).__name__
            place = name if path == name else f"{path}: {name}"
            if isinstance(part, _kinds()["postprocessor"]):
                self._copies[id(part)] = raise_top_n(part, self.k)
            else:
                self._copies[id(part)] = deep = copy.copy(part)
                if _is_sealed(part) or not self._deepen(deep, path):
                    self.fixed.append(place)
        return self._copies[id(part)]

    def _deepen(self, part: Any, path: str) -> bool:
        """Deepen a copy, and put deepened copies where it holds other parts; whether there was any depth."""
        searching = tuple(cls for kind, cls in _kinds().items() if kind != "postprocessor")
        reached = _raise_depth(part, self.k) or _returns_everything(part)

        def visit(child: Any, place: str) -> Any:
            nonlocal reached
            reached = reached or isinstance(child, searching)
            return self.visit(child, place)

        for space, name, value in attributes_of(part):
            space[name] = _swap(value, f"{path}.{name.lstrip('_')}", _held_by(name), visit)
        return reached


@cache
def _kinds() -> dict[str, type[Any]]:
    """The classes whose objects make up a system."""
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.tools import QueryEngineTool, RetrieverTool

    return {
        "retriever": BaseRetriever,
        "engine": BaseQueryEngine,
        "postprocessor": BaseNodePostprocessor,
        "retriever tool": RetrieverTool,
        "engine tool": QueryEngineTool,
    }


def _held_by(name: str) -> tuple[type[Any], ...]:
    """The kinds of part that are entered when an attribute of this name holds them."""
    return tuple(cls for kind, cls in _kinds().items() if not (kind == "engine" and name in ANSWERED))


def attributes_of(part: Any) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Yield every attribute of an object, with the dictionary that holds it (pydantic has one for private ones)."""
    for space in (getattr(part, "__dict__", None), getattr(part, "__pydantic_private__", None)):
        for name, value in list((space or {}).items()):
            yield space, name, value  # type: ignore[misc]  # an empty space yields nothing


def _swap(value: Any, path: str, kinds: tuple[type[Any], ...], visit: Callable[[Any, str], Any]) -> Any:
    """Return a value with `visit` applied to the parts in it; lists and dictionaries are copied for that."""
    if isinstance(value, kinds):
        return visit(value, path)
    if isinstance(value, dict) and any(isinstance(item, kinds) for item in value.values()):
        places = {key: f"{path}[{key!r}]" for key in value}
        return {key: _swap(item, places[key], kinds, visit) for key, item in value.items()}
    if isinstance(value, list | tuple) and any(isinstance(item, kinds) for item in value):
        items = [_swap(item, f"{path}[{place}]", kinds, visit) for place, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    return value


def _raise_depth(part: Any, k: int) -> bool:
    """Raise every depth of a copy to `k`; whether it has any. None stands for no limit, and stays."""
    depths = [found for found in attributes_of(part) if found[1].lstrip("_") in DEPTH_NAMES]
    depths = depths or [found for found in attributes_of(part) if found[1].lstrip("_") == BARE_DEPTH_NAME]
    k = min(k, _corpus_size(part, default=k))
    for space, name, value in depths:
        if is_count(value) and value < k:
            space[name] = k
    return any(value is None or is_count(value) for _, _, value in depths)


def _corpus_size(part: Any, *, default: int) -> int:
    """How many nodes a BM25Retriever can rank: above it, bm25s fails, or returns what a filter hid."""
    scores = getattr(getattr(part, "bm25", None), "scores", None)
    if not isinstance(scores, dict) or "num_docs" not in scores:
        return default
    mask = getattr(part, "corpus_weight_mask", None)
    return sum(map(bool, mask)) if mask else int(scores["num_docs"])


def _cuts(postprocessor: Any) -> list[tuple[str, int]]:
    names = [name for name in CUT_NAMES if name in type(postprocessor).model_fields]
    values = [(name, getattr(postprocessor, name)) for name in names]
    return [(name, value) for name, value in values if is_count(value)]


def _is_sealed(part: Any) -> bool:
    return any(cls.__name__ in SEALED for cls in type(part).__mro__)


def _returns_everything(part: Any) -> bool:
    retriever = definer(type(part), "_retrieve")
    return retriever is not None and retriever.__name__ in UNLIMITED


def _named(part: Any, above: frozenset[int], inside: list[str]) -> str:
    names = inside + [_named(child, above | {id(part)}, []) for child in parts_of(part) if id(child) not in above]
    model = getattr(part, "model", None) if isinstance(part, _kinds()["postprocessor"]) else None
    if isinstance(model, str):
        names.append(PurePath(model).name if PurePath(model).is_absolute() else model)
    shown = " + ".join(name if count == 1 else f"{name} ×{count}" for name, count in Counter(names).items())
    return f"{type(part).__name__}({shown})" if shown else type(part).__name__
