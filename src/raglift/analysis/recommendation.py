"""Which of several systems to use: the cheapest that is shown to be within a margin of every other, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.comparison import halves
from raglift.analysis.costs import cheaper_in, cheapest_first, costs_of
from raglift.analysis.outcomes import OutcomeFacts, failure_analysis
from raglift.analysis.paired_statistics import Method, bound_of, verdict, within_reach
from raglift.analysis.truncation import Truncation, truncation_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_of
from raglift.rendering.presenting import Presentable
from raglift.stats.best_of_many import best_of_many
from raglift.stats.margins import MARGIN, NonInferiority, checked_margin, lower_bounds, non_inferiority
from raglift.stats.paired_tests import FEWEST_CHECKED, PairedDifference, paired_difference
from raglift.types.labels import PEOPLE, LabelSources
from raglift.types.metric import Metric

if TYPE_CHECKING:
    import pandas as pd

    from raglift.analysis.records import ComparisonRow
    from raglift.results.comparison import Comparison


# Whether queries that took no part in a choice confirm or contradict it.


CheckVerdict = Literal["confirmed", "not confirmed", "contradicted"]
"""What held-out queries say of a choice."""


@dataclass(frozen=True)
class HeldOutCheck:
    """A system chosen on some queries, and the runner-up there, measured on others."""

    system: str
    """What was chosen."""
    other: str
    """The runner-up: of the other systems the one with the highest mean on the queries of the choice."""
    selection: tuple[str, ...]
    """The queries of the choice."""
    held_out: tuple[str, ...]
    """The queries that took no part in it."""
    mean: float
    """The mean of `system` on the held-out queries."""
    other_mean: float
    """That of `other`."""
    difference: PairedDifference
    """`system` minus `other` there; its p-value is two-sided."""
    lower: float
    """The one-sided lower bound of the difference."""
    verdict: CheckVerdict
    """`contradicted`: below the runner-up by more than the margin, and significantly (one-sided p ≤ 0.025 at 95%
    confidence). `confirmed`: the lower bound is above −margin. Else `not confirmed`, and also where another system is
    recommended by all queries."""


def held_out_check(
    systems: tuple[str, str],
    values: NDArray[np.float64],
    queries: tuple[Sequence[str], Sequence[str]],
    metric: Metric,
    method: Method,
    *,
    margin: float,
    recommended: str,
) -> HeldOutCheck:
    """Measure a choice on queries that took no part in it."""
    leads, bound = values[:, 0] - values[:, 1], bound_of(metric)
    difference = within_reach(
        metric, paired_difference(leads, seed=method.seed, confidence=method.confidence, bound=bound)
    )
    lower = float(lower_bounds(leads[:, np.newaxis], method.alpha, bound)[0])
    outcome: CheckVerdict = "not confirmed"
    if verdict(difference, difference.p, method) == "worse" and difference.mean < -margin:
        outcome = "contradicted"
    elif lower > -margin and systems[0] == recommended:
        outcome = "confirmed"
    return HeldOutCheck(
        system=systems[0],
        other=systems[1],
        selection=tuple(queries[0]),
        held_out=tuple(queries[1]),
        mean=mean_of(metric, values[:, 0]),
        other_mean=mean_of(metric, values[:, 1]),
        difference=difference,
        lower=lower,
        verdict=outcome,
    )


# Which system to use, and why.


@dataclass(frozen=True)
class Contender:
    """One system, and whether it may be the best."""

    system: str
    """Its name in the comparison."""
    mean: float
    """The mean of the primary metric, over the questions for which every system has a value."""
    p: float
    """The p-value of its being the best of all: at most 1 − confidence where it is not."""
    may_be_best: bool
    """Whether no other is significantly better."""
    difference: PairedDifference | None
    """Its difference to the system with the highest mean, query by query, not corrected; None for that system."""
    costs: Mapping[str, float]
    """Its known costs by name, in the order they are compared."""
    truncated_share: float | None = 0.0
    """The share of its chunks, or candidates, that a model truncated; None if some were and the share is not known.
    """
    lower: float | None = None
    """The least of the lower bounds of its differences to the other systems; None for one that could not be chosen: it
    is not cheaper than the highest mean, or its own mean is not within the margin of it."""
    is_shown: bool = False
    """Whether `lower` is above −margin: whatever system is the best, this one is within the margin of it."""


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Presentable):
    """Which system to use: the cheapest that is shown to be within a margin of every other."""

    primary: Metric
    """The metric that decides."""
    choice: str | None
    """The cheapest of the systems that are shown to be within `margin` of every other, of those that are cheaper than
    the highest mean; if there is none, the highest mean. None if no system can be compared."""
    best: str | None
    """The system with the highest mean."""
    equals: tuple[Contender, ...]
    """The systems that no other is significantly better than, or that are shown to be within the margin, the cheapest
    first."""
    beaten: tuple[Contender, ...]
    """The others, the highest mean first."""
    left_out: tuple[str, ...]
    """The systems that cannot be compared: they return fewer hits than the metric looks at, or prompts that end before
    the budget for more than 5% of the queries."""
    decided_by: str | None
    """The cost that is lower for the choice than for the best; None if it is the best itself."""
    queries: int
    """How many queries have a value of every system."""
    margin: float
    """How far below another mean counts as equally good."""
    losses: tuple[OutcomeFacts, ...]
    """The facts that the choice does not find by outcome, most facts first."""
    facts: int
    """How many facts the labelled queries have."""
    k: int
    """The depth at which a fact counts as found."""
    method: Method
    """The level of the bounds, and the seed."""
    has_reranker: bool = False
    """Whether the choice has one."""
    queries_needed: int | None = None
    """About how many queries would show the highest mean to be within the margin; None if it is shown."""
    truncation: Truncation = field(default_factory=Truncation)
    """What the models of the choice read in part."""
    best_without_truncation: str | None = None
    """The one with the highest mean of those whose models read all chunks whole."""
    to_untruncated: PairedDifference | None = None
    """The difference of the choice to `best_without_truncation`, not corrected; None if they are the same."""
    check: HeldOutCheck | None = None
    """What queries that took no part in a choice say of it; None if there are too few."""
    at_budget: ComparisonRow | None = None
    """Recall of the choice at the budget, if recall up to a budget decides."""
    most_at_budget: ComparisonRow | None = None
    """The same of the system with the highest mean there; None where that is the choice's."""
    first: ComparisonRow | None = None
    """HitRate@1 of the choice; None where it was not scored."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""

    @property
    def recommended(self) -> str | None:
        """The system to use: the choice, unless held-out queries contradict it, or no other can be compared."""
        return None if self.is_contradicted or self.is_alone else self.choice

    @property
    def is_alone(self) -> bool:
        """Whether there are other systems, and none of them can be compared."""
        return self.systems == 1 and bool(self.left_out)

    @property
    def is_contradicted(self) -> bool:
        """Whether held-out queries contradict a choice."""
        return self.check is not None and self.check.verdict == "contradicted"

    @property
    def is_shown(self) -> bool:
        """Whether a system is recommended that is shown to be within the margin of every other."""
        return self.recommended is not None and self.of(self.recommended).is_shown

    @property
    def cheaper(self) -> Contender | None:
        """The best of the systems that are cheaper than the choice; None if none is."""
        if self.choice is None:
            return None
        costs = self.of(self.choice).costs
        others = [one for one in (*self.equals, *self.beaten) if cheaper_in(one.costs, costs) is not None]
        return max(others, key=lambda one: one.mean, default=None)

    @property
    def next_best(self) -> Contender | None:
        """The highest mean of the systems that are not the choice; None if there is no other."""
        others = [one for one in (*self.equals, *self.beaten) if one.system != self.choice]
        return max(others, key=lambda one: one.mean, default=None)

    @property
    def systems(self) -> int:
        """How many systems were compared."""
        return len(self.equals) + len(self.beaten)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per system, those that may be the best first.

        Columns: `system`, `mean`, `may_be_best`, `p`, `lower` (the least lower bound of its differences to the others)
        and `is_shown` (whether that is above −margin), the `difference` to the best with its `low` and `high`,
        `truncated_share`, `recommended`, `held_out_check` (the verdict, in the row of the choice), and each cost.
        """
        import pandas as pd

        check = None if self.check is None else self.check.verdict
        rows = [
            {"system": one.system, "mean": one.mean, "may_be_best": one.may_be_best, "p": one.p}
            | {"lower": math.nan if one.lower is None else one.lower, "is_shown": one.is_shown}
            | {
                "difference": 0.0 if one.difference is None else one.difference.mean,
                "low": math.nan if one.difference is None else one.difference.low,
                "high": math.nan if one.difference is None else one.difference.high,
            }
            | {"truncated_share": one.truncated_share, "recommended": one.system == self.recommended}
            | {"held_out_check": check if one.system == self.choice else None}
            | dict(one.costs)
            for one in (*self.equals, *self.beaten)
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.recommended!r}, is_shown={self.is_shown}, {self.systems} systems)"

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


