"""Results of a search, as plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from raglift.records.metric import Metric
    from raglift.search.budget import Budget, Work
    from raglift.sweep.result import SweepResult
    from raglift.sweep.specification.cells import Cell


Fate = Literal["finalist", "dropped", "set aside", "not tried", "failed"]
"""What became of a cell: it was left when all queries were asked or the budget was spent; it is significantly worse
than another; it went no further so that the budget would last, and may be the best; it was not measured, because the
cell without its reranker went no further or Optuna did not choose it; or it failed."""
FATES: tuple[Fate, ...] = ("finalist", "dropped", "set aside", "not tried", "failed")
FINALIST, DROPPED, SET_ASIDE, NOT_TRIED, FAILED = FATES


@dataclass(frozen=True)
class Entrant:
    """A cell of the space, and how far it came."""

    cell: Cell
    fate: Fate
    asked: int
    """How many queries it was asked."""
    mean: float
    """Of the primary metric over these; NaN where it was asked none."""
    p: float
    """The p-value of its being among the best, valid whenever one looks; 1 where nothing speaks against it."""
    error: str | None = None
    """Why it failed."""


@dataclass(frozen=True)
class RungRecord:
    """One step of a search: some systems were asked further queries."""

    systems: int
    """How many were asked."""
    queries: int
    """How many queries had been asked after it."""
    dropped: int
    """How many were dropped after it, because they are significantly worse."""
    set_aside: int
    """How many went no further after it, so that the budget would last."""
    joined: int
    """How many joined at it, with rerankers, and were asked the queries before, too."""
    left: int
    """How many are running after it."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """What a search found, and what it cost."""

    title: str
    primary: Metric
    """The metric that decides."""
    budget: Budget
    alpha: float
    """How often any of the best was dropped, at most, over the random order of the queries."""
    queries: int
    """How many queries took part in the race."""
    entrants: tuple[Entrant, ...]
    """Every cell of the space, in its order."""
    rungs: tuple[RungRecord, ...]
    """What was done, in order."""
    paths: Mapping[str, tuple[tuple[int, float], ...]]
    """For each measured cell, by its name: after each rung how many queries it had been asked, and its mean."""
    questions: int
    """How many questions were asked: queries × systems."""
    spent: Work
    """What the race took."""
    full: int
    """How many a full sweep over the same queries would ask."""
    finalists: SweepResult
    """The cells that were left at the end, over the queries that they were asked: all of the race, if the budget
    lasted. `finalists.check` has the recommended one on the queries that took no part, where there are any."""
    began: SweepResult | None
    """All cells that began, over the first queries, from which the effects of their parts follow: later, only those
    that did well are left. None where Optuna chose the cells, since it favours some values."""
    folder: Path
    """Where it is kept."""
    dataset: str
    """The hash of the whole dataset."""
    spec: Mapping[str, object]
    """The fields of the sweep that was searched, as JSON has them."""

    @property
    def recommended(self) -> str | None:
        """The name of the finalist to use; None where held-out queries contradict it, and where every cell failed."""
        return self.finalists.recommended

    def of_fate(self, fate: Fate) -> tuple[Entrant, ...]:
        """Return the entrants that one thing became of."""
        return tuple(entrant for entrant in self.entrants if entrant.fate == fate)

    @property
    def survivors(self) -> tuple[Entrant, ...]:
        """The cells that were measured and not dropped: any of them may be the best."""
        return tuple(entrant for entrant in self.entrants if entrant.fate in (FINALIST, SET_ASIDE))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell: its parts, `fate`, `asked`, `mean`, `p` and `error`."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "cell": one.cell.name,
                    **one.cell.to_dict(),
                    "fate": one.fate,
                    "asked": one.asked,
                    "mean": one.mean,
                    "p": one.p,
                    "error": one.error,
                }
                for one in self.entrants
            ]
        )
