"""What makes a profile's value another than the default's: its convention, its match rule, or both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.diagnosis.conventions.agreeing import same
from raglift.diagnosis.conventions.counts import Counts
from raglift.diagnosis.conventions.judged import values_under
from raglift.diagnosis.conventions.numbers import numbers_of
from raglift.diagnosis.conventions.ranking import relevant_ranks
from raglift.metrics import PROFILES
from raglift.metrics.profiles import DEFAULT

if TYPE_CHECKING:
    from raglift.matching import Judgements
    from raglift.records import Metric
    from raglift.result_records import EvaluationRecord

__all__ = ["Reasons"]


@dataclass(frozen=True)
class Reasons:
    """Explains the values of one query."""

    evaluation: EvaluationRecord
    stage: str
    judged: dict[str, Judgements]
    """What the stage matched, for each profile."""
    query: int
    """The number of the query."""

    def numbers(self, metric: Metric, profile: str, value: float) -> str:
        """Return how a value comes about; nothing for one that is left out, or of a query that failed."""
        if math.isnan(value) or self.evaluation.run.traces[self.query].error is not None:
            return ""
        return numbers_of(Counts.of(self.judged[profile], self.query, metric, profile), value)

    def why(self, metric: Metric, profile: str, value: float) -> str:
        """Return the sentences that explain a value that is not the default's; empty where nothing explains it."""
        if math.isnan(value):
            return self._left_out()
        convention = PROFILES[profile].differences.get(metric.name, "") if self._overrides(metric, profile) else ""
        if self.judged[profile] is self.judged[DEFAULT.name]:
            return convention
        by_default_rule = self._value(metric, profile)
        if same(by_default_rule, value):
            return convention
        if same(by_default_rule, self._value(metric, DEFAULT.name)):
            return f"{self._rule(metric, profile)}; that alone makes the difference."
        return f"{convention} {self._rule(metric, profile)}, too.".strip()

    def _overrides(self, metric: Metric, profile: str) -> bool:
        return metric.name in PROFILES[profile].functions

    def _value(self, metric: Metric, profile: str) -> float:
        """Return what a profile's measure comes to over what the default's rule matched."""
        judged = self.judged[DEFAULT.name]
        return float(values_under(self.evaluation, self.stage, judged, [metric], profile)[0, self.query])

    def _left_out(self) -> str:
        if not self.judged[DEFAULT.name].hits[self.query]:
            return "Nothing came back, and such a query is left out of the mean; the default counts it 0."
        return "The query is left out of the mean."

    def _rule(self, metric: Metric, profile: str) -> str:
        """Return what the profile's match rule does otherwise, and to which hits: the start of a sentence."""
        default, theirs = (
            set(relevant_ranks(self.judged[name], self.query, metric)) for name in (DEFAULT.name, profile)
        )
        ranks = sorted(theirs - default)
        if not ranks:
            return "Its match rule has no length guard"
        counts = "counts" if len(ranks) == 1 else "count"
        return f"Its match rule has no length guard, so rank {', '.join(map(str, ranks))} {counts} as relevant"
