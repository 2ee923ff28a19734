"""API keys and addresses of providers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from raglift.base.secrets import SHORTEST_SECRET, may_hold_secrets
from raglift.llm.dot_env import address_of

# Shared by providers' clients: the base URL, and redaction.


def is_secret(name: str, value: Any) -> bool:
    """Whether a setting may be a secret, or headers that hold one; a number, as of `max_tokens`, never is."""
    return may_hold_secrets(name) and not isinstance(value, (int, float))


def secrets_of(client: Any) -> list[str]:
    """Return the keys that a client of LangChain or LlamaIndex holds."""
    held = dict(getattr(client, "__dict__", {}))  # a copy: another thread's first request makes the client keep more
    hidden = [value.get_secret_value() for value in held.values() if hasattr(value, "get_secret_value")]
    plain = [value for name, value in held.items() if is_secret(name, value)]
    headers = [inner for value in plain if isinstance(value, Mapping) for inner in value.values()]
    named = [value for value in (*plain, *headers) if isinstance(value, str) and len(value) >= SHORTEST_SECRET]
    return [secret for secret in (*hidden, *named) if isinstance(secret, str) and secret]


def server_of(client: Any) -> str:
    """Return which OpenAI-compatible server is asked, without what may be secret in its address; "" for OpenAI's."""
    if not hasattr(client, "openai_api_base"):
        return ""
    return address_of(client.openai_api_base or os.environ.get("OPENAI_BASE_URL") or "")
