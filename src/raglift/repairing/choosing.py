"""The few changes worth making: chosen on one half of the questions, and measured on the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.comparison import halves
from raglift.repairing.records import MOST_PROPOSALS, Proposal
from raglift.stats.paired_tests import paired_difference
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.repairing.changes import Change
    from raglift.repairing.records import LostFact
    from raglift.repairing.systems import System, Trials

_TRIED = 6
"""Changes that are tried on all questions: those that mend most of the lost facts."""
_PARTS = ("retriever", "chunker", "embedding", "reranker", "candidates", "k")


def proposals(
    system: System, lost: Sequence[LostFact], trials: Trials, *, seed: int, confidence: float
) -> list[Proposal]:
    """Return the changes, alone or in pairs, that mend more than they break.

    Args:
        system: as it was run.
        lost: its lost facts, with the changes that find them.
        trials: the systems over its dataset.
        seed: of the halves, and of the test.
        confidence: of the tests; the proposals share their level.
    """
    chosen, other = halves(trials.queries, seed)
    choosing = {trials.queries[place].id for place in chosen}
    mending = Counter(
        tried.change for one in lost if one.query_id in choosing for tried in one.tried if tried.change.settings
    )
    likely = [change for change, _ in mending.most_common(_TRIED)]
    if not likely:
        return []
    before = _Found(system, trials)
    options: dict[tuple[Change, ...], _Found] = {}
    with track("try on all questions", len(likely), "changes", show=trials.progress) as advance:
        for change in likely:
            options[change,] = _Found(change.system, trials)
            advance(1)
    best = sorted(options, key=lambda changes: -options[changes].gain(before, chosen))[:MOST_PROPOSALS]
    for pair in combinations([changes[0] for changes in best], 2):
        both = _together(system, pair)
        if both is not None:
            options[pair] = _Found(both, trials)
    ranked = sorted(options, key=lambda changes: (-options[changes].gain(before, chosen), len(changes)))
    found = [
        _measured(changes, options[changes], before, other, trials, seed, confidence)
        for changes in ranked[:MOST_PROPOSALS]
    ]
    return [one for one in found if one.is_worth_it]


class _Found:
    """What a system finds of each question, and what it sends."""

    def __init__(self, system: System, trials: Trials) -> None:
        places = list(range(len(trials.queries)))
        ranks = trials.ranks(system, places)
        facts = np.array([len(query.facts) for query in trials.queries])
        found = np.zeros(len(places))
        for (query, _), rank in ranks.items():
            found[query] += rank <= system.k
        self.facts = found
        self.recall = found / facts
        self.tokens = trials.tokens(system)

    def gain(self, before: _Found, places: Sequence[int]) -> float:
        """Return how many facts it finds more."""
        return float((self.facts - before.facts)[list(places)].sum())


def _together(system: System, pair: tuple[Change, Change]) -> System | None:
    """Return a system with both changes; None if they change the same."""
    changed = [{part for part in _PARTS if getattr(one.system, part) != getattr(system, part)} for one in pair]
    if changed[0] & changed[1]:
        return None
    return replace(pair[0].system, **{part: getattr(pair[1].system, part) for part in changed[1]})


def _measured(
    changes: tuple[Change, ...],
    after: _Found,
    before: _Found,
    places: Sequence[int],
    trials: Trials,
    seed: int,
    confidence: float,
) -> Proposal:
    """Return what changes are worth on questions that took no part in their choice."""
    moved: NDArray[np.float64] = (after.facts - before.facts)[list(places)]
    ids = [trials.queries[place].id for place in places]
    mended = tuple(one for one, change in zip(ids, moved.tolist(), strict=True) if change > 0)
    broken = tuple(one for one, change in zip(ids, moved.tolist(), strict=True) if change < 0)
    difference = paired_difference(
        (after.recall - before.recall)[list(places)], seed=seed, confidence=confidence, bound=1.0
    )
    return Proposal(
        changes, len(mended), len(broken), len(places), difference, after.tokens, before.tokens, mended, broken
    )
