"""Answers as the cache keeps them: each with the day on which it came."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.cache import Cache

__all__ = ["DatedAnswer", "kept_answers", "today"]

Form = TypeVar("Form", bound=BaseModel)


def today() -> str:
    """Return the day that answers of now are dated, as `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class DatedAnswer(Generic[Form]):
    """An answer, and the day it came: both are kept."""

    value: Form
    day: str

    def to_bytes(self) -> bytes:
        """Return what the cache keeps: the day on a line, and the answer as JSON."""
        return f"{self.day}\n{self.value.model_dump_json(by_alias=True)}".encode()

    @classmethod
    def from_bytes(cls, content: bytes, form: type[Form]) -> DatedAnswer[Form]:
        """Return what was kept.

        Raises:
            ValueError: it is damaged, or no longer of the form.
        """
        day, _, answer = content.decode().partition("\n")
        return cls(form.model_validate_json(answer), date.fromisoformat(day).isoformat())


def kept_answers(keys: Sequence[bytes], form: type[Form], cache: Cache) -> dict[bytes, DatedAnswer[Form]]:
    """Return the answers that are in the cache; what is damaged or no longer of the form is forgotten."""
    values: dict[bytes, DatedAnswer[Form]] = {}
    damaged: list[bytes] = []
    for key, content in cache.get_many(keys).items():
        try:
            values[key] = DatedAnswer.from_bytes(content, form)
        except ValueError:  # pydantic's ValidationError is one
            damaged.append(key)
    if damaged:
        cache.remove_many(damaged)
    return values
