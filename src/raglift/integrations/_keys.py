"""What providers' clients share: keys from `.env`, the server that is asked, and what must never be shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from raglift.errors import ConfigurationError
from raglift.redaction import SHORTEST_SECRET, may_hold_secrets

__all__ = ["address_of", "is_secret", "load_dot_env", "secrets_of", "server_of"]


def load_dot_env() -> None:
    """Read `.env` of the working directory, if python-dotenv is installed; the environment wins.

    Raises:
        ConfigurationError: the file cannot be read, or holds what no environment can; no value of it is in the message.
    """
    try:
        from dotenv import load_dotenv
    except ImportError:
        return
    try:
        load_dotenv(".env")
    except UnicodeDecodeError:
        raise _unusable("bytes that are no UTF-8") from None
    except OSError as error:
        raise _unusable(f"what cannot be read or set ({error.strerror or type(error).__name__})") from None
    except ValueError:  # os.environ's, of a NUL
        raise _unusable("a name or a value that no environment can hold, as one with a NUL character") from None


def _unusable(found: str) -> ConfigurationError:
    return ConfigurationError(
        f"{Path('.env').resolve()}: found {found}; expected lines as OPENAI_API_KEY=… in UTF-8: mend the file, or "
        "remove it and set the variables in the environment"
    )


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


def address_of(url: str) -> str:
    """Return host, port and path of an address, without what may be secret in it."""
    address = urlsplit(url)
    return address.netloc.rpartition("@")[2] + address.path.rstrip("/")
