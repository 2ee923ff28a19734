"""What asking costs: guessed before it is sent, counted as it is billed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from raglift.errors import CostLimitReached
from raglift.integrations.language_models import Usage
from raglift.integrations.openai_embeddings import count_tokens
from raglift.integrations.prices import dollars_in_short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from raglift.integrations.language_models import FilledPrompt

__all__ = ["GuessedUsage", "Ledger", "dollars_for"]

_TOKENS_OF_A_CHAT = 12
_TOKENS_OF_A_TEXT = 60
_TOKENS_OF_A_SHORT_VALUE = 3
_ITEMS_OF_A_LIST = 3
_PUNCTUATION = 4


class GuessedUsage:
    """Guesses what one request is billed.

    Of the input, the tokens of the prompt and of the form's JSON schema are counted. Of the output, each field of the
    form counts its name and 4 tokens of punctuation, with 3 tokens for a number, a truth value or a choice, 60 for a
    text, and three items for a list.

    Args:
        form: what the answer must be.
    """

    def __init__(self, form: type[BaseModel]) -> None:
        schema = form.model_json_schema()
        self._schema = count_tokens(json.dumps(schema))
        self._output = _tokens_of(schema, schema)
        self._counted: dict[str, int] = {}

    def of(self, prompt: FilledPrompt) -> Usage:
        """Return the tokens of one prompt and its answer."""
        if prompt.system not in self._counted:  # the same in most prompts
            self._counted[prompt.system] = count_tokens(prompt.system)
        asked = self._counted[prompt.system] + count_tokens(prompt.user)
        return Usage(asked + self._schema + _TOKENS_OF_A_CHAT, self._output)


class Ledger:
    """What was spent, and what is under way, against a limit.

    Args:
        max_cost: US dollars; None for no limit.
        price: US dollars per million input and output tokens; None where it is not known.
    """

    def __init__(self, max_cost: float | None, price: tuple[float, float] | None) -> None:
        self.usage = Usage()
        """What was billed so far; as guessed where the provider does not say."""
        self._max_cost = max_cost
        self._price = price
        self._underway: list[Usage] = []
        self._longest = 0

    @property
    def dollars(self) -> float | None:
        """What was spent so far, in US dollars; None where the price is not known."""
        return None if self._price is None else dollars_for(self.usage, self._price)

    def allows(self, guess: Usage) -> bool:
        """Whether one more request stays within the limit, if all that are under way are as long as any was so far."""
        if self._max_cost is None or self._price is None:
            return True
        expected = (Usage(one.input, max(one.output, self._longest)) for one in (*self._underway, guess))
        return dollars_for(sum(expected, self.usage), self._price) <= self._max_cost

    def begin(self, guess: Usage) -> None:
        """Count a request as under way."""
        self._underway.append(guess)

    def end(self, guess: Usage, billed: Usage) -> None:
        """Count a request as done."""
        self._underway.remove(guess)
        self._longest = max(self._longest, billed.output)
        self.usage += billed

    def limit_reached(self, answered: int, left: int, guess: Usage) -> CostLimitReached:
        """Return the error that says where asking stopped, and what it would take to go on."""
        price = self._price or (0.0, 0.0)
        spent, more = dollars_for(self.usage, price), dollars_for(guess, price)
        return CostLimitReached(
            f"max_cost: the next request might cost more than US$ {self._max_cost or 0:g} in all. {answered:,} prompts "
            f"were answered now, for US$ {dollars_in_short(spent)}, and their answers are kept; {left:,} remain, for "
            f"about US$ {dollars_in_short(more)}: run again with --max-cost {dollars_in_short(more * 1.2)} or more",
            spent=spent,
            more=more,
        )


def dollars_for(usage: Usage, price: tuple[float, float]) -> float:
    """Return US dollars for tokens, at a price per million input and output tokens."""
    return (usage.input * price[0] + usage.output * price[1]) / 1e6


def _tokens_of(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> int:
    """Return how many tokens a value of a JSON schema is guessed to have."""
    if "$ref" in schema and depth < 9:
        return _tokens_of(root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth + 1)
    if "enum" in schema or "const" in schema:
        return _TOKENS_OF_A_SHORT_VALUE
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return max(_tokens_of(inner, root, depth + 1) for inner in schema[key])
    kind = schema.get("type")
    if kind == "array":
        return _PUNCTUATION + _ITEMS_OF_A_LIST * _tokens_of(schema.get("items", {}), root, depth + 1)
    if kind == "object" or "properties" in schema:
        fields = schema.get("properties", {}).items()
        values = (count_tokens(name) + _PUNCTUATION + _tokens_of(inner, root, depth + 1) for name, inner in fields)
        return _PUNCTUATION + sum(values)
    return _TOKENS_OF_A_TEXT if kind == "string" else _TOKENS_OF_A_SHORT_VALUE
