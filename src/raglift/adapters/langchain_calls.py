"""Listens to the tools, retrievers and language models that a LangChain agent or graph calls."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from raglift.adapters.agent_texts import places_of
from raglift.adapters.agents import Search
from raglift.adapters.call_tree import CallNode, CallTree
from raglift.adapters.results import documents_of_artifact, is_tool_message
from raglift.utilities.display import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raglift.adapters.agents import Scored


def listener() -> AgentCalls:
    """Return a new handler of LangChain's callbacks."""
    calls: AgentCalls = _handler()()
    return calls


@cache
def _handler() -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    return type("AgentCallsHandler", (AgentCalls, BaseCallbackHandler), {})


class AgentCalls(CallTree):
    """Notes every call of a tool, a retriever or a model, with what it is inside.

    Its methods `on_…` are those of LangChain's `BaseCallbackHandler`.
    """

    run_inline = True  # in the order of the calls, also where they are asynchronous

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[tuple[int, int], list[Any]] = {}
        """The retrievers under way in each thread and task: one may call another without handing its callbacks on."""

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a chain was called by."""
        metadata = kwargs.get("metadata") or {}
        step = (metadata["langgraph_step"], *metadata.get("langgraph_path", ())) if "langgraph_step" in metadata else ()
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("chain", step=step))

    def on_tool_start(self, serialized: Any, input_str: Any, *, run_id: Any, **kwargs: Any) -> None:
        """Note what a tool was called by and with, and for which of a model's calls."""
        given = kwargs.get("inputs")
        name = kwargs.get("name") or (serialized or {}).get("name") or ""
        arguments = dict(given) if isinstance(given, Mapping) else {"input": given or input_str}
        node = CallNode("tool", name=str(name), arguments=arguments, tool_call=kwargs.get("tool_call_id"))
        self.begin(run_id, kwargs.get("parent_run_id"), node)

    def on_retriever_start(self, serialized: Any, query: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever was called by, and its query."""
        with self._lock:
            around = self._open.setdefault(_flow(), [])
            inside = around[-1] if around else None
            around.append(run_id)
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("retriever", query=str(query)))
        if inside is not None and inside not in self.ancestors(run_id):
            self.move(run_id, inside)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note the prompt of a chat model."""
        texts = tuple(
            (str(message.type), _text_of(message), getattr(message, "tool_call_id", None))
            for batch in messages
            for message in batch
        )
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("model", messages=texts))

    def on_llm_start(self, serialized: Any, prompts: Sequence[str], *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note the prompt of a model that completes texts."""
        texts = tuple(("human", prompt, None) for prompt in prompts)
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("model", messages=texts))

    def on_tool_end(self, output: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a tool returned."""
        node = self.end(run_id)
        if node is None:
            return
        message = tool_message_in(output, node.tool_call)
        said = output if message is None else _text_of(message)
        node.output = said if isinstance(said, str) else None
        node.documents = None if message is None else documents_of_artifact(message.artifact)
        if message is not None and message.status == "error":
            node.error = said or "the tool says that it failed"

    def on_retriever_end(self, documents: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever returned."""
        self._close(run_id)
        self.end(run_id, documents=list(documents))

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a model answered, which tools it asked for, and what it was billed."""
        generations = [one for batch in response.generations for one in batch]
        node = self.end(run_id, output="".join(one.text for one in generations))
        message = getattr(generations[0], "message", None) if generations else None
        if node is None or message is None:
            return
        node.asked_for = _asked_for(message)
        usage = getattr(message, "usage_metadata", None) or {}
        if "input_tokens" in usage and "output_tokens" in usage:
            node.tokens = (usage["input_tokens"], usage["output_tokens"])

    def on_tool_error(self, error: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note why a tool failed."""
        self._close(run_id)
        self.end(run_id, error=describe_error(error))

    on_retriever_error = on_llm_error = on_tool_error

    def _close(self, run_id: Any) -> None:
        with self._lock:
            for around in self._open.values():
                if run_id in around:
                    around.remove(run_id)

    def prompt(self, answers: Iterable[str]) -> list[str] | None:
        """Return the texts of the prompt that the answer was written from; None if no model was called.

        It is that of the last call of a model, outside of tools and retrievers, that said the answer, else of the last
        one. If it has the answer of a tool that a model wrote, for example another agent's, the prompt of that one is
        part of it. What a model said itself is left out.

        Args:
            answers: the texts that the answer may be.
        """
        models = self._models()
        own = [node for run_id, node in models.items() if not self.is_inside(run_id, "tool")]
        said = {text.strip() for text in answers} - {""}
        last = next((node for node in reversed(own) if _said(node) in said), own[-1] if own else None)
        if last is None:
            return None
        texts = last.prompt
        for tool, node in self.of("tool").items():
            output = (node.output or "").strip()
            if output and places_of("\n".join(texts), [node.output or ""]):
                inside = [one for run_id, one in models.items() if tool in self.ancestors(run_id)]
                wrote = next((one for one in reversed(inside) if _said(one) == output), None)
                texts += [] if wrote is None else wrote.prompt
        return texts

    def _models(self) -> dict[Any, CallNode]:
        """Return the calls of models that were answered, but not those inside retrievers."""
        return {
            run_id: node
            for run_id, node in self.of("model").items()
            if node.output is not None and not self.is_inside(run_id, "retriever")
        }

    def searches(self, read: Callable[[Any], Scored], retrieving: Iterable[str] = ()) -> list[Search]:
        """Return the searches: the calls of tools that retrieved, and of retrievers that no tool called.

        They are in the order in which the model asked for them, else in which they began.

        Args:
            read: makes hits of what a framework's retriever returned.
            retrieving: the names of tools that are known to retrieve.
        """
        inside: dict[Any, list[Any]] = {}
        tools = self.of("tool")
        for run_id in self.of("retriever"):
            if not self.is_inside(run_id, "retriever"):
                owner = next((above for above in self.ancestors(run_id) if above in tools), run_id)
                inside.setdefault(owner, []).append(run_id)
        found = {run_id: self._search(node, inside.get(run_id, []), read) for run_id, node in tools.items()}
        found |= {
            run_id: self._search(self.nodes[run_id], [run_id], read)
            for run_id, within in inside.items()
            if within == [run_id]
        }
        searches, places = self.searches_among(found, retrieving), self._places()
        return [searches[run_id] for run_id in sorted(searches, key=lambda one: self._order(one, places))]

    def tool_calls(self) -> set[str]:
        """Return the ids of the calls of tools that were made."""
        return {node.tool_call for node in self.tools() if node.tool_call is not None}

    def _search(self, node: CallNode, retrievers: list[Any], read: Callable[[Any], Scored]) -> Search:
        layers = [self._layers(run_id) for run_id in retrievers]
        if len(layers) == 1:
            stages = tuple(read(one.documents) for one in layers[0] if one.documents is not None)
            seconds = _differences([one.seconds or 0.0 for one in layers[0] if one.documents is not None])
        else:
            last = [one[-1] for one in layers if one[-1].documents is not None]
            stages = (tuple(hit for one in last for hit in read(one.documents)),) if last else ()
            seconds = (sum(one.seconds or 0.0 for one in last),) if last else ()
        asked = layers[0][-1].query if layers else None
        if node.kind == "retriever":
            return Search(asked=asked, stages=stages, seconds=seconds, whole=node.seconds, error=node.error)
        return Search(
            node.name,
            node.arguments,
            asked,
            stages,
            None if node.documents is None else read(node.documents),
            node.output,
            seconds,
            node.seconds,
            self._tokens(node.tool_call),
            node.error,
        )

    def _layers(self, run_id: Any) -> list[CallNode]:
        """Return a retriever, and before it the one whose hits it reranks: the only one in it, for the same query."""
        node, retrievers = self.nodes[run_id], self.of("retriever")
        within = [
            one
            for one in retrievers
            if next((above for above in self.ancestors(one) if above in retrievers), None) == run_id
        ]
        if len(within) == 1 and retrievers[within[0]].query == node.query and node.documents is not None:
            return [*self._layers(within[0]), node]
        return [node]

    def _tokens(self, tool_call: str | None) -> int | None:
        """Return by how much a tool's answer lengthened the prompt; None if something else changed in it, too."""
        models = list(self._models().values()) if tool_call is not None else []
        for before, after in pairwise(models):
            added = after.messages[len(before.messages) :]
            is_longer = after.messages[: len(before.messages)] == before.messages
            if not is_longer or [kind for kind, *_ in added] != ["ai", "tool"]:
                continue
            if added[1][2] == tool_call and before.tokens and after.tokens:
                grown = after.tokens[0] - sum(before.tokens)
                return grown if grown > 0 else None
        return None

    def _places(self) -> dict[str, tuple[int, int]]:
        """Return where each call of a tool was asked for: by which of the models' answers, and its place in it."""
        return {
            call: (node.number, 1 + place)
            for node in self.of("model").values()
            for call, (place, _) in node.asked_for.items()
        }

    def _order(self, run_id: Any, places: Mapping[str, tuple[int, int]]) -> tuple[Any, ...]:
        """Return what a search is sorted by: the same in each run, also where several are made at once."""
        order: list[Any] = []
        for one in [*[*self.ancestors(run_id)][::-1], run_id]:
            node = self.nodes[one]
            if node.step:
                began = min(
                    other.number
                    for other in list(self.nodes.values())
                    if other.step[:1] == node.step[:1] and other.parent == node.parent
                )
                order.append((began, 0, tuple(map(_sortable, node.step[1:])), node.number))
            elif node.kind != "chain":
                asked, place = places.get(node.tool_call or "", (node.number, 0))
                order.append((asked, place, (), node.number))
        return tuple(order)


def _said(model: CallNode) -> str:
    return (model.output or "").strip()


def tool_message_in(output: Any, tool_call: str | None) -> Any:
    """Return the message in what a tool returned, which may be a command to a graph; None if it is something else."""
    update = getattr(output, "update", None)
    given = update.get("messages", ()) if isinstance(update, Mapping) else output
    several = given if isinstance(given, (list, tuple)) else [given]
    messages = [one for one in several if is_tool_message(one)]
    return next((one for one in messages if one.tool_call_id == tool_call), messages[0] if messages else None)


def searches_in_messages(
    messages: Sequence[Any], known: set[str], read: Callable[[Any], Scored], retrieving: Iterable[str]
) -> list[Search]:
    """Return the searches whose documents are in messages alone, as those of an agent on another machine.

    Args:
        messages: of an agent's answer.
        known: the ids of the calls that are in the tree already.
        read: makes hits of a tool's documents.
        retrieving: the names of tools that are known to retrieve.
    """
    asked: dict[str, Mapping[str, Any]] = {}
    searches = []
    for message in messages:
        asked |= {call: arguments for call, (_, arguments) in _asked_for(message).items()}
        if not is_tool_message(message) or message.tool_call_id in known:
            continue
        documents = documents_of_artifact(message.artifact)
        error = _text_of(message) if message.status == "error" else None
        if documents is not None or (error is not None and message.name in set(retrieving)):
            handed_on = None if documents is None else read(documents)
            arguments = asked.get(message.tool_call_id, {})
            searches.append(Search(message.name or "", arguments, handed_on=handed_on, error=error))
    return searches


def _asked_for(message: Any) -> dict[str, tuple[int, Mapping[str, Any]]]:
    calls = getattr(message, "tool_calls", None) or ()
    return {call["id"]: (place, call["args"]) for place, call in enumerate(calls) if call.get("id") is not None}


def _text_of(message: Any) -> str:
    """Return the text of a message, with the documents that providers take as blocks."""
    content = message.content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def _differences(seconds: list[float]) -> tuple[float, ...]:
    """Return the seconds of each layer: an outer retriever's hold those of the one inside it."""
    return tuple(max(one - before, 0.0) for before, one in zip([0.0, *seconds], seconds, strict=False))


def _sortable(part: Any) -> tuple[int, str]:
    return (part, "") if isinstance(part, int) else (-1, str(part))


def _flow() -> tuple[int, int]:
    """Return what tells threads and tasks apart: what one of them begins and ends inside another call is part of it."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop in this thread
        task = None
    return threading.get_ident(), id(task)
