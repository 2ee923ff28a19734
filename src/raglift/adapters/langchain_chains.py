"""LangChain chains, graphs and agents: how they are asked a question, and where the documents are in their answer.

Nothing is found out by trial, because a trial may cost calls of a language model: the key of the question is read from
what the Runnable declares, and one that answers without documents is refused before it is asked where that is declared.
A chain that finds documents and then answers from them is opened, so that its language model is not asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from raglift.adapters.base import is_from
from raglift.adapters.langchain_depth import ENTRIES, children, resolved
from raglift.adapters.overriding import base_from, base_named, overridden
from raglift.adapters.results import LIST_KEYS, results_in, wrapper
from raglift.errors import UnsupportedSystem

QUESTION_KEYS = ("input", "question", "query", "messages")
"""The keys under which a chain or graph is known to take its question."""
_HISTORY = "chat_history"
_CLASSIC = {
    "RetrievalQA": ("BaseRetrievalQA", None),
    "ConversationalRetrievalChain": ("BaseConversationalRetrievalChain", "max_tokens_limit"),
    "RetrievalQAWithSourcesChain": ("BaseQAWithSourcesChain", "reduce_k_below_max_tokens"),
}
"""Classic chains whose documents are what their retriever returns for the first question of a conversation: the class
with `_get_docs`, the one with `_call`, and the field that makes them drop some."""
_OF_CHAINS = (
    *("retriever", "_get_docs", "_aget_docs", "_call", "_acall", "__call__", "acall", "run", "arun", "apply"),
    *("prep_inputs", "aprep_inputs", "prep_outputs", "aprep_outputs"),
)
"""What a classic chain is asked by besides, and what it calls to find documents."""


@dataclass(frozen=True)
class Asking:
    """How a Runnable is asked, and how its answer is read."""

    who: str
    """The name of its class, for messages."""
    key: str | None = None
    """The key of the question; None where the text itself is the input."""
    with_history: bool = False
    """Whether it takes the history of the chat too, which is empty: each query is the first of a conversation."""
    is_agent: bool = False
    """Whether it is a graph or an agent, which makes its own searches."""
    may_be_empty: bool = False
    """Whether an answer without any documents means that none were retrieved."""
    retrieving: frozenset[str] = frozenset()
    """The names of an agent's tools that are known to retrieve, so that a call of another need not have retrieved."""

    def question(self, query: str) -> Any:
        """Return the input for a query's text."""
        if self.key is None:
            return query
        history: dict[str, Any] = {_HISTORY: []} if self.with_history else {}
        if self.key != "messages":
            return {self.key: query, **history}
        from langchain_core.messages import HumanMessage

        return {self.key: [HumanMessage(query)], **history}

    @property
    def call(self) -> str:
        """How it is asked, for the function that a message recommends."""
        if self.key is None:
            return "system.invoke(query)"
        history = f", {_HISTORY!r}: []" if self.with_history else ""
        given = '[("user", query)]' if self.key == "messages" else "query"
        return f"system.invoke({{{self.key!r}: {given}{history}}})"

    @contextmanager
    def mapping_explained(self) -> Iterator[None]:
        """Say of a function that is given a text, and reads keys of it, that it takes a mapping."""
        try:
            yield
        except (TypeError, AttributeError) as error:
            if self.key is not None or not any(each in str(error) for each in _READS_KEYS_OF_A_TEXT):
                raise
            raise UnsupportedSystem(
                f"{self.who}: given the text of the query, it failed ({type(error).__name__}: {error}); expected a "
                "text as its input, or a mapping whose keys it declares" + wrapper('system.invoke({"question": query})')
            ) from error

    def results(self, answer: Any) -> Any:
        """Return what an answer holds as documents, best first.

        Raises:
            UnsupportedSystem: no documents are in it, or more than one list of them.
        """
        return results_in(answer, self.who, self.call) if isinstance(answer, Mapping) else answer


_READS_KEYS_OF_A_TEXT = ("string indices must be integers", "'str' object has no attribute 'get'")
"""What Python says where a key is read of a text."""


