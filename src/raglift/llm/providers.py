"""API keys and prices of providers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from raglift.base.secrets import SHORTEST_SECRET, may_hold_secrets
from raglift.llm.dot_env import address_of

# Prices of providers, and cost estimates from token counts before anything is sent.


PRICES: Mapping[str, float] = {
    "text-embedding-3-small": 0.02,
    "text-embedding-3-large": 0.13,
    "text-embedding-ada-002": 0.10,
}
"""US dollars per million tokens, as OpenAI listed them in the month `PRICES_OF`."""

CHAT_PRICES: Mapping[str, tuple[float, float]] = {
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4o": (2.50, 10.00),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "o4-mini": (1.10, 4.40),
    "gpt-5": (1.25, 10.00),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5-nano": (0.05, 0.40),
}
"""US dollars per million input and output tokens of chat models, as OpenAI listed them in the month `PRICES_OF`."""

PRICES_OF = "2026-07"
"""When the prices were last looked at."""

_OF_A_DAY = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True)
class CostEstimate:
    """What it would cost to embed some texts."""

    texts: int
    """How many distinct texts would be sent."""
    tokens: int
    """How many tokens they have together, counting what is read of each."""
    dollars: float | None
    """US dollars; None if the model's price is not known."""
    price_per_million: float | None
    """US dollars per million tokens; None if it is not known."""

    def __str__(self) -> str:
        cost = "price not known" if self.dollars is None else f"about US$ {dollars_in_short(self.dollars)}"
        return f"{self.texts:,} texts, {self.tokens:,} tokens, {cost}"


def dollars_of(model: str, tokens: int, prices: Mapping[str, float] | None = None) -> float | None:
    """Return what a number of tokens costs, in US dollars; None if the price is not known.

    Args:
        model: its name, as `text-embedding-3-small`.
        tokens: how many were, or would be, billed.
        prices: US dollars per million tokens by model, before the list prices.
    """
    price = {**PRICES, **(prices or {})}.get(model)
    return None if price is None else tokens * price / 1e6


def chat_price_of(name: str) -> tuple[float, float] | None:
    """Return US dollars per million input and output tokens; None if they are not known.

    Args:
        name: as `openai:gpt-4o-mini`, or of one day, as `openai:gpt-4o-mini-2024-07-18`.
    """
    provider, _, model = name.partition(":")
    return CHAT_PRICES.get(_OF_A_DAY.sub("", model)) if provider == "openai" else None


def dollars_in_short(dollars: float) -> str:
    """Return US dollars for people, with two digits that count."""
    return f"{dollars:,.2f}" if dollars >= 0.995 or dollars == 0 else f"{dollars:.2g}"


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
