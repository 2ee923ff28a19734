"""Listens to the retrievers that a LangChain agent or graph calls."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def listener() -> RetrieverCalls:
    """Return a new handler of LangChain's callbacks."""
    calls: RetrieverCalls = _handler()()
    return calls


@cache
def _handler() -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    return type("RetrieverCallsHandler", (RetrieverCalls, BaseCallbackHandler), {})


class RetrieverCalls:
    """Notes the documents of every retriever that is called, but not of the retrievers inside one.

    Its methods are those of LangChain's `BaseCallbackHandler`.
    """

    run_inline = True  # in the order of the calls, also where they are asynchronous

    def __init__(self) -> None:
        self._parents: dict[Any, Any] = {}
        self._found: dict[Any, list[Any] | None] = {}
        self._tools: dict[Any, str] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a chain was called by."""
        self._parents[run_id] = kwargs.get("parent_run_id")

    def on_tool_start(self, serialized: Any, input_str: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a tool was called by, and for which of a model's calls."""
        self._parents[run_id] = kwargs.get("parent_run_id")
        if kwargs.get("tool_call_id") is not None:
            self._tools[run_id] = kwargs["tool_call_id"]

    def on_retriever_start(self, serialized: Any, query: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever was called by."""
        self._parents[run_id] = kwargs.get("parent_run_id")
        self._found[run_id] = None

    def on_retriever_end(self, documents: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever returned."""
        self._found[run_id] = list(documents)

    def calls(self) -> list[list[Any]]:
        """Return the documents of each call, in the order in which the calls were begun."""
        return [documents for _, documents in self._outermost()]

    def by_tool_call(self) -> dict[str, list[list[Any]]]:
        """Return the documents that were retrieved inside each call of a tool, by its id; calls may share one."""
        inside: dict[Any, list[Any]] = {}
        for run_id, documents in self._outermost():
            for tool in self._above(run_id):
                if tool in self._tools:
                    inside.setdefault(tool, []).extend(documents)
        found: dict[str, list[list[Any]]] = {}
        for tool, call_id in self._tools.items():
            if tool in inside:
                found.setdefault(call_id, []).append(inside[tool])
        return found

    def _outermost(self) -> list[tuple[Any, list[Any]]]:
        """Return each retriever's run that is not inside another's, with its documents."""
        return [
            (run_id, documents)
            for run_id, documents in self._found.items()
            if documents is not None and not any(above in self._found for above in self._above(run_id))
        ]

    def _above(self, run_id: Any) -> Iterator[Any]:
        while (run_id := self._parents.get(run_id)) is not None:
            yield run_id