def recommendation(
    comparison: Comparison,
    *,
    known: Mapping[str, Mapping[str, float]] | None = None,
    margin: float = MARGIN,
    check: HeldOutCheck | None = None,
) -> Recommendation:
    """Return which system to use: the cheapest that is shown to be within a margin of every other.

    Where none that is cheaper than the highest mean is shown to be, it is the highest mean. With 40 queries or more the
    same is done on one half of the queries, and what it chooses is measured on the other.

    Raises:
        ConfigurationError: a margin below 0, or costs of a system that is not there.
    """
    margin = checked_margin(margin)
    rows = comparison.of(comparison.primary)
    left_out = tuple(row.system for row in rows if row.truncated or _is_unfilled(comparison, row))
    taking_part = [row.system for row in rows if row.n and row.system not in left_out]
    values = _values(comparison, taking_part)
    counted = np.flatnonzero(~np.isnan(values).any(axis=1)) if taking_part else np.arange(0)
    costs = costs_of(comparison, {} if known is None else known)
    if not len(counted):
        return _nothing(comparison, left_out, margin)
    fairness = comparison.fairness
    recall = None if fairness is None or comparison.primary != fairness.area else fairness.recall
    choice = _Choice(taking_part, values[counted], costs, comparison, margin)
    best, system = choice.best, choice.system
    contenders = choice.contenders()
    equals = {one.system: costs[one.system] for one in contenders.values() if one.may_be_best or one.is_shown}
    beaten = [one for one in contenders.values() if one.system not in equals]
    read_whole = [name for name, one in contenders.items() if one.truncated_share == 0.0]
    whole = max(read_whole, key=choice.means.__getitem__, default=None)
    evaluation = comparison.evaluation(system)
    k = comparison.primary.k
    candidates = int(evaluation.run.spec["candidates"])
    found = failure_analysis(evaluation, k if k is not None and k <= candidates else None)
    lost = [loss for loss in found.losses if loss.facts and loss.outcome != "found"]
    at_budget = comparison.row(system, recall) if recall in comparison.metrics else None
    return Recommendation(
        primary=comparison.primary,
        choice=system,
        best=best,
        equals=tuple(contenders[name] for name in cheapest_first(equals, choice.means)),
        beaten=tuple(sorted(beaten, key=lambda one: -one.mean)),
        left_out=left_out,
        decided_by=cheaper_in(costs[system], costs[best]),
        queries=len(counted),
        margin=margin,
        losses=tuple(sorted(lost, key=lambda loss: -loss.facts)),
        facts=found.facts,
        k=found.k,
        method=comparison.method,
        has_reranker=len(evaluation.scores.stages) > 1,
        queries_needed=choice.found.queries_needed,
        truncation=truncation_of(evaluation),
        best_without_truncation=whole,
        to_untruncated=None if whole in (None, system) else choice.difference(system, whole),
        check=check or _check(choice, counted),
        at_budget=at_budget,
        most_at_budget=_above(at_budget, comparison),
        first=comparison.row(system, FIRST) if FIRST in comparison.metrics else None,
        label_sources=comparison.label_sources,
    )


