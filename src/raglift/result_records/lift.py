"""What reranking changed within one system, and whether the change is real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.metrics import as_metric

if TYPE_CHECKING:
    from raglift.records.label_sources import LabelSources
    from raglift.records.metric import Metric
    from raglift.result_records.comparison import Method
    from raglift.result_records.evaluation import EvaluationRecord
    from raglift.significance import Interval, PairedDifference

__all__ = ["LiftRecord", "Lifted", "Moved"]


@dataclass(frozen=True)
class Lifted:
    """One metric before and after reranking: same queries, same candidates, same k."""

    metric: Metric
    """What was measured."""
    before: float
    """The mean after the first stage."""
    before_interval: Interval | None
    """Where the mean of all such queries may lie; None where no query counts."""
    after: float
    """The mean after the last stage."""
    after_interval: Interval | None
    """Likewise."""
    n: int
    """How many queries the means are over."""
    difference: PairedDifference | None
    """After minus before; None where there is no fair pair."""
    detectable: float | None = None
    """The smallest difference that so many queries show four times in five; on the primary metric only."""
    verdict: str | None = None
    """`better`, `worse` or `not told apart`; on the primary metric only."""
    exploratory: bool = True
    """Whether the metric is not the primary one: a hint to look, and no finding."""
    truncated: bool = False
    """Whether the metric looks deeper than the reranker returned: then there is no fair pair."""


@dataclass(frozen=True)
class Moved:
    """A query whose primary metric the reranker changed."""

    query_id: str
    """Which."""
    text: str
    """The question."""
    before: float
    """Its value after the first stage."""
    after: float
    """Its value after the last."""
    rank_before: int | None
    """The rank at which the first fact was satisfied; None where none was."""
    rank_after: int | None
    """Likewise after the last stage."""


@dataclass(frozen=True, eq=False, repr=False)
class LiftRecord:
    """What the stages after the first changed, metric by metric."""

    evaluation: EvaluationRecord
    """What was measured."""
    primary: Metric
    """The one metric that decides; every other is exploratory."""
    rows: tuple[Lifted, ...]
    """One a metric, the primary one first."""
    up: tuple[Moved, ...]
    """The queries that gained most in the primary metric, most first."""
    down: tuple[Moved, ...]
    """The queries that lost most, most first."""
    method: Method
    """How intervals and p-values were computed."""
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""

    @property
    def label_sources(self) -> LabelSources:
        """Who gave the labels that its figures rest on: people, and which models."""
        return self.evaluation.dataset.label_sources

    def row(self, metric: Metric | str | None = None) -> Lifted:
        """Return one metric; by default the primary one.

        Raises:
            ConfigurationError: the metric was not scored.
        """
        wanted = self.primary if metric is None else as_metric(metric)
        for row in self.rows:
            if row.metric == wanted:
                return row
        known = ", ".join(str(row.metric) for row in self.rows)
        raise ConfigurationError(f"metric: found {wanted}, which was not scored; expected one of {known}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.evaluation.dataset.name!r}, {self.primary})"
