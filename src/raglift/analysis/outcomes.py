"""Failure analysis: where each fact was found or lost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.upper_bound import attainable_facts, depth_of, match_tables_of, rule_of
from raglift.metrics.measure import first_satisfactions
from raglift.metrics.session_prefixes import rank_in_call
from raglift.rendering.presenting import Presentable
from raglift.types.labels import PEOPLE, LabelSources

if TYPE_CHECKING:
    import pandas as pd

    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation
    from raglift.types.rankings import Run


# Failure analysis: each fact gets the first outcome that applies, so the counts add up exactly.


OUTCOMES = (
    "found",
    "below_k",
    "dropped",
    "not_retrieved",
    "not_attainable",
    "missed",
    "failed",
)
"""Every outcome, in the order of tables."""


@dataclass(frozen=True)
class OutcomeFacts:
    """The facts with one outcome."""

    outcome: str
    """Their outcome: `failed`, `found`, `below_k`, `dropped`, `not_retrieved`, `not_attainable`, or `missed` (the last
    two in one, if the chunks of the index are not known)."""
    stage: str | None
    """The stage that dropped them, or made them findable; None for the other outcomes."""
    facts: int
    """How many."""
    query_ids: tuple[str, ...]
    """The questions with such facts, each once, in dataset order."""


@dataclass(frozen=True)
class FailureAnalysis(Presentable):
    """The outcome of each fact of the labelled queries, at one depth."""

    k: int
    """The depth at which a fact counts as found."""
    facts: int
    """All facts of the labelled queries; the sum over `losses`."""
    losses: tuple[OutcomeFacts, ...]
    """One entry per outcome, in the order they are tried; also those without facts."""
    made_findable: tuple[OutcomeFacts, ...]
    """Facts that a later ranking satisfies and the candidates did not, by the stage that made them so (by merging or
    expanding hits); they are counted in `losses` as well, as found, below k, or dropped by a stage after that."""
    chunks_known: bool
    """Whether it is known what the chunks of the index allow; else `missed` stands for the last two outcomes."""
    label_sources: LabelSources = PEOPLE
    """Label provenance: who made the labels."""
    causes: tuple[tuple[str, int], ...] = ()
    """What lost facts are lost by, with their number, if `repairs` found it out at this depth."""

    def of(self, outcome: str, stage: str | None = None) -> OutcomeFacts:
        """Return one entry; one of no facts when there is none."""
        for loss in self.losses:
            if loss.outcome == outcome and loss.stage == stage:
                return loss
        return OutcomeFacts(outcome, stage, 0, ())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per outcome: `outcome`, `stage`, `facts`, `share`, `queries` and `query_ids`."""
        import pandas as pd

        rows = [
            (loss.outcome, loss.stage, loss.facts, loss.facts / max(self.facts, 1), len(loss.query_ids), loss.query_ids)
            for loss in self.losses
        ]
        return pd.DataFrame(rows, columns=["outcome", "stage", "facts", "share", "queries", "query_ids"])


@dataclass(frozen=True, eq=False)
class FactOutcomes:
    """The outcome of each fact of the labelled queries, fact by fact, at one depth."""

    k: int
    """The depth at which a fact counts as found."""
    query: NDArray[np.int64]
    """Whose each fact is: an index into the queries, ascending."""
    outcomes: tuple[tuple[str, str | None], ...]
    """What can become of a fact, in the order in which it is tried: outcome and stage, as `OutcomeFacts` has them."""
    outcome_of_fact: NDArray[np.int64]
    """The outcome of each: an index into `outcomes`."""
    ranks: NDArray[np.int64]
    """Shape (stages, facts): the rank at which a stage's ranking satisfies a fact; 0 for never."""
    chunks_known: bool
    """Whether it is known what the chunks of the index allow; else `missed` stands for the last two outcomes."""


def fact_outcomes(evaluation: Evaluation, k: int | None = None) -> FactOutcomes:
    """Return the outcome of each fact: the first of these that applies.

    `failed`: its query failed. `found`: the last ranking satisfies it by rank k (of a session: by rank k of a call).
    `below_k`: by a later rank. `dropped`: an earlier stage's ranking satisfied it; stage S lost it. `not_retrieved`:
    the chunks of the index allow it, but it was not among the candidates. `not_attainable`: the chunks do not allow it.

    Args:
        evaluation: the evaluation.
        k: the depth; by default the deepest that was scored.

    Raises:
        ConfigurationError: k is not a depth of the run.
    """
    k = depth_of(evaluation, k)
    match_table = match_tables_of(evaluation)
    by_coverage = rule_of(evaluation).by_coverage
    ranks = np.stack([_first_ranks(judged, by_coverage=by_coverage) for judged in match_table])
    query = match_table[0].facts.query
    failed = np.array([trace.error is not None for trace in evaluation.run.traces], dtype=np.bool_)[query]
    attainable = attainable_facts(evaluation.dataset.queries, evaluation.run.inventory, rule_of(evaluation))
    stages = evaluation.scores.stages
    satisfied = ranks > 0
    # the stage after the last one that satisfied it
    lost_at = len(stages) - np.argmax(satisfied[::-1], axis=0)
    outcomes: dict[tuple[str, str | None], NDArray[np.bool_]] = {
        ("failed", None): failed,
        ("found", None): satisfied[-1] & (ranks[-1] <= k),
        ("below_k", None): satisfied[-1],
        **{("dropped", stages[n]): satisfied.any(axis=0) & (lost_at == n) for n in range(1, len(stages))},
        **_never_seen(attainable, len(query)),
    }
    # The last one always applies
    outcome_of_fact = np.argmax(np.stack(list(outcomes.values())), axis=0)
    return FactOutcomes(k, query, tuple(outcomes), outcome_of_fact, ranks, attainable is not None)


