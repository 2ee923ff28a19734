"""Which of several systems to use: the cheapest of those that cannot be told from the best, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.comparison import halves
from raglift.analysis.costs import cheaper_in, cheapest_first, costs_of
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import bound_of, verdict, within_reach
from raglift.analysis.truncation import truncation_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_of
from raglift.records.labels import PEOPLE, LabelSources
from raglift.stats.best_of_many import best_of_many
from raglift.stats.paired_tests import FEW_QUERIES, paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.outcomes import OutcomeFacts
    from raglift.analysis.records import ComparisonRecord, Method
    from raglift.records.metric import Metric
    from raglift.stats.best_of_many import BestOfMany
    from raglift.stats.paired_tests import PairedDifference


MARGIN = 0.03
"""How much lower than the best's the mean of a system may be that is recommended because it costs less."""
_HALVES = 2


@dataclass(frozen=True)
class Contender:
    """One system, and whether it may be the best."""

    system: str
    """Its name in the comparison."""
    mean: float
    """Of the primary metric, over the queries of which every system has a value."""
    p: float
    """The p-value of its being the best of all: at most 1 − confidence where it is not."""
    may_be_best: bool
    """Whether it cannot be told from the best."""
    difference: PairedDifference | None
    """Its difference to the system with the highest mean, query by query, not corrected; None for that system."""
    costs: Mapping[str, float]
    """What is known of its costs, by name, in the order in which they are looked at."""
    truncated_share: float | None = 0.0
    """The share of its chunks, or candidates, that a model truncated; None where some were and the share is not known.
    """


@dataclass(frozen=True)
class Confirmation:
    """The recommendation of one half of the queries, measured on the other, which had no part in it."""

    system: str
    """What is recommended by the first half."""
    other: str
    """What it is measured against: the cheapest of all systems; where it is that itself, the best of the first half or,
    where it is that too, the second best."""
    is_cheapest: bool
    """Whether `other` is the cheapest of all systems."""
    selection: tuple[str, ...]
    """The queries of the first half."""
    held_out: tuple[str, ...]
    """The queries of the other."""
    mean: float
    """The mean of `system` on the other half."""
    other_mean: float
    """That of `other`."""
    difference: PairedDifference
    """The difference between them there."""
    verdict: str
    """Of `difference`: one test, so there is nothing to correct for."""


@dataclass(frozen=True, eq=False)
class RecommendationRecord:
    """Which system to use, and why."""

    primary: Metric
    """The metric that decides."""
    recommended: str | None
    """The cheapest of `equals` within `margin` of the best; the best where there are too few queries to tell; None if
    no system can be compared."""
    best: str | None
    """The system with the highest mean."""
    best_without_truncation: str | None
    """The one with the highest mean of those whose models read all chunks whole."""
    equals: tuple[Contender, ...]
    """The systems that cannot be told from the best, the cheapest first."""
    beaten: tuple[Contender, ...]
    """The systems that are worse than another, the highest mean first."""
    left_out: tuple[str, ...]
    """The systems that return fewer hits than the metric looks at, so that they cannot be compared."""
    decided_by: str | None
    """The cost in which the recommended system is cheaper than the best; None where it is the best itself, and where
    they cost the same."""
    queries: int
    """How many queries have a value of every system."""
    margin: float
    """How much lower than the best's the mean of the recommended system may be."""
    losses: tuple[OutcomeFacts, ...]
    """What became of the facts that the recommended system does not find, most facts first."""
    facts: int
    """How many facts the labelled queries have."""
    k: int
    """The depth at which a fact counts as found."""
    method: Method
    """How the systems that may be the best were found."""
    has_reranker: bool = False
    """Whether the recommended system has one."""
    confirmation: Confirmation | None = None
    """The same on held-out queries; None where there are too few."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""

    @property
    def systems(self) -> int:
        """How many systems were compared."""
        return len(self.equals) + len(self.beaten)

    @property
    def is_decided(self) -> bool:
        """Whether there are enough queries to recommend more than the highest mean."""
        return self.recommended is not None and self.queries >= FEW_QUERIES

    def of(self, system: str) -> Contender:
        """Return one system.

        Raises:
            ConfigurationError: no system has that name, or it could not be compared.
        """
        for one in (*self.equals, *self.beaten):
            if one.system == system:
                return one
        known = ", ".join(repr(one.system) for one in (*self.equals, *self.beaten))
        raise ConfigurationError(f"system: found {system!r}; expected one of {known}")

    @property
    def too_low(self) -> tuple[Contender, ...]:
        """Those of `equals` whose mean is lower than the best's by more than `margin`."""
        if self.best is None:
            return ()
        least = self.of(self.best).mean - self.margin
        return tuple(one for one in self.equals if one.mean < least)


