"""The calls that an agent makes, as a tree: tools, retrievers and models, each below the call that it is inside.

LangChain's callbacks and LlamaIndex's dispatcher fill it with live objects. Here is decided which calls are searches,
which rankings each went through, and which prompt the answer was written from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from raglift.adapters.agent_texts import places_of
from raglift.adapters.agents import Scored, Search

Kind = Literal["chain", "tool", "retriever", "engine", "postprocessor", "model"]
_RETRIEVING: tuple[Kind, ...] = ("retriever", "engine", "postprocessor")


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
    asked_for: Mapping[str, int] = field(default_factory=dict)
    """The calls of tools that a model asked for: their places by their ids."""
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

    retrievers_rerank = False
    """Whether a retriever around another one, asked the same, reranks its hits, as those of LangChain do."""

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

    def ancestors(self, key: Any) -> Iterator[Any]:
        """Yield the calls that a call is inside, the innermost first."""
        parent = self._parents.get(key)
        while parent is not None and parent in self._parents:
            yield parent
            parent = self._parents[parent]

    def _is_inside(self, key: Any, *kinds: Kind) -> bool:
        return self._around(key, *kinds) is not None

    def _around(self, key: Any, *kinds: Kind) -> Any:
        """Return the innermost call of some kinds that a call is inside; None if there is none."""
        found = (above for above in self.ancestors(key) if above in self.nodes and self.nodes[above].kind in kinds)
        return next(found, None)

    # Searches.

    def searches(self, read: Callable[[Any], Scored], retrieving: Iterable[str] = ()) -> list[Search]:
        """Return the searches: the calls of tools that retrieved, and what retrieved outside of tools.

        They are in the order in which the model asked for them, else in which they began. A tool in which another one
        retrieved, for example one that asks another agent, is none. One that failed is one if the tool is known to
        retrieve.

        Args:
            read: makes hits of what a framework's retriever returned.
            retrieving: the names of tools that are known to retrieve.
        """
        found: dict[Any, Search] = {}
        for key, node in list(self.nodes.items()):
            if node.kind == "tool":
                found[key] = self._search(key, node, read)
            elif node.kind in _RETRIEVING and not self._is_inside(key, "tool", *_RETRIEVING):
                if node.kind != "postprocessor":
                    found[key] = self._search(key, node, read)
                elif node.documents is not None:
                    found |= _reranked({one: each for one, each in found.items() if not each.tool}, node, read)
        known = {*retrieving, *(one.tool for one in found.values() if one.found_anything and one.tool)}
        known = known or {one.tool for one in found.values() if one.error is not None}
        searches = {
            key: one
            for key, one in found.items()
            if one.found_anything or (one.error is not None and one.tool in known | {""})
        }
        around = {above for key in searches for above in self.ancestors(key)}
        asked = {call: place for node in self.of("model").values() for call, place in self._places(node)}
        ordered = sorted(searches.keys() - around, key=lambda key: self._order(key, asked))
        return [searches[key] for key in ordered]

    def _search(self, key: Any, node: CallNode, read: Callable[[Any], Scored]) -> Search:
        inside = {
            one: other
            for one, other in list(self.nodes.items())
            if one == key or (key in self.ancestors(one) and self._around(one, "tool") in (key, None))
        }
        every = [
            one for one, other in inside.items() if other.kind == "retriever" and not self._is_inside(one, "retriever")
        ]
        answered = [one for one in every if self.nodes[one].documents is not None]
        layers = self._layers(answered[0], inside) if len(answered) == 1 else []
        stages = [read(documents) for documents, _ in layers]
        seconds = [took for _, took in layers]
        if len(answered) > 1:
            several = [self.nodes[one] for one in answered]
            stages = [tuple(hit for one in several for hit in read(one.documents))]
            seconds = [sum(one.seconds or 0.0 for one in several)]
        handed_on = node.documents if node.kind != "retriever" else None
        if handed_on is None and node.kind == "tool":
            engines = [one for one, other in inside.items() if other.kind == "engine"]
            outer = [self.nodes[one] for one in engines if not self._is_inside(one, *_RETRIEVING)]
            handed_on = [document for one in outer for document in one.documents or ()] if outer else None
        return Search(
            node.name if node.kind == "tool" else "",
            node.arguments,
            self.nodes[every[0]].query if every and node.query is None else node.query,
            tuple(stages),
            None if handed_on is None else read(handed_on),
            node.output,
            tuple(seconds),
            node.seconds,
            self._tokens(node.tool_call),
            node.error,
        )

    def _layers(self, key: Any, inside: Mapping[Any, CallNode]) -> list[tuple[Any, float]]:
        """Return the documents and seconds of what a retriever reranked, of itself, and of postprocessors after it."""
        nested = [*(self._reranked_inside(key) if self.retrievers_rerank else ()), self.nodes[key]]
        times = [one.seconds or 0.0 for one in nested]  # an outer retriever's hold those of the one inside it
        own = [max(one - before, 0.0) for before, one in zip([0.0, *times], times, strict=False)]
        after = [
            (other.documents, other.seconds or 0.0)
            for one, other in inside.items()
            if other.kind == "postprocessor"
            and other.documents is not None
            and not self._is_inside(one, "retriever", "postprocessor")
        ]
        return [*zip((one.documents for one in nested), own, strict=True), *after]

    def _reranked_inside(self, key: Any) -> list[CallNode]:
        """Return the retrievers whose hits a retriever reranks: the only one in it, asked the same, and so on."""
        node = self.nodes[key]
        within = [one for one in self.of("retriever") if self._around(one, "retriever") == key]
        if len(within) != 1 or self.nodes[within[0]].query != node.query:
            return []
        inner = self.nodes[within[0]]
        return [*self._reranked_inside(within[0]), *([inner] if inner.documents is not None else ())]

    def _tokens(self, tool_call: str | None) -> int | None:
        """Return by how much a tool's answer lengthened the prompt; None if something else changed in it, too."""
        models = [
            node
            for key, node in self.of("model").items()
            if tool_call is not None and node.output is not None and not self._is_inside(key, "retriever")
        ]
        for before, after in pairwise(models):
            added = after.messages[len(before.messages) :]
            is_longer = after.messages[: len(before.messages)] == before.messages
            if not is_longer or [kind for kind, *_ in added] != ["ai", "tool"]:
                continue
            if added[1][2] == tool_call and before.tokens and after.tokens:
                grown = after.tokens[0] - sum(before.tokens)
                return grown if grown > 0 else None
        return None

    @staticmethod
    def _places(model: CallNode) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield where a model asked for each call of a tool: by which of the models' answers, and its place in it."""
        for call, place in model.asked_for.items():
            yield call, (model.number, 1 + place)

    def _order(self, key: Any, asked: Mapping[str, tuple[int, int]]) -> tuple[Any, ...]:
        """Return what a search is sorted by: the same in each run, also where several are made at once."""
        order: list[Any] = []
        for node in (self.nodes.get(one) for one in [*[*self.ancestors(key)][::-1], key]):
            if node is not None and node.step:
                began = min(
                    other.number
                    for other in list(self.nodes.values())
                    if other.step[:1] == node.step[:1] and other.parent == node.parent
                )
                order.append((began, 0, tuple(map(_sortable, node.step[1:])), node.number))
            elif node is not None and node.kind != "chain":
                model, place = asked.get(node.tool_call or "", (node.number, 0))
                order.append((model, place, (), node.number))
        return tuple(order)

    # What reached the answer.

    def prompt(self, answers: Sequence[str] = ()) -> list[str] | None:
        """Return the texts of the prompt that the answer was written from; None if no model was called.

        It is that of the last call of a model, outside of tools, that said the answer, else of the last one, with the
        other prompts of the query engine that asked it. If it has the answer of a tool that a model wrote, for example
        another agent's, that model's prompt is part of it. What a model said itself is left out.

        Args:
            answers: the texts that the answer may be, if they are known.
        """
        models = [key for key in self.of("model") if not self._is_inside(key, "model", "retriever", "postprocessor")]
        own = [key for key in models if not self._is_inside(key, "tool")]
        if not own:
            return None
        said = {text.strip() for text in answers} - {""}
        last = next((key for key in reversed(own) if (self.nodes[key].output or "").strip() in said), own[-1])
        texts = self._prompt_of(last, own)
        for tool, node in self.of("tool").items():
            within = [key for key in models if tool in self.ancestors(key)]
            if within and node.output and places_of("\n".join(texts), [node.output]):
                wrote = self.nodes[within[-1]].output
                texts += self._prompt_of(within[-1], within) if wrote is None or wrote.strip() in node.output else []
        return texts

    def _prompt_of(self, model: Any, models: Sequence[Any]) -> list[str]:
        """Return the prompt of a model, with those of the others that the same query engine asked."""
        engine = self._around(model, "engine")
        together = [key for key in models if engine is not None and engine in self.ancestors(key)] or [model]
        return [text for key in together for text in self.nodes[key].prompt]


def _reranked(searches: Mapping[Any, Search], node: CallNode, read: Callable[[Any], Scored]) -> dict[Any, Search]:
    """Return the searches whose nodes a postprocessor was given, each with those of its nodes that were left of it."""
    given = {key: one for key, one in searches.items() if one.stages and _ids(one.stages[-1]) & node.given_ids}
    left = read(node.documents or ())
    reranked = {}
    for key, search in given.items():
        others = {one for other in given if other != key for one in _ids(given[other].stages[-1])}
        own = _ids(search.stages[-1])
        hits = tuple(hit for hit in left if hit[0].id in own or hit[0].id not in others)
        reranked[key] = replace(search, stages=(*search.stages, hits), seconds=(*search.seconds, node.seconds or 0.0))
    return reranked


def _ids(ranking: Scored) -> frozenset[str]:
    return frozenset(chunk.id for chunk, _ in ranking)


def _sortable(part: Any) -> tuple[int, str]:
    return (part, "") if isinstance(part, int) else (-1, str(part))
