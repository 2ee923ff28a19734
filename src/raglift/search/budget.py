"""What a search may spend, and what its rungs took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from raglift.base.display import counted
from raglift.base.validation import Keys, nearest, shown
from raglift.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGETS = ("share", "cells", "minutes")
"""What a budget may be: a share of all questions of all cells, so many cells' questions, or what is measured."""
_EXPECTED = {
    "share": "a number above 0, at most 1",
    "cells": "an integer, 1 or more",
    "minutes": "a number above 0",
}
_ENDLESS = 1e15
"""So many questions may be asked where they cost nothing."""


@dataclass(frozen=True)
class Work:
    """What one piece of work took."""

    seconds: float = 0.0
    """By the clock."""
    questions: int = 0
    """How many questions were asked: queries × systems."""

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Work)))


@dataclass(frozen=True)
class Budget:
    """How much a search may spend: one of these."""

    share: float | None = None
    """Of the questions that a full sweep would ask: cells × queries; above 0, at most 1."""
    cells: int | None = None
    """As many questions as so many cells would be asked in a full sweep."""
    minutes: float | None = None
    """Of computing, embedding included; a stopped search goes on with what is left."""

    @property
    def is_measured(self) -> bool:
        """Whether what is spent is known only once it is: time."""
        return self.share is None and self.cells is None

    def questions(self, cells: int, queries: int) -> float:
        """Return how many questions may be asked; infinite for a budget of time."""
        if self.share is not None:
            return self.share * cells * queries
        return math.inf if self.cells is None else float(self.cells * queries)

    def left(self, spent: Work) -> float:
        """Return how many seconds are left of a budget of time."""
        return max(0.0, (self.minutes or 0.0) * 60.0 - spent.seconds)

    def price(self, works: Iterable[Work]) -> float:
        """Return the fewest seconds that a question took in any of these; 0 if unknown."""
        return min((work.seconds / work.questions for work in works if work.questions), default=0.0)

    def questions_left(self, spent: Work, last: Work) -> float:
        """Return for how many further questions a budget of time lasts, at the pace of the last ones."""
        pace = last.seconds / max(last.questions, 1)
        return min(self.left(spent) / pace, _ENDLESS) if pace > 0.0 else _ENDLESS * (self.left(spent) > 0.0)

    def __str__(self) -> str:
        if self.share is not None:
            return f"{100 * self.share:.3g}% of the questions of a full sweep"
        if self.cells is not None:
            return f"the questions of {counted(self.cells, 'cell')}"
        return f"{self.minutes:g} minute{'' if self.minutes == 1 else 's'}"

    def to_dict(self) -> dict[str, float]:
        """Return it as a search's file has it."""
        return {name: value for name in BUDGETS if (value := getattr(self, name)) is not None}


def budget_faults(budget: Any, locate: Callable[[Keys], str]) -> list[Fault]:
    """Return what is wrong with a budget as it is written.

    Args:
        budget: what was written.
        locate: says where.
    """
    place: Keys = ("budget",)
    if not isinstance(budget, Mapping) or len(budget) != 1:
        expected = f"one of {', '.join(BUDGETS[:-1])} and {BUDGETS[-1]}, as {{share: 0.25}}"
        return [Fault(locate(place), shown(budget), expected)]
    ((name, value),) = budget.items()
    if name not in BUDGETS:
        return [Fault(locate((*place, str(name))), repr(name), nearest(str(name), BUDGETS))]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    if not is_number or (name == "share" and value > 1) or (name == "cells" and not isinstance(value, int)):
        return [Fault(locate((*place, name)), shown(value), _EXPECTED[name])]
    return []