def recommendation(
    comparison: ComparisonRecord,
    *,
    known: Mapping[str, Mapping[str, float]] | None = None,
    margin: float = MARGIN,
) -> RecommendationRecord:
    """Return which system to use: the cheapest of those that cannot be told from the best.

    With fewer than 30 queries it is the one with the highest mean. With 60 or more the same is done on one half of the
    queries, and what it recommends is measured on the other.

    Args:
        comparison: the systems.
        known: costs that the caller knows, by name, then system: the first to be looked at.
        margin: a system whose mean is lower than the best's by more than this is not recommended for its cost.

    Raises:
        ConfigurationError: a margin below 0, or costs of a system that is not there.
    """
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0.0 <= margin < float("inf"):
        raise ConfigurationError(f"margin: found {margin!r}; expected a number of 0 or more")
    rows = comparison.of(comparison.primary)
    taking_part = [row.system for row in rows if not row.truncated and row.n]
    left_out = tuple(row.system for row in rows if row.truncated)
    values = _values(comparison, taking_part)
    counted = np.flatnonzero(~np.isnan(values).any(axis=1)) if taking_part else np.arange(0)
    costs = costs_of(comparison, {} if known is None else known)
    if not len(counted):
        return _nothing(comparison, left_out, margin)
    choice = _Choice.of(taking_part, values[counted], costs, comparison, margin)
    best, recommended = choice.best, choice.recommended
    contenders = {name: choice.contender(name) for name in taking_part}
    equals = {name: costs[name] for name in taking_part if contenders[name].may_be_best}
    beaten = [one for one in contenders.values() if not one.may_be_best]
    evaluation = comparison.evaluation(recommended)
    k = comparison.primary.k
    candidates = int(evaluation.run.spec["candidates"])
    found = failure_analysis(evaluation, k if k is not None and k <= candidates else None)
    lost = [loss for loss in found.losses if loss.facts and loss.outcome != "found"]
    return RecommendationRecord(
        primary=comparison.primary,
        recommended=recommended,
        best=best,
        best_without_truncation=comparison.best_without_truncation,
        equals=tuple(contenders[name] for name in cheapest_first(equals, choice.means)),
        beaten=tuple(sorted(beaten, key=lambda one: -one.mean)),
        left_out=left_out,
        decided_by=cheaper_in(costs[recommended], costs[best]),
        queries=len(counted),
        margin=float(margin),
        losses=tuple(sorted(lost, key=lambda loss: -loss.facts)),
        facts=found.facts,
        k=found.k,
        method=comparison.method,
        has_reranker=len(evaluation.scores.stages) > 1,
        confirmation=_confirmation(choice, counted) if len(counted) >= _HALVES * FEW_QUERIES else None,
        label_sources=comparison.label_sources,
    )


def _nothing(comparison: ComparisonRecord, left_out: tuple[str, ...], margin: float) -> RecommendationRecord:
    return RecommendationRecord(
        comparison.primary, None, None, None, (), (), left_out, None, 0, float(margin), (), 0, 0, comparison.method
    )


