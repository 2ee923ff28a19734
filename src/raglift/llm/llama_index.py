"""LlamaIndex's LLMs as language models."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from raglift.llm.replies import (
    CUT,
    FilledPrompt,
    Form,
    RawReply,
    Reply,
    Usage,
    ask_in_form,
    settings_of,
)
from raglift.utilities.display import describe_error, encodable
from raglift.utilities.retrying import BadReply, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator


# The exceptions that LlamaIndex raises on a malformed reply
_NOT_READ = (ValueError, TypeError, KeyError, AttributeError, IndexError, AssertionError)
_replies: ContextVar[list[Any] | None] = ContextVar("raglift replies of LlamaIndex", default=None)


class LlamaIndexModel:
    """A LlamaIndex LLM as a LanguageModel; the LLM is used as it is, and not changed.

    Args:
        llm: the LLM. What it asks again by itself, it goes on asking.
        retry_policy: how often a request is made again, and how long is waited before.
    """

    def __init__(self, llm: Any, retry_policy: RetryPolicy) -> None:
        self._llm = llm
        self._retry_policy = retry_policy

    def __repr__(self) -> str:
        return f"LlamaIndexModel({self.name})"

    @property
    def name(self) -> str:
        """Such as `openai:gpt-4o-mini`: the package, or else the class, and the model."""
        return name_of(self._llm)

    @property
    def identity(self) -> str:
        """The class, the model, the settings that decide an answer, and the server; never a secret."""
        return f"llama_index {type(self._llm).__name__} {self.name} ({settings_of(self._llm)})"

    def ask(self, prompt: FilledPrompt, form: type[Form]) -> Reply[Form]:
        """Return the answer in a form, by LlamaIndex's `structured_predict`.

        Raises:
            ModelOutputError: no usable answer came.
        """
        return ask_in_form(lambda: self._asked(prompt, form), form, self._llm, self.name, self._retry_policy)

    def _asked(self, prompt: FilledPrompt, form: type[Form]) -> RawReply:
        from llama_index.core.llms import ChatMessage
        from llama_index.core.prompts import ChatPromptTemplate

        # The texts are filled in, and not part of the template, where a brace in them would be a variable
        template = ChatPromptTemplate([ChatMessage("{task}", role="system"), ChatMessage("{data}", role="user")])
        texts = {"task": encodable(prompt.system), "data": encodable(prompt.user)}
        with _recorded_replies() as replies:
            try:
                value = self._llm.structured_predict(form, template, **texts)
            except _NOT_READ as error:
                if hasattr(error, "status_code"):
                    raise
                value, reason = None, describe_error(error)
        choice = _choice(replies[-1]) if replies else None
        refusal = getattr(getattr(choice, "message", None), "refusal", None)
        finish_reason = getattr(choice, "finish_reason", None)
        usage = sum(map(usage_of, replies), Usage())
        if value is None and not refusal and finish_reason not in CUT:
            if not replies:
                raise BadReply(f"the reply is not what was asked for ({reason})")
            return RawReply(str(getattr(replies[-1].message, "content", "") or ""), usage)
        return RawReply("" if value is None else value, usage, refusal, finish_reason)


@contextmanager
def _recorded_replies() -> Iterator[list[Any]]:
    """Yield the replies that LLMs give in the block: what LlamaIndex hands back has no usage and no refusal."""
    with _attaching:  # the cache alone would let several first calls at once attach one each
        _attach_listener()
    replies: list[Any] = []
    token = _replies.set(replies)
    try:
        yield replies
    finally:
        _replies.reset(token)


@lru_cache(maxsize=1)
def _attach_listener() -> None:
    """Hear LlamaIndex's events from now on; those outside of `_recorded_replies` are let pass."""
    from llama_index.core import instrumentation
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    from llama_index.core.instrumentation.events.llm import LLMChatEndEvent, LLMCompletionEndEvent

    class Listener(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            replies = _replies.get()
            if replies is not None and isinstance(event, (LLMChatEndEvent, LLMCompletionEndEvent)) and event.response:
                replies.append(event.response)

    dispatcher: Any = instrumentation
    dispatcher.get_dispatcher().add_event_handler(Listener())


def _choice(reply: Any) -> Any:
    choices = getattr(reply.raw, "choices", None) or [None]
    return choices[0]


def name_of(model: Any) -> str:
    """Return the package or class of an LLM or embedding model, and its model: `openai:gpt-4o-mini`."""
    parts = type(model).__module__.split(".")
    is_package = parts[:2] in (["llama_index", "llms"], ["llama_index", "embeddings"])
    name = model.metadata.model_name if hasattr(model, "metadata") else model.model_name
    return f"{parts[2] if is_package else type(model).__name__}:{name}"


def usage_of(reply: Any) -> Usage:
    """Return what a reply says to have been billed, in OpenAI's or Anthropic's words."""
    raw = reply.raw
    usage = raw.get("usage") if isinstance(raw, dict) else getattr(raw, "usage", None)
    found = usage if isinstance(usage, dict) else vars(usage) if hasattr(usage, "__dict__") else {}
    tokens = [found.get(f"{one}_tokens") or found.get(f"{other}_tokens") or 0 for one, other in _SIDES]
    return Usage(*tokens)


_attaching = threading.Lock()
_SIDES = (("prompt", "input"), ("completion", "output"))
