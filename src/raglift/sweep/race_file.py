"""What a race has decided and found, on disk after each change: a race that is killed goes on to the same result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter

from raglift.errors import RunError
from raglift.storage.forms import Saved
from raglift.storage.layout import read_json
from raglift.sweep.folder import write_whole
from raglift.sweep.race import Rung, RungRecord
from raglift.utilities.limits import is_file
from raglift.utilities.validation import WrongKind, read_as

FILE = "race.json"
"""The file of a race, in the folder of its sweep."""
_RUNGS = "rungs"


@dataclass(frozen=True)
class Elimination:
    """A cell that a race eliminated, and how far it came."""

    is_dropped: bool
    """Whether it is significantly worse than another; else it was set aside so that the effort lasts, and may be the
    best."""
    asked: int
    """How many queries it was asked."""
    mean: float
    """Of the primary metric over these."""
    p: float
    """The p-value of its being among the best, valid whenever one looks."""

    @property
    def reason(self) -> str:
        """What became of it, in a few words."""
        return "eliminated: significantly worse" if self.is_dropped else "stopped early: looked worse, not excluded"


@dataclass(frozen=True)
class RaceRecord:
    """The race of a sweep with limited effort."""

    effort: str
    """As the sweep says, `40%` or `30 minutes`."""
    queries: int
    """How many queries took part; the others were held out."""
    questions: int
    """How many questions were asked: queries × cells."""
    full: int
    """How many a whole sweep over the same queries would ask."""
    rungs: tuple[RungRecord, ...]
    """What was done, in order."""


@dataclass(frozen=True)
class RaceState:
    """How far a race has come."""

    decisions: tuple[Rung, ...] = ()
    """What was decided for each rung after the first, in order."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long each rung took, by its name."""
    finished: tuple[str, ...] = ()
    """The names of the rungs that are done."""
    primary: str | None = None
    """The metric that decided; None before the first rung."""
    outcome: RaceRecord | None = None
    """None before the end."""
    eliminated: Mapping[str, Elimination] = field(default_factory=dict)
    """The cells that went no further, by their keys."""
    held_out: str | None = None
    """The name of the rung in which the choice is measured on queries that took no part."""


_STATE: TypeAdapter[RaceState] = TypeAdapter(Annotated[RaceState, Saved()])


@dataclass
class RaceFile:
    """The state of a race in the folder of its sweep."""

    folder: Path
    """Of the sweep."""
    state: RaceState = field(default_factory=RaceState)

    @classmethod
    def read(cls, folder: Path) -> RaceFile:
        """Return what is kept of a race; an empty one if there is none."""
        path = folder / FILE
        if not is_file(path):
            return cls(folder)
        try:
            return cls(folder, read_as(_STATE, read_json(path)))
        except WrongKind as error:
            raise RunError(f"{path}: damaged: {error}; sweep into another folder (--output)") from None

    def update(self, **changes: Any) -> None:
        """Change some fields of the state, and write all of it."""
        self.state = replace(self.state, **changes)
        write_whole(self.folder / FILE, asdict(self.state))

    def decided(self, number: int, decide: Callable[[], Rung | None]) -> Rung | None:
        """Return what is done in a rung: as before, or else what the function returns, written down."""
        if number < len(self.state.decisions):
            return self.state.decisions[number]
        rung = decide()
        if rung is not None:
            self.update(decisions=(*self.state.decisions, rung))
        return rung

    def rung(self, name: str) -> Path:
        """Return where the sweep of a rung is kept."""
        return self.folder / _RUNGS / name