def _values(comparison: ComparisonRecord, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the primary metric after the last stage: shared queries × systems."""
    columns = []
    for name in names:
        evaluation = comparison.evaluation(name)
        place = {query_id: number for number, query_id in enumerate(evaluation.scores.query_ids)}
        of_query = evaluation.scores.of(evaluation.after, comparison.primary)
        columns.append(of_query[[place[query_id] for query_id in comparison.query_ids]])
    return np.stack(columns, axis=1) if columns else np.zeros((len(comparison.query_ids), 0))


@dataclass(frozen=True, eq=False)
class _Choice:
    """The choice among systems by the values of some queries."""

    names: Sequence[str]
    values: NDArray[np.float64]
    """Queries × systems, without gaps."""
    means: Mapping[str, float]
    found: BestOfMany
    costs: Mapping[str, Mapping[str, float]]
    comparison: ComparisonRecord
    margin: float

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        values: NDArray[np.float64],
        costs: Mapping[str, Mapping[str, float]],
        comparison: ComparisonRecord,
        margin: float,
    ) -> _Choice:
        metric, method = comparison.primary, comparison.method
        means = {name: mean_of(metric, values[:, number]) for number, name in enumerate(names)}
        found = best_of_many(values, seed=method.seed, confidence=method.confidence, bound=bound_of(metric))
        return cls(names, values, means, found, {name: costs[name] for name in names}, comparison, margin)

    def on(self, queries: Sequence[int]) -> _Choice:
        """Return the choice by some of the queries."""
        return self.of(self.names, self.values[queries], self.costs, self.comparison, self.margin)

    @property
    def best(self) -> str:
        """The system with the highest mean, of equal ones the first."""
        return max(self.names, key=self.means.__getitem__)

    def may_be_best(self, name: str) -> bool:
        return name == self.best or bool(self.found.may_be_best[self.names.index(name)])

    @property
    def recommended(self) -> str:
        """The cheapest that cannot be told from the best and is within the margin; of few queries the best."""
        if len(self.values) < FEW_QUERIES:
            return self.best
        least = self.means[self.best] - self.margin
        equals = [name for name in self.names if self.may_be_best(name) and self.means[name] >= least]
        return cheapest_first({name: self.costs[name] for name in equals}, self.means)[0]

    def difference(self, name: str, other: str) -> PairedDifference:
        method, metric = self.comparison.method, self.comparison.primary
        lead = self.values[:, self.names.index(name)] - self.values[:, self.names.index(other)]
        found = paired_difference(lead, seed=method.seed, confidence=method.confidence, bound=bound_of(metric))
        return within_reach(metric, found)

    def contender(self, name: str) -> Contender:
        truncation = truncation_of(self.comparison.evaluation(name))
        return Contender(
            system=name,
            mean=self.means[name],
            p=float(self.found.p[self.names.index(name)]),
            may_be_best=self.may_be_best(name),
            difference=None if name == self.best else self.difference(name, self.best),
            costs=self.costs[name],
            truncated_share=truncation.share if truncation else 0.0,
        )


def _confirmation(choice: _Choice, counted: NDArray[np.intp]) -> Confirmation | None:
    """Return what one half of the queries recommends, measured on the other."""
    comparison = choice.comparison
    dataset = comparison.evaluation(comparison.baseline).dataset
    ids = [comparison.query_ids[place] for place in counted.tolist()]
    selection, held = halves([dataset.query(query_id) for query_id in ids], comparison.method.seed)
    first, second = choice.on(selection), choice.on(held)
    system, cheapest = first.recommended, cheapest_first(choice.costs, first.means)[0]
    ranked = sorted(choice.names, key=lambda name: -first.means[name])
    others = [name for name in (cheapest, *ranked) if name != system]
    if not others:
        return None
    other = others[0]
    found = second.difference(system, other)
    return Confirmation(
        system=system,
        other=other,
        is_cheapest=other == cheapest,
        selection=tuple(ids[place] for place in selection),
        held_out=tuple(ids[place] for place in held),
        mean=second.means[system],
        other_mean=second.means[other],
        difference=found,
        verdict=verdict(found, found.p, comparison.method),
    )