def asking(runnable: Any) -> Asking:
    """Return how a Runnable is asked.

    Raises:
        UnsupportedSystem: the key of the question cannot be told, it needs more than a question, or it is declared to
            answer with something else than documents.
    """
    from langchain_core.retrievers import BaseRetriever

    who, inner = type(runnable).__name__, _unbound(runnable)
    if isinstance(inner, BaseRetriever):
        return Asking(who)
    _refuse_text(runnable, who)
    key, with_history = _key(who, _inputs(runnable, inner))
    if not is_graph(inner) and not _is_agent_executor(inner):
        return Asking(who, key, with_history)
    tools = _tools(inner)
    may_be_empty = bool(tools) or _sets_documents(inner)
    retrieving = frozenset(str(tool.name) for tool in tools if _is_known_to_retrieve(tool))
    return Asking(who, key, with_history, True, may_be_empty, retrieving)


def _key(who: str, declared: tuple[Sequence[str], Sequence[str]] | None) -> tuple[str | None, bool]:
    """Return the key of the question, None for a text alone, and whether the history of the chat goes with it."""
    if declared is None:
        return None, False
    names, required = declared
    known = [name for name in QUESTION_KEYS if name in names]
    if len(known) > 1:
        known = [name for name in known if name in required] or known
    if not known:
        known = [name for name in names if name != _HISTORY]
        known = known if len(known) == 1 else [name for name in required if name != _HISTORY]
    if len(known) != 1 or set(required) - {*known, _HISTORY}:
        shown = f"the inputs {', '.join(names)}" if names else "a mapping whose keys are not declared as the input"
        first, *others = names or ["question"]
        given = ", ".join([f"{first!r}: query", *(f"{name!r}: '…'" for name in others)])
        raise UnsupportedSystem(
            f"{who}: found {shown}; expected one of {', '.join(QUESTION_KEYS)} to be all that it needs"
            + wrapper(f"system.invoke({{{given}}})")
        )
    return known[0], _HISTORY in names


def is_graph(runnable: Any) -> bool:
    """Whether a Runnable is a graph of LangGraph, as agents are; imports nothing."""
    return is_from(runnable, "langgraph.pregel")


def agent_name(runnable: Any) -> str:
    """Return what to call an agent: by the name that it was given, else by its framework."""
    inner = _unbound(runnable)
    given = getattr(inner, "name", None) or "LangChain"  # LangGraph calls one without a name "LangGraph"
    return f"{given} agent" if given in ("LangChain", "LangGraph") else str(given)


def _unbound(runnable: Any) -> Any:
    """Return what `with_config`, `with_retry`, `bind` and the like were called on."""
    from langchain_core.runnables.base import RunnableBindingBase

    return _unbound(resolved(runnable.bound)) if isinstance(runnable, RunnableBindingBase) else runnable


def _is_chain(runnable: Any) -> bool:
    return is_from(runnable, "langchain_classic") and hasattr(runnable, "input_keys")


def _is_agent_executor(runnable: Any) -> bool:
    return _is_chain(runnable) and hasattr(runnable, "tools") and hasattr(runnable, "agent")


# What a Runnable declares.


def _inputs(runnable: Any, inner: Any) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return the keys of a mapping that a Runnable takes, and those that it requires; None if it takes no mapping."""
    if is_graph(inner) and (builder := getattr(inner, "builder", None)) is not None:
        names = _named(builder.schemas.get(builder.input_schema, {}))
        return (names, ()) if names else None
    if _is_chain(inner) and inner.input_keys:
        return list(inner.input_keys), list(inner.input_keys)
    schema = _schema(inner.agent.runnable if _is_agent_executor(inner) else runnable, "input")
    if schema.get("type") != "object":
        return None
    return _named(schema.get("properties", {})), _named(schema.get("required", ()))


def _named(keys: Iterable[str]) -> list[str]:
    """Return the keys that a caller gives: not what an agent fills in itself, nor pydantic's name of any input."""
    return [key for key in keys if key not in ("root", "__root__", "intermediate_steps", "agent_scratchpad")]


