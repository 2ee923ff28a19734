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
    for name, (attribute, deep) in _LOOKUPS.items():
        if name in classes and attribute in held:  # another version may name it otherwise: then its depth is fixed
            held[attribute] = deep(held[attribute], deeper)
            return True
    return False


class _Deep:
    """Stands for an object that finds or makes engines; what is not defined here, the object answers itself."""

    def __init__(self, found: Any, deeper: Deeper) -> None:
        self._found = found
        self._deeper = deeper

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)


class _DeepFunction(_Deep):
    """A function from a node to a query engine, which looks deeper."""

    def __call__(self, node: Any) -> Any:
        return self._deeper(self._found(node))


class _DeepTools(_Deep):
    """A retriever of tools, whose query engines look deeper."""

    def retrieve(self, query: Any) -> list[Any]:
        return [self._deeper(tool) for tool in self._found.retrieve(query)]


class _DeepGraph(_Deep):
    """A graph of indexes, which make query engines that look deeper."""

    def get_index(self, index_id: str) -> _DeepIndex:
        return _DeepIndex(self._found.get_index(index_id), self._deeper)


class _DeepIndex(_Deep):
    """An index, which makes query engines that look deeper."""

    def as_query_engine(self, **options: Any) -> Any:
        return self._deeper(self._found.as_query_engine(**options))


_LOOKUPS: dict[str, tuple[str, type[_Deep]]] = {
    "RetrieverRouterQueryEngine": ("_node_to_query_engine_fn", _DeepFunction),
    "ToolRetrieverRouterQueryEngine": ("_retriever", _DeepTools),
    "ComposableGraphQueryEngine": ("_graph", _DeepGraph),
}
"""Classes of llama-index-core by name: the attribute that leads to their engines, and what stands for it."""
