"""The course of a race: rung by rung it is decided who is asked what, whoever it is that answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raglift.search.records import RungRecord
from raglift.search.schedule import Rung, next_rung

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raglift.stats.racing import Race

BATCH = 6
"""Each batch has one query of so many windows; a rung is several batches."""
FIRST = "0"
"""The name of the first rung, where all systems that begin are asked the same queries."""
JOINING = "joining"
"""In the name of a rung: systems that join are asked the queries so far."""

Ask = Callable[[str, Sequence[int], range], "NDArray[np.float64]"]
"""Returns the values of some systems on some batches, queries × systems: a column of NaN for one that failed. The first
argument names the rung."""


def decide(_: int, otherwise: Callable[[], Rung | None]) -> Rung | None:
    """Return what is decided for a rung where nothing was decided before."""
    return otherwise()


@dataclass
class Course:
    """A race on its way: `begin` it with what the first systems answered, and then `finish` it.

    Systems are numbers, and who answers is a function, so that a search and a simulation from stored scores take the
    same decisions.
    """

    race: Race
    batches: Sequence[NDArray[np.intp]]
    """Positions of queries, as of `stratified_batches` of the size `BATCH`."""
    ask: Ask
    work: Callable[[int], float]
    """Returns what may still be spent once so many questions were asked: as many more questions, or as `price` is."""
    price: Callable[[bool], float] | None = None
    """Returns what a question costs of a system that began (False), or joined (True), as far as was measured. None
    where every question counts one."""
    joining: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """For some systems others that join after the first rung if these go on."""
    decided: Callable[[int, Callable[[], Rung | None]], Rung | None] = decide
    """Returns what is decided for a rung: as before, or what the function returns."""
    affordable: Callable[[str, int, int], int] | None = None
    """Where systems that join may cost more than the others: returns for how many further ones the budget lasts, at the
    price of a group that joined. Arguments: the name of the group, how many are left, how many questions each is to be
    asked. None where every question costs the same."""
    seconds: Callable[[int], float] = lambda _: 0.0
    """Returns how long a rung took."""
    told: Callable[[Course], None] = lambda _: None
    """Is called after each rung."""
    rungs: list[RungRecord] = field(default_factory=list)
    """What was done, in order."""
    paths: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    """Of each system: after each rung how many queries it had been asked, and its mean."""
    questions: int = 0
    """How many were asked: queries × systems."""

    asked: int = 0
    """How many batches have been asked."""
    _joined: set[int] = field(default_factory=set)
    """The systems that joined."""

    def begin(self, systems: Sequence[int], values: NDArray[np.float64], batches: int, *, explore: bool) -> None:
        """Begin with the first batches.

        Args:
            systems: that were asked, ascending.
            values: queries × systems, in the order of the batches; a column of NaN for one that failed.
            batches: how many.
            explore: whether systems were chosen by these values: then nothing is bet on them.
        """
        self._bet(systems, values, batches, explore=explore)
        self._note(systems, joined=0, set_aside=0)

    def finish(self) -> Race:
        """Race on until one system is left, the budget is spent or all queries were asked."""
        joining = dict(self.joining)
        while self.asked < len(self.batches) and len(self.race.running) > (0 if joining else 1):
            rung = self.decided(len(self.rungs) - 1, partial(self._next, joining))
            if rung is None or not self._go_on(rung, joining if rung.joins else {}):
                break
            joining = {}
        return self.race

    def _next(self, joining: Mapping[int, Sequence[int]]) -> Rung | None:
        """Return what is done next within the budget; nothing joins where that is more than is left."""
        running, left = self.race.running, self.work(self.questions) / BATCH
        best_first = running[np.argsort(-self.race.totals[running], kind="stable")].tolist()
        many = max((len(joining.get(number, ())) for number in best_first), default=0)
        if self.price is None:
            prices = [1.0] * len(best_first)
        else:
            prices = [self.price(number in self._joined) for number in best_first]
        plan = partial(next_rung, prices, self.asked, len(self.batches), left, is_measured=self.price is not None)
        rung = plan(joining=many) if many else None
        return plan() if rung is None and len(best_first) > 1 else rung

    def _go_on(self, rung: Rung, joining: Mapping[int, Sequence[int]]) -> bool:
        """Ask the systems of one rung; return whether any answered."""
        name, running = str(len(self.rungs)), self.race.running
        until = min(max(rung.queries, self.asked + 1), len(self.batches))
        kept = running[np.argsort(-self.race.totals[running], kind="stable")][: rung.keep].tolist()
        entrants = self._join(f"{name}-{JOINING}", [other for number in kept for other in joining.get(number, ())])
        if entrants and self.affordable is not None:  # what further questions cost is known only now
            self._note(entrants, joined=len(entrants), set_aside=0)
            return True
        systems = sorted([*kept, *entrants])
        values = self.ask(name, systems, range(self.asked, until))
        if not _answered(values).any():
            self.questions += values.size
            return False
        self._bet(systems, values, until, explore=False)
        self._note(systems, joined=len(entrants), set_aside=len(running) - len(kept))
        return True

    def _join(self, name: str, entrants: Sequence[int]) -> list[int]:
        """Ask systems that join what the others were asked, and return those that answered.

        Where they may cost more, they join in groups that grow twofold, as long as the budget lasts at the price of the
        group before.

        Args:
            name: of the rung.
            entrants: which, those of the best systems first.
        """
        totals: dict[int, float] = {}
        queries = sum(len(batch) for batch in self.batches[: self.asked])
        size, begin, number = len(entrants) if self.affordable is None else 1, 0, 0
        while size > 0 and begin < len(entrants):
            group = f"{name}-{number}"
            totals |= self._totals(group, entrants[begin : begin + size], range(self.asked))
            begin, number = begin + size, number + 1
            if self.affordable is not None:
                size = min(2 * size, self.affordable(group, len(entrants) - begin, queries))
        found = sorted(totals)
        self._joined.update(found)
        if found:
            self.race = self.race.joined(found, [totals[each] for each in found])
        return found

    def _totals(self, name: str, systems: Sequence[int], batches: range) -> dict[int, float]:
        """Ask some systems some batches, and return the sum of the values of each that answered."""
        if not systems:
            return {}
        asked = sorted(systems)
        values = self.ask(name, asked, batches)
        self.questions += values.size
        sums, answered = values.sum(axis=0).tolist(), _answered(values).tolist()
        return {each: total for each, total, is_there in zip(asked, sums, answered, strict=True) if is_there}

    def _bet(self, systems: Sequence[int], values: NDArray[np.float64], until: int, *, explore: bool) -> None:
        """Bet on the batches until one, one after the other; a system that failed is asked no more."""
        self.questions += values.size
        answered = _answered(values)
        left, row = np.asarray(systems, dtype=np.intp)[answered], 0
        values = values[:, answered]
        for batch in self.batches[self.asked : until]:
            rows = values[row : row + len(batch)]
            self.race = self.race.after(rows, systems=left, explore=explore)
            still = np.isin(left, self.race.survivors)
            left, values, row = left[still], values[:, still], row + len(batch)
        self.asked = until

    def _note(self, systems: Sequence[int], *, joined: int, set_aside: int) -> None:
        dropped = int(self.race.dropped.sum()) - sum(rung.dropped for rung in self.rungs)
        seconds = self.seconds(len(self.rungs))
        running = self.race.running
        record = RungRecord(len(systems), self.race.asked, dropped, set_aside, joined, len(running), seconds)
        self.rungs.append(record)
        for number in np.flatnonzero(self.race.asked_of == self.race.asked).tolist():
            self.paths.setdefault(number, []).append((self.race.asked, float(self.race.means[number])))
        self.told(self)


def _answered(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which systems did not fail."""
    return np.asarray(~np.isnan(values).any(axis=0))