def failure_analysis(evaluation: Evaluation, k: int | None = None) -> FailureAnalysis:
    """Return how many facts came to which end, as `fact_outcomes` tells them.

    Args:
        evaluation: the evaluation.
        k: the depth; by default the deepest that was scored.

    Raises:
        ConfigurationError: k is not a depth of the run.
    """
    all_outcomes = fact_outcomes(evaluation, k)
    query, satisfied, stages = all_outcomes.query, all_outcomes.ranks > 0, evaluation.scores.stages
    losses = tuple(
        _failure_analysis(evaluation, outcome, stage, query[all_outcomes.outcome_of_fact == number])
        for number, (outcome, stage) in enumerate(all_outcomes.outcomes)
    )
    failed = all_outcomes.outcome_of_fact == all_outcomes.outcomes.index(("failed", None))
    given = 0 if evaluation.candidates is None else stages.index(evaluation.candidates)  # what the reranker got
    gained = satisfied.any(axis=0) & ~satisfied[: given + 1].any(axis=0) & ~failed
    gained_at = np.argmax(satisfied, axis=0)
    made_findable = [
        _failure_analysis(evaluation, "made_findable", stages[n], query[gained & (gained_at == n)])
        for n in range(1, len(stages))
    ]
    return FailureAnalysis(
        all_outcomes.k,
        len(query),
        losses,
        tuple(loss for loss in made_findable if loss.facts),
        all_outcomes.chunks_known,
        evaluation.label_sources,
        causes_at(evaluation, all_outcomes.k),
    )


def causes_at(evaluation: Evaluation, k: int) -> tuple[tuple[str, int], ...]:
    """Return what lost facts are lost by, with their number; nothing if it was not found out at this depth."""
    known = evaluation.known_repairs
    return known.causes if known is not None and known.k == k else ()


def _never_seen(attainable: NDArray[np.bool_] | None, facts: int) -> dict[tuple[str, str | None], NDArray[np.bool_]]:
    every = np.ones(facts, dtype=np.bool_)
    if attainable is None:
        return {("missed", None): every}
    return {("not_retrieved", None): attainable, ("not_attainable", None): every}


def _first_ranks(judged: MatchTable, *, by_coverage: bool) -> NDArray[np.int64]:
    """Return the rank at which each fact is satisfied, of a session the best one in any call; 0 for one that is not."""
    first = first_satisfactions(judged)
    ranks = np.zeros(len(judged.facts.query), dtype=np.int64)
    if judged.sessions is None:
        ranks[first.fact] = first.rank
        return ranks
    ranks[first.fact] = rank_in_call(judged, first.query, first.rank)
    if not by_coverage:  # then each match satisfies the fact, in later calls too
        matches = judged.matches
        np.minimum.at(ranks, matches.fact, rank_in_call(judged, matches.query, matches.rank))
    return ranks


def _failure_analysis(
    evaluation: Evaluation, outcome: str, stage: str | None, query: NDArray[np.int64]
) -> OutcomeFacts:
    queries = evaluation.dataset.queries
    return OutcomeFacts(outcome, stage, len(query), tuple(queries[number].id for number in np.unique(query).tolist()))


# Failed queries grouped by cause: the error message without the parts that are specific to one query.


_DETAIL = " — "
"""The part after it is specific to one query, in raglift's own errors."""
_TRIES = re.compile(r" \(tried \d+ times\)$")
_LONG_QUOTE = re.compile(r"'[^']{24,}'|\"[^\"]{24,}\"")
_NUMBER = re.compile(r"\b(?:0x[0-9a-fA-F]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d[\d.,]{2,}\d)\b")


@dataclass(frozen=True)
class Failure:
    """Queries that failed of one cause."""

    cause: str
    """What their errors have in common, with the stage: `retrieve: HTTP 500 Internal Server Error`."""
    query_ids: tuple[str, ...]
    """Which, in the order of the dataset."""
    first: str
    """The error of the first, in full."""


def failures_of(run: Run) -> tuple[Failure, ...]:
    """Return the causes of which queries failed, the commonest first; none if no query failed."""
    causes: dict[str, list[tuple[str, str]]] = {}
    for trace in run.traces:
        if trace.error is not None:
            causes.setdefault(_cause(trace.error), []).append((trace.query_id, trace.error))
    found = [
        Failure(cause, tuple(query_id for query_id, _ in failed), failed[0][1]) for cause, failed in causes.items()
    ]
    return tuple(sorted(found, key=lambda failure: -len(failure.query_ids)))


def _cause(error: str) -> str:
    """Return an error without what only this query's has: details, long quotations, numbers of four digits or more."""
    common = _TRIES.sub("", error.partition(_DETAIL)[0])
    return _NUMBER.sub("…", _LONG_QUOTE.sub("…", common))
