"""The best system, chosen on one half of the queries and measured on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.comparison.halves import halves
from raglift.comparison.statistics import mean_of, verdict, within_reach
from raglift.errors import ConfigurationError
from raglift.result_records import HeldOut
from raglift.significance import paired_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.comparison.pairs import Paired
    from raglift.records import Query
    from raglift.result_records import Method

__all__ = ["hold_out_best"]

_FEWEST = 4


def hold_out_best(paired: Paired, queries: Sequence[Query], method: Method) -> HeldOut:
    """Choose the system with the highest mean on one half of the queries, and measure it on the other.

    The half that measures had no part in the choice, so one test at its own level is enough, however many systems there
    were. Of equal means the first system is chosen.

    Args:
        paired: the values.
        queries: those that the values are of.
        method: the seed and level.

    Raises:
        ConfigurationError: no system has a fair pair on the primary metric, or too few queries have a value.
    """
    systems = [number for metric, number in paired.fair if metric == 0]
    if not systems:
        raise ConfigurationError(
            f"hold_out: found no system with a fair pair on {paired.metrics[0]}; expected at least one: take a depth "
            "that all of them return"
        )
    values = paired.values[0]
    counted = np.flatnonzero(~np.isnan(values[[*systems, paired.baseline]]).any(axis=0)).tolist()
    if len(counted) < _FEWEST:
        raise ConfigurationError(
            f"hold_out: found {len(counted)} scored queries; expected at least {_FEWEST}, two for each half"
        )
    places = [[counted[place] for place in half] for half in halves([queries[place] for place in counted], method.seed)]
    selection, held = (np.array(half, dtype=np.intp) for half in places)
    best = max(systems, key=lambda number: float(values[number, selection].mean()))
    differences = values[best] - values[paired.baseline]
    found = paired_difference(differences[held], seed=method.seed, confidence=method.confidence)
    found = within_reach(paired.metrics[0], found)
    return HeldOut(
        system=paired.names[best],
        selection=tuple(queries[place].id for place in selection),
        selection_difference=mean_of(paired.metrics[0], differences[selection]),
        held_out=tuple(queries[place].id for place in held),
        mean=mean_of(paired.metrics[0], values[best, held]),
        baseline_mean=mean_of(paired.metrics[0], values[paired.baseline, held]),
        difference=found,
        verdict=verdict(found, found.p, method),
    )
