"""Listens to the tools, retrievers and language models that a LangChain agent or graph calls."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from raglift.adapters.agent_texts import places_of
from raglift.adapters.agents import Search
from raglift.adapters.results import documents_of_artifact, is_tool_message
from raglift.base.display import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from raglift.adapters.agents import Scored


def listener() -> AgentCalls:
    """Return a new handler of LangChain's callbacks."""
    calls: AgentCalls = _handler()()
    return calls


@cache
def _handler() -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    return type("AgentCallsHandler", (AgentCalls, BaseCallbackHandler), {})


@dataclass
class Heard:
    """A call of a chain, a tool, a retriever or a language model."""

    kind: Literal["chain", "tool", "retriever", "model"]
    number: int
    """In the order in which calls began."""
    parent: Any
    """The id of the call that it is inside; None for the outermost."""
    name: str = ""
    given: Any = None
    """The arguments of a tool, the text of a retriever, the messages of a model."""
    tool_call: str | None = None
    """Of a tool, the id of the model's call of it."""
    step: tuple[Any, ...] = ()
    """Of a node of a graph, the step and the node's path in it: nodes of one step run at the same time."""
    result: Any = None
    error: str | None = None
    seconds: float | None = None
    tokens: tuple[int, int] | None = None
    """Of a model's prompt and answer, as the provider counted them."""
    asked_for: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    """The calls of tools that a model asked for: their places and arguments by their ids."""


