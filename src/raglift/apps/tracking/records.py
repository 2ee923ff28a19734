"""What is sent to a tracker, and texts without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from raglift.utilities.display import shorten
from raglift.utilities.secrets import known_secrets, secrets_of_environment

_USER = re.compile(r"(?<=//)[^/\s]*@")  # to the last @: a password may have one too


@dataclass(frozen=True)
class Record:
    """One result as a run for trackers."""

    kind: str
    """`evaluation`, `sweep` or `cell`."""
    name: str
    """What the run is called."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What was asked and of what: texts, numbers, and mappings of them."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What was measured, under names of letters, digits, `_` and `/`; finite numbers."""
    summary: str = ""
    """The result in short, as Markdown."""
    error: str | None = None
    """Why it failed; None if it did not."""


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
    """The page to look at, else the store or folder, without what may be secret in an address."""
    notes: tuple[str, ...] = ()
    """What was left out and why, and how to upload a run that was kept offline."""
    children: tuple[TrackedRun, ...] = ()
    """The runs under it: the cells of a sweep."""

    def __str__(self) -> str:
        under = f", with {len(self.children):,} run{'s' * (len(self.children) != 1)} under it" if self.children else ""
        return f"{self.tracker}: {self.project}, {self.name} ({self.id}){under}: {self.where}"


class Tracker(Protocol):
    """What keeps records."""

    def keep(
        self, record: Record, files: Path | None, tags: Mapping[str, str], parent: TrackedRun | None
    ) -> TrackedRun:
        """Keep one record.

        Raises:
            TrackingFailed: the tracker cannot be reached, or refused something.
        """


def tracker_name(text: str) -> str:
    """Return a name that every tracker takes: `ndcg@10` is `ndcg_at_10`, since MLflow refuses `@` and parentheses."""
    return re.sub(r"\W+", "_", text.replace("@", "_at_")).strip("_") or "unnamed"


def without_secrets(text: str) -> str:
    """Return a text without users and passwords in addresses, and without the values of secret variables."""
    return _USER.sub("", known_secrets(frozenset(secrets_of_environment())).cleared(text))


def place_of(address: str) -> str:
    """Return an address without user, password, query and fragment, any of which may hold a secret."""
    return without_secrets(address.partition("?")[0].partition("#")[0])


def reason_of(error: BaseException) -> str:
    """Return what went wrong in one line, without what may be secret."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return shorten(without_secrets(lines[0] if lines else type(error).__name__).rstrip(".:"), 500)
