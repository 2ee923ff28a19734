"""Systems beside each other on the same queries, and which differences are real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.metrics import as_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.records.label_sources import LabelSources
    from raglift.records.metric import Metric
    from raglift.result_records.evaluation import EvaluationRecord
    from raglift.significance import Interval, PairedDifference

__all__ = ["Compared", "ComparisonRecord", "HeldOut", "Method"]


@dataclass(frozen=True)
class Method:
    """How intervals and p-values were computed."""

    text: str
    """The tests and intervals by name, in one sentence."""
    confidence: float
    """Of every interval; a difference counts as real where p is at most 1 minus it."""
    seed: int
    """Of resampling, permutation and the choice of halves."""

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return 1.0 - self.confidence


@dataclass(frozen=True)
class Compared:
    """One system on one metric, beside the baseline."""

    system: str
    """Its name in the comparison."""
    metric: Metric
    """At the last stage of each system."""
    mean: float
    """Over the queries that count for both; for the baseline over its own. NaN where none counts."""
    interval: Interval | None
    """Where the mean of all such queries may lie; None where no query counts."""
    baseline_mean: float
    """The baseline's mean over the same queries."""
    n: int
    """How many queries these are."""
    difference: PairedDifference | None = None
    """The system minus the baseline, query by query; None for the baseline, and where there is no fair pair."""
    p_holm: float | None = None
    """The p-value, corrected by Holm over the systems; on the primary metric only."""
    detectable: float | None = None
    """The smallest difference that so many queries show four times in five, at the level that Holm asks of the first of
    all systems; on the primary metric only."""
    verdict: str | None = None
    """`better`, `worse` or `not told apart`, by `p_holm`; on the primary metric only."""
    exploratory: bool = True
    """Whether the p-value is not corrected: a hint to look, and no finding."""
    truncated: bool = False
    """Whether the metric looks deeper than the system could return: then neither it nor what is compared with it has a
    fair pair."""

    @property
    def p(self) -> float | None:
        """The p-value of the difference, not corrected; None where there is none."""
        return None if self.difference is None else self.difference.p


@dataclass(frozen=True)
class HeldOut:
    """The best system, chosen on one half of the queries and measured on the other."""

    system: str
    """The system with the highest mean on the first half; never the baseline."""
    selection: tuple[str, ...]
    """The queries that it was chosen on."""
    selection_difference: float
    """Its mean minus the baseline's on these: likely too large, since it was chosen for it."""
    held_out: tuple[str, ...]
    """The queries that had no part in the choice."""
    mean: float
    """Its mean on these."""
    baseline_mean: float
    """The baseline's."""
    difference: PairedDifference
    """Its difference to the baseline on these."""
    verdict: str
    """`better`, `worse` or `not told apart`: one test, so there is nothing to correct for."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonRecord:
    """Two or more systems on the same queries, each beside a baseline."""

    names: tuple[str, ...]
    """What the systems are called, in the order given."""
    evaluations: tuple[EvaluationRecord, ...]
    """What was measured of each."""
    baseline: str
    """The system that the others are compared with."""
    primary: Metric
    """The one metric that decides; every other is exploratory."""
    query_ids: tuple[str, ...]
    """The queries that all systems answered, in the baseline's order."""
    rows: tuple[Compared, ...]
    """For each metric that all systems have scored, each system: the primary metric first."""
    method: Method
    """How intervals and p-values were computed."""
    held_out: HeldOut | None = None
    """The best system, measured on queries that had no part in the choice, where that was asked for."""
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""
    notes: tuple[str, ...] = ()
    """What else the reader should know."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that were compared, the primary one first."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    @property
    def label_sources(self) -> LabelSources:
        """Who gave the labels that its figures rest on: people, and which models."""
        return self.evaluation(self.baseline).dataset.label_sources

    @property
    def stages(self) -> Mapping[str, str]:
        """The stage at which each system was compared: its last."""
        return {name: evaluation.after for name, evaluation in zip(self.names, self.evaluations, strict=True)}

    @property
    def others(self) -> tuple[str, ...]:
        """The systems that are compared with the baseline."""
        return tuple(name for name in self.names if name != self.baseline)

    def evaluation(self, name: str) -> EvaluationRecord:
        """Return what was measured of one system.

        Raises:
            ConfigurationError: no system has that name.
        """
        return self.evaluations[self._place(name)]

    def of(self, metric: Metric | str) -> tuple[Compared, ...]:
        """Return one metric's rows, one a system in the order given.

        Raises:
            ConfigurationError: the metric was not compared.
        """
        wanted = as_metric(metric)
        found = tuple(row for row in self.rows if row.metric == wanted)
        if not found:
            known = ", ".join(map(str, self.metrics))
            raise ConfigurationError(f"metric: found {wanted}, which was not compared; expected one of {known}")
        return found

    def row(self, name: str, metric: Metric | str | None = None) -> Compared:
        """Return one system on one metric; by default the primary one.

        Raises:
            ConfigurationError: no system has that name, or the metric was not compared.
        """
        return self.of(self.primary if metric is None else metric)[self._place(name)]

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ConfigurationError(f"system: found {name!r}; expected one of {', '.join(map(repr, self.names))}")
        return self.names.index(name)

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.names))
        return f"{type(self).__name__}({names}; {self.primary}, {len(self.query_ids):,} queries)"
