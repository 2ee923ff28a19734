"""How deep a LlamaIndex system looks, set on a copy of it.

A retriever that strings together what several others return (`RecursiveRetriever`, index nodes with an `obj`,
a router that picks more than one) gives `k` of the first before it comes to the second.

An engine that looks up other engines while it is asked (a retriever of tools, a function from a node to an engine, a
graph of indexes) keeps its depth.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import PurePath
from typing import Any

from raglift.adapters.base import is_count
from raglift.adapters.depth import Walk, attributes_of, named
from raglift.adapters.overriding import definer

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


def deepen(system: Any, k: int | None) -> tuple[Any, tuple[str, ...]]:
    """Copy a retriever, query engine or postprocessor so that it returns at least `k` nodes if it can.

    Args:
        system: what is copied.
        k: how many nodes are wanted; None for its own settings.

    Returns:
        The copy, and the parts whose depth could not be set: `QueryFusionRetriever.retrievers[1]: MyRetriever`.
    """
    walk = _Walk(k)
    return walk.visit(system), tuple(walk.fixed)


def describe(system: Any) -> str:
    """Name a system by class and what it is made of, as `QueryFusionRetriever(VectorIndexRetriever + …)`."""
    store = vars(system).get("_vector_store")
    return _named(system, frozenset(), [] if store is None else [type(store).__name__])


class _Walk(Walk):
    def is_part(self, owner: Any, name: str, value: Any) -> bool:  # noqa: ARG002
        kinds = _kinds()
        return isinstance(value, tuple(kinds.values())) and not (
            name in ANSWERED and isinstance(value, kinds["engine"])
        )

    def deepen(self, twin: Any, path: str) -> None:
        if isinstance(twin, _kinds()["postprocessor"]):
            self._raise_cuts(twin)
            return
        if _is_sealed(twin):
            self.fixed.append(named(twin, path))
            return
        reached = self._raise_depth(twin) or _returns_everything(twin)
        inner = self.enter(twin, path)
        reached = reached or not all(isinstance(part, _kinds()["postprocessor"]) for part in inner)
        if not reached:
            self.fixed.append(named(twin, path))

    def _raise_cuts(self, postprocessor: Any) -> None:
        for space, name, value in attributes_of(postprocessor):
            if name in CUT_NAMES and name in type(postprocessor).model_fields and is_count(value):
                space[name] = self.raised(value)

    def _raise_depth(self, part: Any) -> bool:
        """Raise every depth of a copy; whether it has any. None stands for no limit, and stays."""
        depths = [found for found in attributes_of(part) if found[1].lstrip("_") in DEPTH_NAMES]
        depths = depths or [found for found in attributes_of(part) if found[1].lstrip("_") == BARE_DEPTH_NAME]
        most = _corpus_size(part)
        for space, name, value in depths:
            if is_count(value):
                raised = self.raised(value) or 0
                space[name] = raised if most is None else max(value, min(raised, most))
        return any(value is None or is_count(value) for _, _, value in depths)


def without_filters(system: Any) -> Any | None:
    """Copy a system without the filters of its own retrievers; None if they have none."""
    walk = _Unfiltered(None)
    twin = walk.visit(system)
    return twin if walk.found else None


class _Unfiltered(_Walk):
    found = False

    def deepen(self, twin: Any, path: str) -> None:
        super().deepen(twin, path)
        given = vars(twin).get("_filters")
        if given is not None and getattr(given, "filters", True):
            twin._filters = None  # noqa: SLF001 — it has no other way
            self.found = True


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


def _corpus_size(part: Any) -> int | None:
    """Return how many nodes a BM25Retriever can rank: above it, bm25s fails, or returns what a filter hid."""
    scores = getattr(getattr(part, "bm25", None), "scores", None)
    if not isinstance(scores, dict) or "num_docs" not in scores:
        return None
    mask = getattr(part, "corpus_weight_mask", None)
    return sum(map(bool, mask)) if mask else int(scores["num_docs"])


def _is_sealed(part: Any) -> bool:
    return any(cls.__name__ in SEALED for cls in type(part).__mro__)


def _returns_everything(part: Any) -> bool:
    retriever = definer(type(part), "_retrieve")
    return retriever is not None and retriever.__name__ in UNLIMITED


def _named(part: Any, above: frozenset[int], inside: list[str]) -> str:
    names = inside + [
        _named(child, above | {id(part)}, []) for child in _Walk(None).parts_of(part) if id(child) not in above
    ]
    model = getattr(part, "model", None) if isinstance(part, _kinds()["postprocessor"]) else None
    if isinstance(model, str):
        names.append(PurePath(model).name if PurePath(model).is_absolute() else model)
    shown = " + ".join(name if count == 1 else f"{name} ×{count}" for name, count in Counter(names).items())
    return f"{type(part).__name__}({shown})" if shown else type(part).__name__
