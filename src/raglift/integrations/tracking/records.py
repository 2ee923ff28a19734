"""What a tracker is told of a result, in no tracker's terms, and where it can be found afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["Curve", "Record", "Trackable", "TrackedRun"]


@dataclass(frozen=True)
class Curve:
    """A measure over its depths."""

    name: str
    """The stage and the measure, as `rerank_over_k/recall`."""
    values: tuple[tuple[int, float], ...]
    """Depths, in hits, with the mean at each; ascending."""


@dataclass(frozen=True)
class Record:
    """One result as trackers are told of it: a run of its own, perhaps with runs under it."""

    kind: str
    """`evaluation`, `comparison`, `sweep` or `cell`."""
    name: str
    """What the run is called, unless its user calls it otherwise."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What was asked and of what: texts, numbers, and mappings of them. Never what could be secret."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What was measured, under names of letters, digits, `_` and `/`, which every tracker takes; finite numbers."""
    curves: tuple[Curve, ...] = ()
    """The measures that were taken at more than one depth."""
    summary: str = ""
    """The result in short, as Markdown."""
    write_files: Callable[[Path], tuple[str, ...]] | None = None
    """Writes its files into a folder, and returns what was left out and why; None where there are none."""
    error: str | None = None
    """Why it failed; None where it did not."""
    children: tuple[Record, ...] = ()
    """The results that it consists of, each a run of its own under it."""


class Trackable(Protocol):
    """A result that knows how to tell trackers of itself: `Evaluation` and `Comparison` are told of from outside."""

    def tracking_record(self) -> Record:
        """Return what trackers are told."""
        ...


@dataclass(frozen=True)
class TrackedRun:
    """Where a tracker keeps a result."""

    tracker: str
    """`mlflow` or `wandb`."""
    id: str
    """The tracker's id of the run."""
    name: str
    """What the run is called."""
    project: str
    """MLflow's experiment, or the project at Weights & Biases."""
    where: str
    """The store, server or folder that holds it, without what may be secret in an address."""
    url: str | None = None
    """The page to look at; None where nobody serves one, as of a local store."""
    notes: tuple[str, ...] = ()
    """What was left out and why, and what is still to be done, as to upload a run that was kept offline."""
    children: tuple[TrackedRun, ...] = ()
    """The runs under it: the cells of a sweep."""

    def __str__(self) -> str:
        under = f", with {len(self.children):,} run{'s' * (len(self.children) != 1)} under it" if self.children else ""
        place = self.where if self.url is None else self.url
        return f"{self.tracker}: {self.project}, {self.name} ({self.id}){under}: {place}"
