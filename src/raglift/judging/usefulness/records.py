"""What a model's verdicts come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.significance import mean_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.integrations.language_models import Usage
    from raglift.judging.agreement import Agreement
    from raglift.judging.pooling.pool import Pool, PooledChunk
    from raglift.records import Annotator, Query
    from raglift.significance import Interval, PairedDifference

__all__ = ["MEASURES", "ContextPrecision", "Judged", "JudgedLift"]

MEASURES = {"precision": "precision@k", "ap": "AP@k"}
"""What is computed of verdicts, with its title."""


@dataclass(frozen=True)
class Judged:
    """One pair of query and chunk, and what the model said of it."""

    query: Query
    pooled: PooledChunk
    useful: bool | None
    """None for a pair without a verdict."""
    reason: str
    """Why, in the model's words, which are untrusted; or why there is no verdict."""


@dataclass(frozen=True)
class JudgedLift:
    """What the stages after the first changed, by the model's verdicts."""

    system: str
    """The run; empty where there is one."""
    k: int
    precision: PairedDifference
    """Of precision@k, after the last stage minus after the first."""
    ap: PairedDifference
    """Of AP@k."""


@dataclass(frozen=True, eq=False, repr=False)
class ContextPrecision:
    """How many of the first hits help to answer, in the eyes of a model."""

    judge: Annotator
    """The model, what it was told, and the day of its latest verdict."""
    agreement: Agreement
    """Of its verdicts with the labels that people gave; of no pair where there is none."""
    pool: Pool
    """The pairs that were judged."""
    judged: tuple[Judged, ...]
    """Each pair once, query by query in the order of the pool."""
    ks: tuple[int, ...]
    """The depths."""
    precision: NDArray[np.float64]
    """Precision at each depth, of shape (systems, depths, queries); NaN where a hit has no verdict."""
    ap: NDArray[np.float64]
    """Average precision at each depth, in the same shape."""
    lifts: tuple[JudgedLift, ...]
    """One a run and depth, where the run has several stages and the pair is fair."""
    notes: tuple[str, ...]
    """What the reader of the figures should know."""
    asked: int
    """How many requests this took now; the other verdicts came from the cache."""
    usage: Usage
    """What those were billed."""
    dollars: float | None
    """US dollars at the known price; None where there is none."""

    @property
    def systems(self) -> tuple[str, ...]:
        """One a run and stage, as in the pool."""
        return self.pool.systems

    @property
    def unanswered(self) -> tuple[Judged, ...]:
        """The pairs without a verdict."""
        return tuple(each for each in self.judged if each.useful is None)

    def of(self, system: str, measure: str, k: int) -> NDArray[np.float64]:
        """Return one value a query; NaN where one of its first k hits has no verdict.

        Args:
            system: one of `systems`.
            measure: `precision` or `ap`.
            k: one of `ks`.

        Raises:
            ConfigurationError: there is no such system, measure or depth.
        """
        for name, found, known in (("system", system, self.systems), ("measure", measure, MEASURES), ("k", k, self.ks)):
            if found not in known:
                raise ConfigurationError(f"{name}: found {found!r}; expected one of {', '.join(map(str, known))}")
        values: NDArray[np.float64] = getattr(self, measure)[self.systems.index(system), self.ks.index(k)]
        return values

    def mean(self, system: str, measure: str, k: int) -> float | None:
        """Return the mean over the queries that count; None where none does."""
        values = self.of(system, measure, k)
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else None

    def interval(self, system: str, measure: str, k: int) -> Interval | None:
        """Return Wilson's interval of the mean, at 95 %; None where no query counts."""
        values = self.of(system, measure, k)
        return None if np.isnan(values).all() else mean_interval(values, bounds=(0.0, 1.0))

    def n(self, system: str, k: int) -> int:
        """Return how many queries the means are over."""
        return int(np.count_nonzero(~np.isnan(self.of(system, "precision", k))))

    def to_markdown(self) -> str:
        """Return the figures as GitHub's Markdown."""
        from raglift.judging.usefulness.brief import precision_brief
        from raglift.rendering.markdown import markdown_of

        return markdown_of(precision_brief(self))

    def _repr_html_(self) -> str:
        from raglift.judging.usefulness.brief import precision_brief
        from raglift.rendering.notebook import html_of

        return html_of(precision_brief(self))

    def __str__(self) -> str:
        from raglift.judging.usefulness.brief import precision_parts
        from raglift.report.terminal.figures import as_text

        return as_text(precision_parts(self))

    def __repr__(self) -> str:
        return f"ContextPrecision({len(self.judged):,} pairs by {self.judge.model}; print() shows the figures)"