def _schema(runnable: Any, side: str) -> dict[str, Any]:
    """Return the JSON schema of a Runnable's input or output; empty where it cannot be made."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: dict[str, Any] = getattr(runnable, f"get_{side}_jsonschema")()
    except Exception:  # noqa: BLE001 — types that pydantic cannot read, keys that no step sets
        return {}
    return found


def _refuse_text(runnable: Any, who: str) -> None:
    """Raise for a Runnable that ends in a text or in a language model."""
    from langchain_core.language_models import BaseLanguageModel
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableSequence

    inner = _unbound(runnable)
    if is_graph(inner) or (isinstance(inner, RunnableSequence) and not is_plain(inner)):
        return  # its answer is its state; or is what its own code makes of the last step
    steps = _steps(runnable)
    if not isinstance(steps[-1], BaseLanguageModel) and _schema(runnable, "output").get("type") != "string":
        return
    inside = dict.fromkeys(type(part).__name__ for part in _parts(runnable) if isinstance(part, BaseRetriever))
    here = f": pass its {' or '.join(inside)}" if inside else ""
    raise UnsupportedSystem(
        f"{who}: answers with a text; expected documents. A chain must end where its documents are, before a prompt or "
        f"a model takes them{here}"
    )


def _parts(runnable: Any) -> Iterator[Any]:
    """Return a Runnable and every part of it, first to last."""
    part = _unbound(resolved(runnable))
    yield part
    for inner in inside(part):
        yield from _parts(inner)


def inside(part: Any) -> list[Any]:
    """Return the parts that a Runnable runs: steps, branches, ways, retrievers."""
    from langchain_core.runnables import RunnableSequence

    if isinstance(part, RunnableSequence):
        return list(part.steps)
    return list(_set_by(part).values()) or children(part)


def _set_by(step: Any) -> dict[str, Any]:
    """Return what sets each key of the mapping that a step returns, or adds to."""
    from langchain_core.runnables import RunnableParallel
    from langchain_core.runnables.passthrough import RunnableAssign

    if not isinstance(step, RunnableAssign | RunnableParallel) or not is_plain(step):
        return {}
    mapper = step.mapper if isinstance(step, RunnableAssign) else step
    return dict(mapper.steps__) if is_plain(mapper) else {}


def _steps(runnable: Any) -> list[Any]:
    """Return the steps of a sequence, with those of sequences inside it; of anything else, itself."""
    from langchain_core.runnables import RunnableBinding, RunnableSequence

    runnable = resolved(runnable)
    if type(runnable) is RunnableBinding and not runnable.kwargs and is_plain(runnable):
        return _steps(runnable.bound)
    if isinstance(runnable, RunnableSequence) and is_plain(runnable):
        return [each for step in runnable.steps for each in _steps(step)]
    return [runnable]


# Chains that are opened, and copies that keep nothing.


def changes(obj: Any, owner: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return which of some names an object has otherwise than LangChain's class `owner`; None if it is none of it."""
    known = base_named(obj, owner, "langchain")
    return None if known is None else overridden(obj, known, names)


def is_plain(runnable: Any) -> bool:
    """Whether a Runnable of LangChain's is asked by the code of LangChain's own class."""
    return not changed_entries(runnable)


def changed_entries(runnable: Any) -> tuple[str, ...]:
    """Return which of the methods by which a Runnable is asked, and of its parts, LangChain's own class has not."""
    parts = ("steps", "mapper", "steps__", "keys", "bound")
    return overridden(runnable, base_from(runnable, "langchain_core"), (*ENTRIES, *parts))


def documents_part(runnable: Any) -> tuple[Any, bool] | None:
    """Return the part of a chain that finds its documents, where that is certain.

    Args:
        runnable: a chain, perhaps wrapped by `with_config` and the like.

    Returns:
        The part, and whether it is asked with the text of the question alone; None if the chain cannot be opened. Of
        `{"context": retriever, …} | …`, and so of `create_retrieval_chain`, it is what sets the documents, without
        the steps after it that only add other keys; of classic chains it is the retriever.
    """
    from langchain_core.runnables.base import RunnableBindingBase

    if isinstance(runnable, RunnableBindingBase):
        if runnable.kwargs or not is_plain(runnable):
            return None
        if (found := documents_part(resolved(runnable.bound))) is None:
            return None
        return runnable.model_copy(update={"bound": found[0]}), found[1]
    for owner, (base, limit) in _CLASSIC.items():
        names = (*ENTRIES, *_OF_CHAINS)
        if changes(runnable, owner, names) == () and base_named(runnable, base, "langchain") is not None:
            return None if limit is not None and getattr(runnable, limit) else (runnable.retriever, True)
    found = _before_the_answer(runnable)
    return None if found is None else (found, False)


