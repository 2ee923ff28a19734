"""The calls that an agent makes, as a tree: tools, retrievers and models, each below the call that it is inside.

LangChain's callbacks and LlamaIndex's dispatcher fill it with live objects. Which calls are searches is decided here;
which rankings a search went through depends on how a framework nests its retrievers.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from raglift.adapters.agents import Search


Kind = Literal["chain", "tool", "retriever", "engine", "postprocessor", "model"]


@dataclass
class CallNode:
    """A call of a chain, a tool, a retriever, a query engine, a postprocessor or a language model."""

    kind: Kind
    parent: Any = None
    """The id of the call that it is inside; None for the outermost."""
    name: str = ""
    """The tool's, else the name of the class."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of a tool."""
    query: str | None = None
    """Of a retriever or engine."""
    messages: tuple[tuple[str, str, str | None], ...] = ()
    """What a model was given: role, text, and the id of the call that a tool's message answers."""
    given_ids: frozenset[str] = frozenset()
    """The ids of the nodes that a postprocessor was given."""
    tool_call: str | None = None
    """Of a tool, the id of the model's call of it."""
    step: tuple[Any, ...] = ()
    """Of a node of a graph, the step and the node's path in it: nodes of one step run at the same time."""
    documents: Any = None
    """What came back, if that is documents; None if it is not, or nothing came back."""
    output: str | None = None
    """The text that a tool or model returned; None if it is not known, for example of a stream."""
    error: str | None = None
    """Why it failed."""
    tokens: tuple[int, int] | None = None
    """Of a model's prompt and answer, as the provider counted them."""
    asked_for: Mapping[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    """The calls of tools that a model asked for: their places and arguments by their ids."""
    number: int = 0
    """In the order in which calls began."""
    began: float = field(default_factory=time.perf_counter)
    seconds: float | None = None

    @property
    def prompt(self) -> list[str]:
        """The texts of what a model was given, without what models said before."""
        return [text for role, text, _ in self.messages if role not in ("ai", "assistant")]


class CallTree:
    """All calls of one run of an agent."""

    def __init__(self) -> None:
        self.nodes: dict[Any, CallNode] = {}
        """By the ids that the framework gives them, in the order in which they began."""
        self._parents: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def begin(self, key: Any, parent: Any, node: CallNode | None = None) -> None:
        """Note that a call began; without a node it is only what others are inside."""
        with self._lock:
            self._parents[key] = parent
            if node is not None:
                node.parent, node.number = parent, len(self.nodes)
                self.nodes[key] = node

    def end(self, key: Any, **found: Any) -> CallNode | None:
        """Note what a call returned, as fields of its node; return the node."""
        node = self.nodes.get(key)
        if node is not None:
            for name, value in found.items():
                setattr(node, name, value)
            node.seconds = time.perf_counter() - node.began
        return node

    def move(self, key: Any, parent: Any) -> None:
        """Say that a call is inside another than the framework knows of."""
        self._parents[key] = self.nodes[key].parent = parent

    def of(self, *kinds: Kind) -> dict[Any, CallNode]:
        """Return the calls of some kinds."""
        return {key: node for key, node in list(self.nodes.items()) if node.kind in kinds}

    def tools(self) -> list[CallNode]:
        """Return the calls of tools."""
        return list(self.of("tool").values())

    def ancestors(self, key: Any) -> Iterator[Any]:
        """Yield the calls that a call is inside, the innermost first."""
        parent = self._parents.get(key)
        while parent is not None and parent in self._parents:
            yield parent
            parent = self._parents[parent]

    def is_inside(self, key: Any, *kinds: Kind) -> bool:
        """Whether a call is inside one of some kinds."""
        return any(above in self.nodes and self.nodes[above].kind in kinds for above in self.ancestors(key))

    def searches_among(self, found: Mapping[Any, Search], retrieving: Iterable[str]) -> dict[Any, Search]:
        """Return those calls that are searches.

        A tool in which another one retrieved, for example one that asks another agent, is none. One that failed is one
        if the tool is known to retrieve.

        Args:
            found: the calls of tools, and of retrievers outside of them.
            retrieving: the names of tools that are known to retrieve.
        """
        known = {*retrieving, *(one.tool for one in found.values() if one.found_anything and one.tool)}
        known = known or {one.tool for one in found.values() if one.error is not None}
        searches = {
            key: one
            for key, one in found.items()
            if one.found_anything or (one.error is not None and one.tool in known | {""})
        }
        around = {above for key in searches for above in self.ancestors(key)}
        return {key: one for key, one in searches.items() if key not in around}
