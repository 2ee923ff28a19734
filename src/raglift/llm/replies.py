"""Prompts and replies of language models, independent of the client."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from raglift.errors import ConfigurationError, ModelOutputError
from raglift.llm.dot_env import address_of
from raglift.text.tokens import DEFAULT_ENCODING, Encoding, load_encoding
from raglift.utilities.display import describe_error, encodable
from raglift.utilities.retrying import BadReply, RetryPolicy, ask_with_retries
from raglift.utilities.secrets import (
    SHORTEST_SECRET,
    KnownSecrets,
    is_public_header,
    may_hold_secrets,
    secrets_of_environment,
)
from raglift.utilities.validation import faults_of

Form = TypeVar("Form", bound=BaseModel)

FILTERED = frozenset({"refusal", "content_filter", "SAFETY"})
"""How providers say that an answer was stopped for what it says."""

CUT = frozenset({"length", "max_tokens", "MAX_TOKENS"})
"""The finish reasons of providers for answers that reached the token limit."""

_SETTINGS = (
    *("temperature", "top_p", "top_k", "seed", "n", "max_tokens", "max_output_tokens", "frequency_penalty"),
    *("presence_penalty", "logit_bias", "stop", "reasoning", "reasoning_effort", "verbosity", "service_tier"),
    *("system_prompt", "model_kwargs", "additional_kwargs", "extra_body"),
)
_ADDRESSES = ("openai_api_base", "api_base", "base_url", "azure_endpoint", "anthropic_api_url", "endpoint")


@dataclass(frozen=True)
class FilledPrompt:
    """What a model is told once: its task, and the data that it is about."""

    version: str
    """Name and hash of the template, such as `relevance@3f9a1c07`."""
    system: str
    """The task, in raglift's words or the user's."""
    user: str
    """The data, delimited."""


@dataclass(frozen=True)
class Usage:
    """Tokens that were, or would be, billed."""

    input: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output)


@dataclass(frozen=True)
class Reply(Generic[Form]):
    """A model's answer in the form that was asked for."""

    value: Form
    usage: Usage
    """As the provider said, over all attempts; zeros where it did not say."""


@dataclass(frozen=True)
class RawReply:
    """What came back from one request, not yet looked at."""

    content: str | Mapping[str, Any] | BaseModel
    usage: Usage = Usage()
    refusal: str | None = None
    finish_reason: str | None = None
    """Why the answer ended, as the provider says it."""


def ask_in_form(
    request: Callable[[], RawReply], form: type[Form], client: Any, name: str, retry_policy: RetryPolicy
) -> Reply[Form]:
    """Return an answer in a form, asking again while it is worth it.

    Raises:
        ModelOutputError: no usable answer came; its `usage` says what was billed.
    """
    spent = Usage()
    secrets = secrets_of(client)
    # A server may repeat the key that it was sent: answers are cached and written into labels
    known = KnownSecrets(secrets_of_environment().union(secrets), distinctive=True)

    def ask() -> Form:
        nonlocal spent
        reply = request()
        spent += reply.usage
        return _checked(reply, form, name, known)

    try:
        value = ask_with_retries(ask, retry_policy, name, kind="language model", secrets=secrets)
    except ModelOutputError as failure:
        failure.usage = spent
        raise
    return Reply(value, spent)


@lru_cache(maxsize=1)
def _encoding() -> Encoding | None:
    """Return the encoding in which tokens are counted; None if it is not on this machine."""
    try:
        return load_encoding(DEFAULT_ENCODING)
    except ConfigurationError:
        return None


def count_tokens(text: str) -> int:
    """Return about how many tokens a text has, by its bytes where the encoding is not on this machine."""
    encoding = _encoding()
    return -(-len(encodable(text).encode()) // 3) if encoding is None else encoding.count(text)


def refused(name: str, words: str) -> ModelOutputError:
    """Return the error that says in a model's own words why it does not answer."""
    refusal = describe_error(Exception(words)).removeprefix("Exception: ")
    return ModelOutputError(f"the language model {name} refused to answer: {refusal!r}")


def settings_of(client: Any) -> str:
    """Return the settings of a client that decide its answers, and the server that it asks; never a secret."""
    found = [(name, getattr(client, name, None)) for name in _SETTINGS]
    settings = [f"{name}={_without_secrets(value)}" for name, value in found if value not in (None, {}, [], "")]
    addresses = [str(getattr(client, name, None) or "") for name in _ADDRESSES]
    servers = [address_of(url) for url in addresses if url] or [server_of(client)]
    return ", ".join(settings) + "".join(f" at {server}" for server in servers if server)


def is_of(model: Any, package: str, name: str) -> bool:
    """Whether an object is of a framework's class, without importing the framework."""
    return any(cls.__name__ == name and cls.__module__.split(".")[0] == package for cls in type(model).__mro__)


def _checked(reply: RawReply, form: type[Form], name: str, known: KnownSecrets) -> Form:
    """Return a reply in its form, without secrets.

    Raises:
        ModelOutputError: the model refused.
        BadReply: the answer is cut off, or not of the form.
    """
    if reply.refusal:
        raise refused(name, reply.refusal)
    if reply.finish_reason in CUT:
        raise BadReply("the answer was cut off at its limit of tokens")
    try:
        return form.model_validate_json(known.cleared(_as_json(reply.content)))
    except ValidationError as error:
        reasons = "; ".join(map(str, faults_of(error, TypeAdapter(form))[:3]))
    except (ValueError, TypeError) as error:
        reasons = describe_error(error)
    raise BadReply(f"the answer is not what was asked for ({reasons})")


def _as_json(content: str | Mapping[str, Any] | BaseModel) -> str:
    """Return an answer as the JSON that it is kept as: what cannot be kept is not an answer."""
    if isinstance(content, BaseModel):
        return content.model_dump_json(by_alias=True)
    return content if isinstance(content, str) else json.dumps(content)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_secrets(value[key]) for key in sorted(value, key=str) if not _is_secret(str(key), value[key])
        }
    return value


# What a provider's client holds: keys, and the server that it asks.


def _is_secret(name: str, value: Any) -> bool:
    """Whether a setting may be a secret, or headers that hold one; a number, as of `max_tokens`, never is."""
    return may_hold_secrets(name) and not isinstance(value, (int, float))


def secrets_of(client: Any) -> list[str]:
    """Return the keys that a client of LangChain or LlamaIndex holds."""
    held = dict(getattr(client, "__dict__", {}))  # a copy: another thread's first request makes the client keep more
    hidden = [value.get_secret_value() for value in held.values() if hasattr(value, "get_secret_value")]
    plain = [value for name, value in held.items() if _is_secret(name, value)]
    held_headers = [value for value in plain if isinstance(value, Mapping)]
    headers = [inner for value in held_headers for name, inner in value.items() if not is_public_header(str(name))]
    named = [value for value in (*plain, *headers) if isinstance(value, str) and len(value) >= SHORTEST_SECRET]
    return [secret for secret in (*hidden, *named) if isinstance(secret, str) and secret]


def server_of(client: Any) -> str:
    """Return which OpenAI-compatible server is asked, without what may be secret in its address; "" for OpenAI's."""
    if not hasattr(client, "openai_api_base"):
        return ""
    return address_of(client.openai_api_base or os.environ.get("OPENAI_BASE_URL") or "")
