"""Settings chosen by their scores, with figures that are not optimistic: chosen on some queries, measured on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError
from raglift.rendering.presenting import Presentable
from raglift.stats.intervals import Interval, checked_integer, mean_interval
from raglift.stats.paired_tests import PairedDifference, paired_difference

if TYPE_CHECKING:
    import pandas as pd

    from raglift.types.metric import Metric

    Numbers = NDArray[np.float64]

FOLDS, REPEATS = 5, 10
_FEWEST = 2
"""Queries of a fold, at least."""


@dataclass(frozen=True)
class Setting:
    """One way to make a ranking of rankings that are stored."""

    weights: tuple[float, ...] = ()
    """Of the systems in reciprocal rank fusion; empty if one system is not fused."""
    constant: int | None = None
    """Of reciprocal rank fusion; None if nothing is fused."""
    candidates: int | None = None
    """How many hits of each ranking are fused, or reranked; None for all."""
    cut_off: float | None = None
    """The lowest score of a hit that is kept; None for all."""
    k: int | None = None
    """How many hits are passed on; None for all."""

    def __str__(self) -> str:
        parts = [f"weights {' / '.join(f'{weight:g}' for weight in self.weights)}"] if self.weights else []
        parts += [] if self.constant is None else [f"constant {self.constant}"]
        parts += [] if self.candidates is None else [f"{self.candidates:,} candidates"]
        parts += [] if self.cut_off is None else [f"score from {self.cut_off:.4g}"]
        parts += [] if self.k is None else [f"{self.k:,} hits"]
        return ", ".join(parts) or "as it is"


@dataclass(frozen=True, eq=False)
class Tuning(Presentable):
    """Which setting is best, and what choosing it gains on queries that took no part in the choice."""

    systems: tuple[str, ...]
    """The systems whose rankings are used."""
    metric: Metric
    settings: tuple[Setting, ...]
    """What was tried; the first is what there is without tuning."""
    means: tuple[float, ...]
    """The mean of each over all queries: of the best it is optimistic."""
    best: int
    """Which has the highest mean over all queries: the one to use."""
    queries: int
    folds: int
    repeats: int
    tuned: float
    """The mean over all queries, each with the setting that was chosen on the other folds: not optimistic."""
    tuned_interval: Interval
    """Of that, at 95%."""
    difference: PairedDifference
    """That minus the first setting, query by query."""
    chosen: tuple[tuple[int, int], ...]
    """How often each setting was chosen, of all folds of all repeats; the most frequent first."""

    @property
    def optimism(self) -> float:
        """How much the best setting's mean promises too much: it minus `tuned`."""
        return self.means[self.best] - self.tuned

    def to_frame(self) -> pd.DataFrame:
        """Return one row per setting: its parts, `mean`, and how often it was `chosen`."""
        import pandas as pd

        chosen = dict(self.chosen)
        return pd.DataFrame(
            [
                {**vars(setting), "mean": mean, "chosen": chosen.get(number, 0)}
                for number, (setting, mean) in enumerate(zip(self.settings, self.means, strict=True))
            ]
        )


def tuned(
    values: Numbers,
    settings: Sequence[Setting],
    metric: Metric,
    systems: Sequence[str],
    *,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    seed: int = 0,
    bound: float | None = None,
) -> Tuning:
    """Return the best of several settings, and by cross-validation what choosing it gains.

    The queries are split into folds at random; for each fold the setting with the highest mean over the other folds is
    chosen (of equal ones the first), and measured on the fold. So each query has a value by a choice in which it took
    no part; it is averaged over the repeats, each with other folds. This is the outer loop of nested cross-validation
    (Varma and Simon 2006; Cawley and Talbot 2010); the choice inside needs no loop of its own. The interval of the
    difference takes queries as independent, which they are but for sharing what the choice was made on.

    Args:
        values: settings × queries, more is better.
        settings: what they are of; the first is what the others are compared with.
        metric: what they are values of.
        systems: whose rankings are used.
        folds: into how many parts the queries are split.
        repeats: how often.
        seed: of the folds.
        bound: how large a difference can be; None if there is no bound.
    """
    checked_integer("seed", seed, least=0), checked_integer("repeats", repeats, least=1)
    checked_integer("folds", folds, least=2)
    if len(settings) < 2:
        raise ConfigurationError(f"tune: found {len(settings)} setting; expected two or more to choose from")
    queries = values.shape[1]
    if queries < folds * _FEWEST:
        raise ConfigurationError(
            f"tune: found {queries:,} labelled questions; expected at least {folds * _FEWEST:,}, two for each of "
            f"{folds} folds"
        )
    draw = np.random.default_rng(seed)
    held_out, counts = np.zeros(queries), np.zeros(len(settings), dtype=int)
    totals = values.sum(axis=1)
    for _ in range(repeats):
        fold_of = draw.permutation(np.arange(queries) % folds)
        for fold in range(folds):
            inside = fold_of == fold
            # The mean over the other folds; rounding must not decide between settings that are the same
            scores = np.round((totals - values[:, inside].sum(axis=1)) / np.count_nonzero(~inside), 12)
            choice = int(np.argmax(scores))
            counts[choice] += 1
            held_out[inside] += values[choice, inside]
    held_out /= repeats
    means = np.round(totals / queries, 12)
    return Tuning(
        tuple(systems),
        metric,
        tuple(settings),
        tuple((totals / queries).tolist()),
        int(np.argmax(means)),
        queries,
        folds,
        repeats,
        float(held_out.mean()),
        mean_interval(held_out),
        paired_difference(held_out - values[0], seed=seed, bound=bound),
        tuple((number, int(counts[number])) for number in np.argsort(-counts, kind="stable") if counts[number]),
    )