FIRST = Metric("hit_rate", 1)
"""How often the right passage comes first."""


def _above(row: ComparisonRow | None, comparison: Comparison) -> ComparisonRow | None:
    """Return the highest row of the metric of another, if it is higher."""
    rows = [] if row is None else [one for one in comparison.of(row.metric) if one.n and one.mean > row.mean]
    return max(rows, key=lambda one: one.mean, default=None)


def _is_unfilled(comparison: Comparison, row: ComparisonRow) -> bool:
    """Whether a system may be better than its figures, because too many of its prompts end before the budget."""
    found = comparison.fairness
    return found is not None and comparison.primary == found.area and found.ends_early(row.system, row.n)


def _nothing(comparison: Comparison, left_out: tuple[str, ...], margin: float) -> Recommendation:
    return Recommendation(
        comparison.primary, None, None, (), (), left_out, None, 0, margin, (), 0, 0, comparison.method
    )


def _values(comparison: Comparison, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the primary metric after the last stage: shared queries × systems."""
    metric, query_ids = comparison.primary, comparison.query_ids
    columns = [comparison.evaluation(name).last_values(metric, query_ids) for name in names]
    return np.stack(columns, axis=1) if columns else np.zeros((len(query_ids), 0))


@dataclass(frozen=True, eq=False)
class _Choice:
    """The choice among systems by the values of some queries."""

    names: Sequence[str]
    values: NDArray[np.float64]
    """Queries × systems, without gaps."""
    costs: Mapping[str, Mapping[str, float]]
    comparison: Comparison
    margin: float

    def on(self, queries: Sequence[int]) -> _Choice:
        """Return the choice by some of the queries."""
        return _Choice(self.names, self.values[queries], self.costs, self.comparison, self.margin)

    @cached_property
    def means(self) -> Mapping[str, float]:
        metric = self.comparison.primary
        return {name: mean_of(metric, self.values[:, number]) for number, name in enumerate(self.names)}

    @cached_property
    def found(self) -> NonInferiority:
        cheaper = [
            [cheaper_in(self.costs[one], self.costs[other]) is not None for other in self.names] for one in self.names
        ]
        method, bound = self.comparison.method, bound_of(self.comparison.primary)
        return non_inferiority(self.values, cheaper, margin=self.margin, confidence=method.confidence, bound=bound)

    @property
    def best(self) -> str:
        """The system with the highest mean, of equal ones the first."""
        return self.names[self.found.best]

    @cached_property
    def system(self) -> str:
        """The cheapest that is shown to be within the margin, of those cheaper than the best; else the best."""
        shown = [
            self.names[number] for number in np.flatnonzero(self.found.shown).tolist() if number != self.found.best
        ]
        return cheapest_first({name: self.costs[name] for name in shown}, self.means)[0] if shown else self.best

    @property
    def runner_up(self) -> str | None:
        """The highest mean of the systems that are not chosen; None if there is no other."""
        others = [name for name in self.names if name != self.system]
        return max(others, key=self.means.__getitem__, default=None)

    def difference(self, name: str, other: str) -> PairedDifference:
        method, metric = self.comparison.method, self.comparison.primary
        lead = self.values[:, self.names.index(name)] - self.values[:, self.names.index(other)]
        found = paired_difference(lead, seed=method.seed, confidence=method.confidence, bound=bound_of(metric))
        return within_reach(metric, found)

    def contenders(self) -> dict[str, Contender]:
        """Return all systems by their names."""
        metric, method = self.comparison.primary, self.comparison.method
        many = best_of_many(self.values, seed=method.seed, confidence=method.confidence, bound=bound_of(metric))
        found = {}
        for number, name in enumerate(self.names):
            truncation, lower = truncation_of(self.comparison.evaluation(name)), float(self.found.lower[number])
            found[name] = Contender(
                system=name,
                mean=self.means[name],
                p=float(many.p[number]),
                may_be_best=name == self.best or bool(many.may_be_best[number]),
                difference=None if name == self.best else self.difference(name, self.best),
                costs=self.costs[name],
                truncated_share=truncation.share if truncation else 0.0,
                lower=None if np.isnan(lower) else lower,
                is_shown=bool(self.found.shown[number]),
            )
        return found


def _check(choice: _Choice, counted: NDArray[np.intp]) -> HeldOutCheck | None:
    """Return what one half of the queries chooses, measured on the other; None if there are too few."""
    if len(counted) < 2 * FEWEST_CHECKED:
        return None
    comparison = choice.comparison
    dataset = comparison.evaluation(comparison.baseline).dataset
    ids = [comparison.query_ids[place] for place in counted.tolist()]
    selection, held = halves([dataset.query(query_id) for query_id in ids], comparison.method.seed)
    first = choice.on(selection)
    if first.runner_up is None:
        return None
    columns = [choice.names.index(name) for name in (first.system, first.runner_up)]
    return held_out_check(
        (first.system, first.runner_up),
        choice.values[np.ix_(held, columns)],
        ([ids[place] for place in selection], [ids[place] for place in held]),
        comparison.primary,
        comparison.method,
        margin=choice.margin,
        recommended=choice.system,
    )
