"""The few changes worth making: chosen on one half of the questions, and measured on the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.comparison import halves
from raglift.repairing.changes import MOST_RERANKED, variants_of
from raglift.repairing.records import DEPTH, MOST_PROPOSALS, Change, Effect, LostFact, Proposal, effect_of
from raglift.repairing.systems import NO_RERANKER, System, Trials
from raglift.stats.paired_tests import paired_difference
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from collections.abc import Sequence


_PARTS = ("retriever", "chunker", "embedding", "reranker", "candidates", "k")


def proposals(
    system: System, lost: Sequence[LostFact], trials: Trials, *, seed: int, confidence: float
) -> tuple[list[Effect], list[Proposal]]:
    """Return what changes do to all questions, and those that, alone or in pairs, mend more than they break.

    Args:
        system: as it was run.
        lost: its lost facts, with the changes that find them.
        trials: the systems over its dataset.
        seed: of the halves, and of the test.
        confidence: of the tests; the proposals share their level.
    """
    variants = {one.change: one.system for one in variants_of(system, detected=trials.language)}
    chosen, other = halves(trials.queries, seed)
    choosing = {trials.queries[place].id for place in chosen}
    settings = [
        (one.query_id in choosing, tried.change) for one in lost for tried in one.tried if tried.change.settings
    ]
    mending = Counter(change for is_choosing, change in settings if is_choosing and change.cause != DEPTH)
    is_reranked = system.reranker != NO_RERANKER
    every = [change for change in variants if change.settings and change.cause != DEPTH]
    likely = [change for change, _ in mending.most_common(MOST_RERANKED)] if is_reranked else every
    options: dict[tuple[Change, ...], System] = {}
    gains: dict[tuple[Change, ...], float] = {}
    before = trials.facts(system)

    def choose(changes: tuple[Change, ...], changed: System) -> None:
        options[changes] = changed
        gains[changes] = float((trials.facts(changed, chosen) - before[list(chosen)]).sum())

    with track("try on all questions", len(likely), "changes", show=trials.progress) as advance:
        for change in likely:
            choose((change,), variants[change])
            advance(1)
    best = sorted(options, key=lambda changes: -gains[changes])[:MOST_PROPOSALS]
    for (first,), (second,) in combinations(best, 2):
        both = _together(system, variants[first], variants[second])
        if both is not None:
            choose((first, second), both)
    ranked = sorted(options, key=lambda changes: (-gains[changes], len(changes)))
    deeper = [change for change in variants if change.cause == DEPTH and (True, change) in settings]
    ranked = ranked[: MOST_PROPOSALS - len(deeper)] + [(change,) for change in deeper]  # a longer prompt comes last
    for change in deeper:
        choose((change,), variants[change])
    measured = [
        _measured(changes, (system, options[changes]), other, trials, seed, confidence)
        for changes in ranked
        if gains[changes] > 0
    ]
    alone = [changes[0] for changes in ranked if len(changes) == 1] if is_reranked else [one for _, one in settings]
    effects = [effect_of(change, before, trials.facts(variants[change])) for change in dict.fromkeys(alone)]
    return effects, [one for one in measured if one.is_worth_it]


def _together(system: System, first: System, second: System) -> System | None:
    """Return a system with both changes; None if they change the same."""
    changed = [{part for part in _PARTS if getattr(one, part) != getattr(system, part)} for one in (first, second)]
    if changed[0] & changed[1]:
        return None
    return replace(first, **{part: getattr(second, part) for part in changed[1]})


def _measured(
    changes: tuple[Change, ...],
    systems: tuple[System, System],
    places: Sequence[int],
    trials: Trials,
    seed: int,
    confidence: float,
) -> Proposal:
    """Return what changes are worth on questions that took no part in their choice: of a system before and after."""
    before, after = systems
    moved = trials.facts(after, places) - trials.facts(before, places)
    queries = [trials.queries[place] for place in places]
    recall = moved / np.array([len(query.facts) for query in queries])
    return Proposal(
        changes,
        tuple(query.id for query, change in zip(queries, moved.tolist(), strict=True) if change > 0),
        tuple(query.id for query, change in zip(queries, moved.tolist(), strict=True) if change < 0),
        len(places),
        paired_difference(recall, seed=seed, confidence=confidence, bound=1.0),
        trials.cost(after, places),
        trials.cost(before, places),
    )