def _before_the_answer(runnable: Any) -> Any:
    """Return the beginning of a sequence, up to where its documents are; None if there is no later step to drop."""
    from langchain_core.runnables import RunnablePick, RunnableSequence
    from langchain_core.runnables.passthrough import RunnableAssign

    steps = _steps(runnable)
    sets = [(at, key, part) for at, step in enumerate(steps) for key, part in _set_by(step).items()]
    setters = [(at, key, part) for at, key, part in sets if key in LIST_KEYS or _finds_documents(part)]
    if not setters:
        return None
    last, key, part = setters[-1]
    later = steps[last + 1 :]
    if not all(map(is_plain, later)):
        return None
    if later and isinstance(later[-1], RunnablePick):
        picked = later.pop().keys
        if key not in ([picked] if isinstance(picked, str) else picked):
            return None
    if not all(isinstance(step, RunnableAssign) for step in later):
        return None
    kept = [*steps[:last], part] if len(setters) == 1 else steps[: last + 1]
    if len(kept) == len(steps) and kept[-1] is steps[-1]:
        return None
    return kept[0] if len(kept) == 1 else RunnableSequence(*kept)


def _finds_documents(part: Any) -> bool:
    schema = _schema(part, "output")
    return schema.get("type") == "array" and str(schema.get("items", {}).get("$ref", "")).endswith("/Document")


def without_memory(runnable: Any) -> Any:
    """Return a copy of a graph or classic chain that neither reads nor writes what its user keeps of conversations.

    A classic chain is also told to return the documents that it answers from.
    """
    from langchain_core.runnables.base import RunnableBindingBase

    if isinstance(runnable, RunnableBindingBase):
        inner = resolved(runnable.bound)
        copied = without_memory(inner)
        return runnable if copied is inner else runnable.model_copy(update={"bound": copied})
    if is_graph(runnable):
        return runnable if not getattr(runnable, "checkpointer", None) else runnable.copy({"checkpointer": None})
    if not _is_chain(runnable):
        return runnable
    wanted = {"memory": None, "return_source_documents": True, "return_intermediate_steps": True}
    return runnable.model_copy(
        update={key: value for key, value in wanted.items() if key in type(runnable).model_fields}
    )


# Graphs.


def _nodes(graph: Any) -> Iterator[Any]:
    """Return what the nodes of a graph run, and those of the graphs inside it."""
    for node in getattr(graph, "nodes", {}).values():  # a remote graph does not tell
        bound = getattr(node, "bound", node)
        for part in (bound, *getattr(bound, "steps", ())):
            yield part
            if is_graph(part):
                yield from _nodes(part)


def _sets_documents(graph: Any) -> bool:
    """Whether a graph declares that documents are in its answer, which may be without them where it set none."""
    builder = getattr(graph, "builder", None)
    outputs = getattr(builder, "schemas", {}).get(getattr(builder, "output_schema", None), {})
    return any(name in LIST_KEYS for name in outputs)


def _tools(agent: Any) -> list[Any]:
    """Return the tools that an agent, or a graph with agents inside it, may call."""
    if not is_graph(agent):
        return list(agent.tools)
    return [tool for part in _nodes(agent) for tool in getattr(part, "tools_by_name", {}).values()]


def _is_known_to_retrieve(tool: Any) -> bool:
    """Whether a tool hands on more than its text, or was made of a retriever."""
    if getattr(tool, "response_format", None) == "content_and_artifact":
        return True
    functions = (getattr(tool, "func", None), getattr(tool, "coroutine", None))
    cells = [cell.cell_contents for function in functions for cell in getattr(function, "__closure__", None) or ()]
    return any(is_from(value, "langchain_core.retrievers") for value in cells)


def graph_answers_sync(graph: Any) -> bool:
    """Whether no node of a graph, and no tool that it calls, is a coroutine function alone."""
    for part in _nodes(graph):
        if getattr(part, "afunc", None) is not None and getattr(part, "func", None) is None:
            return False
        for tool in getattr(part, "tools_by_name", {}).values():
            if getattr(tool, "coroutine", None) is not None and getattr(tool, "func", None) is None:
                return False
    return True