class AgentCalls:
    """Notes every call of a tool, a retriever or a model, with what it is inside.

    Its methods are those of LangChain's `BaseCallbackHandler`.
    """

    run_inline = True  # in the order of the calls, also where they are asynchronous

    def __init__(self) -> None:
        self._heard: dict[Any, Heard] = {}
        self._began: dict[Any, float] = {}
        self._open: dict[tuple[int, int], list[Any]] = {}
        """The retrievers under way in each thread and task: one may call another without handing its callbacks on."""
        self._lock = threading.Lock()

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a chain was called by."""
        metadata = kwargs.get("metadata") or {}
        step = (metadata["langgraph_step"], *metadata.get("langgraph_path", ())) if "langgraph_step" in metadata else ()
        self._begin(run_id, kwargs, "chain", step=step)

    def on_tool_start(self, serialized: Any, input_str: Any, *, run_id: Any, **kwargs: Any) -> None:
        """Note what a tool was called by and with, and for which of a model's calls."""
        given = kwargs.get("inputs")
        name = kwargs.get("name") or (serialized or {}).get("name") or ""
        arguments = dict(given) if isinstance(given, Mapping) else {"input": given or input_str}
        call = kwargs.get("tool_call_id")
        self._begin(run_id, kwargs, "tool", name=str(name), given=arguments, tool_call=call)

    def on_retriever_start(self, serialized: Any, query: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever was called by, and its query."""
        with self._lock:
            around = self._open.setdefault(_flow(), [])
            inside = around[-1] if around else None
            around.append(run_id)
        self._begin(run_id, kwargs, "retriever", given=str(query))
        if inside is not None and inside not in self._ancestors(run_id):
            self._heard[run_id].parent = inside

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note the prompt of a chat model."""
        texts = tuple(
            (str(message.type), _text_of(message), getattr(message, "tool_call_id", None))
            for batch in messages
            for message in batch
        )
        self._begin(run_id, kwargs, "model", given=texts)

    def on_llm_start(self, serialized: Any, prompts: Sequence[str], *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note the prompt of a model that completes texts."""
        self._begin(run_id, kwargs, "model", given=tuple(("human", prompt, None) for prompt in prompts))

    def on_tool_end(self, output: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a tool returned."""
        self._end(run_id, output)

    def on_retriever_end(self, documents: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever returned."""
        self._end(run_id, list(documents))

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a model answered, which tools it asked for, and what it was billed."""
        generations = [one for batch in response.generations for one in batch]
        self._end(run_id, "".join(one.text for one in generations))
        heard = self._heard.get(run_id)
        message = getattr(generations[0], "message", None) if generations else None
        if heard is None or message is None:
            return
        heard.asked_for = _asked_for(message)
        usage = getattr(message, "usage_metadata", None) or {}
        if "input_tokens" in usage and "output_tokens" in usage:
            heard.tokens = (usage["input_tokens"], usage["output_tokens"])

    def on_tool_error(self, error: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note why a tool failed."""
        self._end(run_id, None, describe_error(error))

    on_retriever_error = on_llm_error = on_tool_error

    def prompt(self, answers: Iterable[str]) -> list[str] | None:
        """Return the texts of the prompt that the answer was written from; None where no model was heard.

        It is that of the last call of a model, outside of tools and retrievers, that said the answer, else of the last
        one. Where it has the answer of a tool that a model wrote, as of another agent, the prompt of that one is part
        of it. What a model said itself is left out.

        Args:
            answers: the texts that the answer may be.
        """
        own = [heard for run_id, heard in self._models() if not self._inside(run_id, "tool")]
        said = {text.strip() for text in answers} - {""}
        last = next((heard for heard in reversed(own) if heard.result.strip() in said), own[-1] if own else None)
        if last is None:
            return None
        texts = _given(last)
        for tool, heard in self._of("tool"):
            message = tool_message_in(heard.result, heard.tool_call)
            output = heard.result if message is None else _text_of(message)
            if isinstance(output, str) and output.strip() and places_of("\n".join(texts), [output]):
                inside = [one for run_id, one in self._models() if tool in self._ancestors(run_id)]
                wrote = next((one for one in reversed(inside) if one.result.strip() == output.strip()), None)
                texts += [] if wrote is None else _given(wrote)
        return texts

    def _models(self) -> list[tuple[Any, Heard]]:
        """Return the calls of models that were answered, but not those inside retrievers."""
        return [
            (run_id, heard)
            for run_id, heard in self._of("model")
            if isinstance(heard.result, str) and not self._inside(run_id, "retriever")
        ]

    def searches(self, read: Callable[[Any], Scored], retrieving: Iterable[str] = ()) -> list[Search]:
        """Return the searches: the calls of tools that retrieved, and of retrievers that no tool called.

        They are in the order in which the model asked for them, else in which they began. A tool in which another one
        retrieved, as one that asks another agent, is none. One that failed is one if the tool is known to retrieve.

        Args:
            read: makes hits of what a framework's retriever returned.
            retrieving: the names of tools that are known to retrieve.
        """
        inside: dict[Any, list[Any]] = {}
        for run_id, _ in self._of("retriever"):
            if not self._inside(run_id, "retriever"):
                owner = next((above for above in self._ancestors(run_id) if self._heard[above].kind == "tool"), run_id)
                inside.setdefault(owner, []).append(run_id)
        found: dict[Any, Search] = {
            run_id: self._search(heard, inside.get(run_id, []), read) for run_id, heard in self._of("tool")
        }
        found |= {
            run_id: self._search(self._heard[run_id], [run_id], read)
            for run_id, within in inside.items()
            if within == [run_id]
        }
        known = {*retrieving, *(one.tool for one in found.values() if one.found_anything and one.tool)}
        known = known or {one.tool for one in found.values() if one.error is not None}
        kept = {
            run_id: one
            for run_id, one in found.items()
            if one.found_anything or (one.error is not None and one.tool in known | {""})
        }
        around = {above for run_id in kept for above in self._ancestors(run_id)}
        places = self._places()
        return [
            kept[run_id] for run_id in sorted(kept, key=lambda one: self._order(one, places)) if run_id not in around
        ]

    def tool_calls(self) -> set[str]:
        """Return the ids of the calls of tools that were heard."""
        return {heard.tool_call for _, heard in self._of("tool") if heard.tool_call is not None}

    def tools(self) -> list[Heard]:
        """Return the calls of tools."""
        return [heard for _, heard in self._of("tool")]

    def _search(self, heard: Heard, retrievers: list[Any], read: Callable[[Any], Scored]) -> Search:
        layers = [self._layers(run_id) for run_id in retrievers]
        if len(layers) == 1:
            stages = tuple(read(one.result) for one in layers[0] if one.result is not None)
            seconds = _differences([one.seconds or 0.0 for one in layers[0] if one.result is not None])
        else:
            last = [one[-1] for one in layers if one[-1].result is not None]
            stages = (tuple(hit for one in last for hit in read(one.result)),) if last else ()
            seconds = (sum(one.seconds or 0.0 for one in last),) if last else ()
        asked = layers[0][-1].given if layers else None
        if heard.kind == "retriever":
            return Search(asked=asked, stages=stages, seconds=seconds, whole=heard.seconds, error=heard.error)
        message = tool_message_in(heard.result, heard.tool_call)
        documents = None if message is None else documents_of_artifact(message.artifact)
        output = heard.result if message is None else _text_of(message)
        error = heard.error
        if message is not None and message.status == "error":
            error = output or "the tool says that it failed"
        return Search(
            heard.name,
            heard.given,
            asked,
            stages,
            None if documents is None else read(documents),
            output if isinstance(output, str) else None,
            seconds,
            heard.seconds,
            self._tokens(heard.tool_call),
            error,
        )

    def _layers(self, run_id: Any) -> list[Heard]:
        """Return a retriever, and before it the one whose hits it reranks: the only one in it, for the same query."""
        heard = self._heard[run_id]
        within = [
            one
            for one, other in self._of("retriever")
            if next((above for above in self._ancestors(one) if self._heard[above].kind == "retriever"), None) == run_id
        ]
        if len(within) == 1 and self._heard[within[0]].given == heard.given and heard.result is not None:
            return [*self._layers(within[0]), heard]
        return [heard]

    def _tokens(self, tool_call: str | None) -> int | None:
        """Return by how much a tool's answer lengthened the prompt; None where something else changed in it, too."""
        models = [heard for _, heard in self._models()] if tool_call is not None else []
        for before, after in pairwise(models):
            added = after.given[len(before.given) :]
            is_longer = after.given[: len(before.given)] == before.given
            if not is_longer or [kind for kind, *_ in added] != ["ai", "tool"]:
                continue
            if added[1][2] == tool_call and before.tokens and after.tokens:
                grown = after.tokens[0] - sum(before.tokens)
                return grown if grown > 0 else None
        return None

    def _places(self) -> dict[str, tuple[int, int]]:
        """Return where each call of a tool was asked for: by which of the models' answers, and its place in it."""
        return {
            call: (heard.number, 1 + place)
            for _, heard in self._of("model")
            for call, (place, _) in heard.asked_for.items()
        }

    def _order(self, run_id: Any, places: Mapping[str, tuple[int, int]]) -> tuple[Any, ...]:
        """Return what a search is sorted by: the same in each run, also where several are made at once."""
        order: list[Any] = []
        for one in [*[*self._ancestors(run_id)][::-1], run_id]:
            heard = self._heard[one]
            if heard.step:
                began = min(
                    other.number
                    for other in list(self._heard.values())
                    if other.step[:1] == heard.step[:1] and other.parent == heard.parent
                )
                order.append((began, 0, tuple(map(_sortable, heard.step[1:])), heard.number))
            elif heard.kind != "chain":
                asked, place = places.get(heard.tool_call or "", (heard.number, 0))
                order.append((asked, place, (), heard.number))
        return tuple(order)

    def _of(self, kind: str) -> list[tuple[Any, Heard]]:
        return [(run_id, heard) for run_id, heard in list(self._heard.items()) if heard.kind == kind]

    def _inside(self, run_id: Any, *kinds: str) -> bool:
        return any(self._heard[above].kind in kinds for above in self._ancestors(run_id))

    def _ancestors(self, run_id: Any) -> Iterator[Any]:
        while (heard := self._heard.get(run_id)) is not None and heard.parent in self._heard:
            run_id = heard.parent
            yield run_id

    def _begin(self, run_id: Any, kwargs: Mapping[str, Any], kind: Any, **known: Any) -> None:
        with self._lock:
            self._heard[run_id] = Heard(kind, len(self._heard), kwargs.get("parent_run_id"), **known)
            self._began[run_id] = time.perf_counter()

    def _end(self, run_id: Any, result: Any, error: str | None = None) -> None:
        with self._lock:
            for around in self._open.values():
                if run_id in around:
                    around.remove(run_id)
            heard = self._heard.get(run_id)
            if heard is not None:
                heard.result, heard.error = result, error
                heard.seconds = time.perf_counter() - self._began[run_id]


def _given(model: Heard) -> list[str]:
    return [text for kind, text, _ in model.given if kind != "ai"]


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
        known: the ids of the calls that were heard.
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
