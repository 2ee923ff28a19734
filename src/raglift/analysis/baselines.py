"""Which system the others are compared with, and why: never an accident of names or of their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.shared_queries import baseline_of
from raglift.metrics.computing import mean_of, mean_title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.analysis.comparison import Paired
    from raglift.results.evaluation import Evaluation


_TWO = 2


@dataclass(frozen=True)
class Baseline:
    """The system that the others are compared with."""

    name: str
    """What it is called."""
    reason: str
    """Why it is this one, in a few words."""
    is_chosen: bool = False
    """Whether it was chosen for its mean on the queries of the comparison."""


def choose_baseline(systems: Mapping[str, Evaluation], given: str | int | None, paired: Paired) -> Baseline:
    """Return the system that the others are compared with.

    The one that is named. Of two the first, so that the second is said to be better or worse, as it was asked. Of more
    the only one that is plain BM25; where there is none, or several, the one with the highest mean of the primary
    metric.

    Args:
        systems: the evaluations, by name.
        given: the name or number that the user gave; None for none.
        paired: the values of the primary metric.

    Raises:
        ConfigurationError: no system has the name or number that was given.
    """
    names = list(systems)
    if given is not None:
        return Baseline(baseline_of(names, given), "as requested")
    if len(names) <= _TWO:
        return Baseline(names[0], "the first of two")
    plain = [name for name, evaluation in systems.items() if is_plain_bm25(evaluation)]
    if len(plain) == 1:
        return Baseline(plain[0], "the only plain BM25")
    best = best_system(paired)
    if best is None:
        return Baseline(names[0], "the first, because no system has a mean that can be compared")
    return Baseline(names[best], f"the highest mean {mean_title(paired.metrics[0])}", is_chosen=True)


def best_system(paired: Paired) -> int | None:
    """Return the number of the system with the highest mean of the primary metric; of equal ones the first.

    Systems that return fewer hits than the metric looks at cannot be it. None where no system can.
    """
    metric = paired.metrics[0]
    means = {
        number: mean
        for number in range(len(paired.names))
        if not paired.truncated[0, number] and not np.isnan(mean := mean_of(metric, paired.of((0, number))))
    }
    return max(means, key=means.__getitem__) if means else None


def is_plain_bm25(evaluation: Evaluation) -> bool:
    """Whether a system is BM25 and nothing else: one stage, which says so by its first word."""
    stages = evaluation.run.stages
    first_word = stages[0].system.replace("(", " ").partition(" ")[0]
    return len(stages) == 1 and "bm25" in first_word.lower()
