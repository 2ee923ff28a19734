"""Listens to the language models that are called through LangChain.

LangChain asks its configure hooks whenever anything of it runs, so a model is heard too where the retriever around it
hands on no callbacks. Embedding models have no callbacks, and are not heard.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from raglift.adapters.model_calls import ModelCall, current_tally
from raglift.llm.replies import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def attach() -> Callable[[], None]:
    """Listen from now on; the hook stays, as LangChain has no way to take one back, and lets calls pass later."""
    _register()
    return lambda: None


@cache
def _register() -> None:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.tracers.context import register_configure_hook

    handler = type("ModelCallsHandler", (_ModelCalls, BaseCallbackHandler), {})()
    hook: Any = _WhileListening(handler)
    register_configure_hook(hook, inheritable=True)


class _WhileListening:
    """What LangChain takes for a context variable: holds the handler while anything listens, in every thread."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    def get(self) -> Any:
        return None if current_tally() is None else self._handler


class _ModelCalls:
    """Counts the calls; its methods are those of LangChain's `BaseCallbackHandler`."""

    run_inline = True  # in the context of the call, also where it is asynchronous

    def __init__(self) -> None:
        self._calls: dict[Any, ModelCall] = {}

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **kwargs: Any) -> None:
        """Count a call of a chat model."""
        sent = sum(len(str(message.text)) for batch in messages for message in batch)
        self._begin(run_id, _name(serialized, kwargs), sent)

    def on_llm_start(self, serialized: Any, prompts: Sequence[str], *, run_id: Any, **kwargs: Any) -> None:
        """Count a call of a model that completes texts."""
        self._begin(run_id, _name(serialized, kwargs), sum(map(len, prompts)))

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what was answered, and what it was billed."""
        call = self._calls.pop(run_id, None)
        generations = [one for batch in response.generations for one in batch]
        if call is None or not generations:
            return
        call.answered = sum(len(one.text) for one in generations)
        said: Mapping[str, int] = getattr(getattr(generations[0], "message", None), "usage_metadata", None) or {}
        if said:
            call.usage = Usage(said.get("input_tokens", 0), said.get("output_tokens", 0))

    def on_llm_error(self, error: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Forget a call that has no answer; it was made all the same."""
        self._calls.pop(run_id, None)

    def _begin(self, run_id: Any, model: str, sent: int) -> None:
        tally = current_tally()
        if tally is not None:
            self._calls[run_id] = call = ModelCall("language model", model, sent)
            tally.add(call)


def _name(serialized: Any, kwargs: Mapping[str, Any]) -> str:
    """Return `provider:model`, as LangChain's own tracing has it; without a model, the class."""
    metadata, settings = kwargs.get("metadata") or {}, kwargs.get("invocation_params") or {}
    model = metadata.get("ls_model_name") or settings.get("model") or settings.get("model_name")
    provider = metadata.get("ls_provider") or settings.get("_type")
    named = [str(part) for part in (provider, model) if part]
    return ":".join(named) or str((serialized or {}).get("name") or "a language model")
