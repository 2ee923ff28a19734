"""Query engines that a LlamaIndex system looks up, or makes, while it is asked: deepened as soon as they are there.

Such a system holds no engine that could be copied when it is opened: it holds a retriever of tools, a function
from a node to an engine, or a graph of indexes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["deepen_what_is_looked_up"]

Deeper = Callable[[Any], Any]
"""From a query engine, or a tool that holds one, to a copy that looks deeper."""


def deepen_what_is_looked_up(part: Any, deeper: Deeper) -> bool:
    """Let a copy of a system deepen what it looks up; whether it is one that looks up its engines.

    What it looks them up with keeps its depth: more of that would be other engines, not more nodes.
    """
    classes = {cls.__name__ for cls in type(part).__mro__ if cls.__module__.startswith("llama_index.core.")}
    held = vars(part)
    if "RetrieverRouterQueryEngine" in classes:
        find = held["_node_to_query_engine_fn"]
        held["_node_to_query_engine_fn"] = lambda node: deeper(find(node))
    elif "ToolRetrieverRouterQueryEngine" in classes:
        held["_retriever"] = _DeepTools(held["_retriever"], deeper)
    elif "ComposableGraphQueryEngine" in classes:
        held["_graph"] = _DeepGraph(held["_graph"], deeper)
    else:
        return False
    return True


class _DeepTools:
    """A retriever of tools, whose query engines look deeper."""

    def __init__(self, retriever: Any, deeper: Deeper) -> None:
        self._retriever = retriever
        self._deeper = deeper

    def retrieve(self, query: Any) -> list[Any]:
        return [self._deeper(tool) for tool in self._retriever.retrieve(query)]


class _DeepGraph:
    """A graph of indexes, which make query engines that look deeper."""

    def __init__(self, graph: Any, deeper: Deeper) -> None:
        self._graph = graph
        self._deeper = deeper

    @property
    def root_id(self) -> str:
        return str(self._graph.root_id)

    def get_index(self, index_id: str) -> _DeepIndex:
        return _DeepIndex(self._graph.get_index(index_id), self._deeper)


class _DeepIndex:
    """An index, which makes query engines that look deeper."""

    def __init__(self, index: Any, deeper: Deeper) -> None:
        self._index = index
        self._deeper = deeper

    def as_query_engine(self, **options: Any) -> Any:
        return self._deeper(self._index.as_query_engine(**options))
