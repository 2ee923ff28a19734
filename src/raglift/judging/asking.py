"""Many prompts to one model: each distinct one once, cached, a few at a time, within a limit of cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.cache import Cache
    from raglift.integrations.language_models import FilledPrompt, LanguageModel, Usage

__all__ = ["Answers", "Estimate", "Limits", "NoAnswer", "ask_all", "estimate"]

Form = TypeVar("Form", bound=BaseModel)


@dataclass(frozen=True)
class Limits:
    """How a model is asked: how many requests at a time, and for how much money at most."""

    concurrency: int = 8
    """The most requests under way at a time."""
    max_cost: float | None = None
    """US dollars; None for no limit."""
    price: tuple[float, float] | None = None
    """US dollars per million input and output tokens, before the list prices."""


@dataclass(frozen=True)
class Estimate:
    """What asking would cost; nothing is sent to tell."""

    prompts: int
    """How many distinct prompts there are."""
    cached: int
    """How many of them are answered in the cache already, and cost nothing."""
    usage: Usage
    """Tokens of the others: of the prompts as counted, of the answers as guessed."""
    dollars: float | None
    """US dollars; None where the model's price is not known."""


@dataclass(frozen=True)
class NoAnswer:
    """Why a prompt was not answered."""

    reason: str


@dataclass(frozen=True)
class Answers(Generic[Form]):
    """What came back: one entry a prompt, in order."""

    values: tuple[Form | NoAnswer, ...]
    asked: int
    """How many prompts were sent in this call."""
    usage: Usage
    """What they were billed."""
    dollars: float | None
    """US dollars at the known price; None where there is none."""


def estimate(
    model: LanguageModel,
    prompts: Sequence[FilledPrompt],
    form: type[Form],
    limits: Limits | None = None,
    *,
    cache: Cache | None = None,
) -> Estimate:
    """Return what asking would cost."""
    raise NotImplementedError


def ask_all(
    model: LanguageModel,
    prompts: Sequence[FilledPrompt],
    form: type[Form],
    limits: Limits | None = None,
    *,
    label: str = "asking",
    cache: Cache | None = None,
    progress: bool | None = None,
) -> Answers[Form]:
    """Return the answers to all prompts; each one is cached as it comes, so a stopped call goes on where it was.

    Raises:
        CostLimitReached: the next request might pass the limit. What was answered is in the cache.
        ConfigurationError: there is a limit of cost, and the model's price is not known.
    """
    raise NotImplementedError
