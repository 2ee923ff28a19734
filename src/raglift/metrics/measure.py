"""What a measure is: its name, its definition, where that is from, and the function that computes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import FactTable, PassageTable
    from raglift.metrics.profiles import Function
    from raglift.metrics.settings import Choice, Number
    from raglift.records import Metric

__all__ = ["LEAST", "Check", "Mean", "Measure"]

Mean = Literal["arithmetic", "geometric"]
LEAST = 1e-5
"""What a geometric mean takes a smaller value for, so that one 0 does not make it 0: trec_eval's MIN_GEO_MEAN."""

Check = Callable[["Metric", "FactTable", "PassageTable"], None]
"""Raises ConfigurationError where a metric cannot be computed from such labels."""


@dataclass(frozen=True)
class Measure:
    """A family of metrics that differ in depth and settings alone."""

    name: str
    """In metric texts: `ndcg`."""
    title: str
    """In tables, for one query: `NDCG`."""
    formula: str
    """The definition in one line; the function's docstring says more."""
    compute: Function
    """Values for all queries."""
    source: str = ""
    """The paper, or the tool, that the definition is from."""
    mean_title: str = ""
    """In tables, for the mean over queries, where it has a name of its own: `MRR`."""
    mean: Mean = "arithmetic"
    """How the values of the queries become one: a geometric mean weighs what is bad more."""
    needs_k: bool = False
    """Whether it divides by k: it means nothing without one, nor at a token budget."""
    takes_k: bool = True
    """Whether it can be taken at a depth; one that cannot is the same at every depth."""
    is_cost: bool = False
    """Whether it is what a prompt costs, in tokens: not between 0 and 1, and no better for being more."""
    is_earned: bool = True
    """Whether it grows from 0 with the hits; else it is the labels' or the index's own."""
    is_neutral: bool = False
    """Whether more of it is neither better nor worse by itself: it has no wins and no losses."""
    is_bounded: bool = True
    """Whether it lies between 0 and 1."""
    needs_chunks: bool = False
    """Whether all chunks of the index must be known."""
    needs_text: bool = False
    """Whether it looks at the texts of hits and passages; ids are not enough."""
    needs_irrelevant: bool = False
    """Whether the labels must say of something that it is irrelevant."""
    parameters: tuple[Choice | Number, ...] = ()
    """The settings it takes."""
    aliases: tuple[str, ...] = ()
    """Other names by which it is read."""
    check: Check | None = None
    """Raises where it cannot be computed from the labels; asked before a system is."""
    origin: str = ""
    """Where a user's own comes from, as `my_rag.metrics:early`; empty for raglift's."""
    is_installed: bool = True
    """Whether it can be computed here; a saved run may show values of one that cannot."""

    @property
    def depths(self) -> tuple[str, ...]:
        """At what it can be taken: `k`, `tokens`, and `all` for the whole ranking."""
        if not self.takes_k:
            return ("all",)
        return ("k",) if self.needs_k else ("k", "tokens", "all")

    def mean_of(self, values: NDArray[np.float64]) -> float:
        """Return the mean of the values that are there; NaN where there is none."""
        counted = values[~np.isnan(values)]
        if not len(counted):
            return float("nan")
        if self.mean == "geometric":
            return float(np.exp(np.log(np.maximum(counted, LEAST)).mean()))
        return float(counted.mean())

    @property
    def description(self) -> str:
        """The definition in full: the docstring of the function."""
        return inspect.getdoc(self.compute) or self.formula
