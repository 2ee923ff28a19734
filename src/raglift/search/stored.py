"""A race over scores that are there already: which system a search would have found, and with how many questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.display import counted
from raglift.base.validation import quoted
from raglift.errors import ConfigurationError
from raglift.search.course import BATCH, FIRST, Course
from raglift.search.schedule import first_rung, least_batches
from raglift.stats.intervals import checked_integer, numbers
from raglift.stats.racing import Race, stratified_batches

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from raglift.search.records import RungRecord


@dataclass(frozen=True, eq=False)
class StoredRace:
    """What a race over stored scores came to."""

    winner: str
    """Of the systems left the one with the highest mean over the queries asked."""
    left: tuple[str, ...]
    """The systems that were running at the end."""
    dropped: tuple[str, ...]
    """Those that are significantly worse than another."""
    set_aside: tuple[str, ...]
    """Those that went no further so that the budget would last; any may be the best."""
    rungs: tuple[RungRecord, ...]
    """What was done, in order."""
    questions: int
    """How many values were looked at: queries × systems."""
    share: float
    """Of all values."""
    regret: float
    """The highest mean over all queries minus that of the winner; what a real search cannot know."""


def race_stored(
    scores: Mapping[str, ArrayLike] | pd.DataFrame,
    *,
    share: float = 0.25,
    alpha: float = 0.05,
    first_queries: int = 12,
    strata: Sequence[Hashable] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    seed: int = 0,
) -> StoredRace:
    """Race systems over their scores query by query, as `raglift search` does, and look at a share of them only.

    To see on old runs how a search would have done, or to choose its settings. Each value that is looked at stands for
    a question asked of a system.

    Args:
        scores: for each system, by name, its value at each query, in one order; more is better. A data frame has a
            column a system.
        share: of the values that may be looked at; above 0, at most 1.
        alpha: how often any of the best may be dropped, at most.
        first_queries: about how many queries every system is asked at first.
        strata: the stratum of each query, as its tag; None for none. They must not follow from the scores.
        low: the least value that a system can have at a query.
        high: the greatest.
        seed: of the order of the queries.

    Raises:
        ConfigurationError: fewer than two systems, values that are missing, outside their range or of other queries, a
            share outside its range, or one that does not last for the first queries.
    """
    is_number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
    if not is_number or not 0.0 < share <= 1.0:
        raise ConfigurationError(f"share: found {share!r}; expected a number above 0, at most 1")
    names, values = _table(scores)
    queries, systems = values.shape
    start = Race.of(systems, queries, alpha=alpha, low=low, high=high)
    _check_range(names, values, start)
    batches = stratified_batches(queries, BATCH, strata=strata, seed=seed)
    work, sizes = share * values.size, [len(batch) for batch in batches]
    first = first_rung(systems, checked_integer("first_queries", first_queries, least=1), sizes, work)
    if first is None:
        raise ConfigurationError(
            f"share: found {share:g}, which is {counted(int(work), 'value')}; expected at least "
            f"{systems * sum(sizes[: least_batches(sizes)]):,}, for the first queries of {systems:,} systems"
        )

    def ask(_: str, some: Sequence[int], rung: range) -> NDArray[np.float64]:
        places = np.concatenate([batches[batch] for batch in rung])
        return np.asarray(values[np.ix_(places, np.asarray(some, dtype=np.intp))])

    course = Course(start, batches, ask, lambda questions: work - questions)
    course.begin(range(systems), ask(FIRST, range(systems), range(first)), first, explore=False)
    race = course.finish()
    means, running = values.mean(axis=0), set(race.running.tolist())
    return StoredRace(
        winner=names[race.leader],
        left=tuple(names[place] for place in race.running.tolist()),
        dropped=tuple(names[place] for place in np.flatnonzero(race.dropped).tolist()),
        set_aside=tuple(names[place] for place in race.survivors.tolist() if place not in running),
        rungs=tuple(course.rungs),
        questions=course.questions,
        share=course.questions / values.size,
        regret=float(means.max() - means[race.leader]),
    )


def _table(scores: Any) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names of the systems, and their values: queries × systems."""
    if not (isinstance(scores, Mapping) or hasattr(scores, "items")):
        raise ConfigurationError(
            f"scores: found a {type(scores).__name__}; expected the values of each system by its name, or a data frame "
            "with a column a system"
        )
    given = [(str(name), values) for name, values in scores.items()]
    twice = [name for name, many in Counter(name for name, _ in given).items() if many > 1]
    if twice:
        raise ConfigurationError(f"scores: found {quoted(twice[0])} twice; expected a name of its own for each system")
    columns = {name: numbers(f"scores of {quoted(name)}", values, dimensions=1) for name, values in given}
    lengths = {len(values) for values in columns.values()}
    said = " and ".join(f"{each:,}" for each in sorted(lengths)) or "no"
    if len(columns) < 2 or len(lengths) != 1 or not min(lengths):
        raise ConfigurationError(
            f"scores: found {counted(len(columns), 'system')} with "
            f"{said} queries; expected two systems or more, with a value of each query"
        )
    return list(columns), np.column_stack(list(columns.values()))


def _check_range(names: Sequence[str], values: NDArray[np.float64], race: Race) -> None:
    """Raise where a value is missing, or outside the range of the race."""
    wrong = np.argwhere(~((values >= race.low) & (values <= race.high)))
    if len(wrong):
        query, system = wrong[0]
        raise ConfigurationError(
            f"scores of {quoted(names[system])}: found {values[query, system]:g} at query {query:,}; expected a number "
            f"from {race.low:g} to {race.high:g} for every query: of a metric with another range give `low` and `high`"
        )
