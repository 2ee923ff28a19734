"""What embeddings cost: list prices, and estimates from token counts before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PRICES", "PRICES_OF", "CostEstimate", "dollars_of"]

PRICES: Mapping[str, float] = {
    "text-embedding-3-small": 0.02,
    "text-embedding-3-large": 0.13,
    "text-embedding-ada-002": 0.10,
}
"""US dollars per million tokens, as OpenAI listed them in the month `PRICES_OF`."""

PRICES_OF = "2026-07"
"""When the prices were last looked at."""


@dataclass(frozen=True)
class CostEstimate:
    """What it would cost to embed some texts."""

    texts: int
    """How many distinct texts would be sent."""
    tokens: int
    """How many tokens they have together, counting what is read of each."""
    dollars: float | None
    """US dollars; None where the model's price is not known."""
    price_per_million: float | None
    """US dollars per million tokens; None where it is not known."""

    def __str__(self) -> str:
        cost = "price not known" if self.dollars is None else f"about US$ {_short(self.dollars)}"
        return f"{self.texts:,} texts, {self.tokens:,} tokens, {cost}"


def dollars_of(model: str, tokens: int, prices: Mapping[str, float] | None = None) -> float | None:
    """Return what a number of tokens costs, in US dollars; None where the price is not known.

    Args:
        model: its name, as `text-embedding-3-small`.
        tokens: how many were, or would be, billed.
        prices: US dollars per million tokens by model, before the list prices.
    """
    price = {**PRICES, **(prices or {})}.get(model)
    return None if price is None else tokens * price / 1e6


def _short(dollars: float) -> str:
    return f"{dollars:,.2f}" if dollars >= 0.995 or dollars == 0 else f"{dollars:.2g}"
