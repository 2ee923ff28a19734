"""What is sent to a tracker: records, names that trackers accept, texts without secrets; and how it is imported."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from raglift.errors import MissingDependency
from raglift.utilities.display import excerpt, printable, shorten
from raglift.utilities.secrets import known_secrets, secrets_of_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from raglift.types.metric import Metric


# A tracker-independent description of a result, and where the result was published.


@dataclass(frozen=True)
class Record:
    """One result as a run for trackers, optionally with child runs."""

    kind: str
    """`evaluation`, `comparison`, `sweep` or `cell`."""
    name: str
    """What the run is called, unless its user calls it otherwise."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What was asked and of what: texts, numbers, and mappings of them. Never what could be secret."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What was measured, under names of letters, digits, `_` and `/`, which every tracker takes; finite numbers."""
    summary: str = ""
    """The result in short, as Markdown."""
    write_files: Callable[[Path], tuple[str, ...]] | None = None
    """Writes its files into a folder, and returns what was left out and why; None if there are none."""
    error: str | None = None
    """Why it failed; None if it did not."""
    children: tuple[Record, ...] = ()
    """The results that it consists of, each a run of its own under it."""


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
    """The page to look at; None if nobody serves one, as of a local store."""
    notes: tuple[str, ...] = ()
    """What was left out and why, and what is still to be done, as to upload a run that was kept offline."""
    children: tuple[TrackedRun, ...] = ()
    """The runs under it: the cells of a sweep."""

    def __str__(self) -> str:
        under = f", with {len(self.children):,} run{'s' * (len(self.children) != 1)} under it" if self.children else ""
        place = self.where if self.url is None else self.url
        return f"{self.tracker}: {self.project}, {self.name} ({self.id}){under}: {place}"


# Names that every tracker accepts: MLflow refuses `@`, parentheses and `=`, and W&B's charts mishandle them.


_LONGEST = 100
_LONGEST_RUN_NAME = 120
_NO_WORD = re.compile(r"\W+")


def distinct(texts: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    """Return a name of letters, digits and `_` for each text, no two alike, in upper or lower case.

    A name is between two `/` of a path, and is never empty, `.` or `..`.

    Args:
        texts: what to name.
        reserved: names that stand for something else, in lower case.
    """
    names: dict[str, str] = {}
    taken = set(reserved)
    for text in texts:
        if text in names:
            continue
        plain = _plain(text)
        name, number = plain, 2
        while name.casefold() in taken:
            name, number = f"{plain}_{number}", number + 1
        taken.add(name.casefold())
        names[text] = name
    return names


def metric_name(metric: Metric) -> str:
    """Return a metric's text with words for its signs: `ndcg@10` is `ndcg_at_10`."""
    return _plain(str(metric))


def run_name(text: str) -> str:
    """Return a text as the name of a run, as shown in tables: one printable line of at most 120 characters."""
    return excerpt(printable(text), _LONGEST_RUN_NAME) or "raglift"


def _plain(text: str) -> str:
    name = _NO_WORD.sub("_", text.replace("@", "_at_")).strip("_") or "unnamed"
    encoded = name.encode()  # files are called by it, whose names are limited in bytes
    if len(encoded) <= _LONGEST:
        return name
    # Long names may differ only at their ends
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{encoded[: _LONGEST - 9].decode(errors='ignore')}_{digest}"


# Redaction of addresses and messages: passwords in addresses, and keys of the environment.


_USER = re.compile(r"(?<=//)[^/\s]*@")  # to the last @: a password may have one too


def without_secrets(text: str) -> str:
    """Return a message without users and passwords in addresses, and without the values of secret variables."""
    return _USER.sub("", known_secrets(frozenset(secrets_of_environment())).cleared(text))


def place_of(address: str) -> str:
    """Return an address without user, password, query and fragment, any of which may hold a secret."""
    try:
        parts = urlsplit(address)
    except ValueError:  # no address at all, as http://[
        return without_secrets(address.partition("?")[0])
    shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    # urlunsplit writes sqlite:////data/x.db with two of its slashes only
    return without_secrets(address.partition("?")[0] if not parts.netloc else shown)


def reason_of(error: BaseException) -> str:
    """Return what went wrong in one line, without what may be secret."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):  # its first line counts only, and what was found may be a key
        details = error.errors(include_url=False, include_context=False, include_input=False)
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in details)
        return shorten(without_secrets(faults), 500)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return shorten(without_secrets(lines[0] if lines else type(error).__name__).rstrip(".:"), 500)


# The packages of trackers.


def imported(package: str, environment: Mapping[str, str]) -> Any:
    """Return the package of a tracker, imported with variables that are set unless the user has set them.

    Raises:
        MissingDependency: it is not installed.
    """
    for name, value in environment.items():
        os.environ.setdefault(name, value)
    try:
        with quiet():
            return import_module(package)
    except ImportError:
        raise MissingDependency(package, "track", f"tracking with {package}") from None


@contextmanager
def quiet(*loggers: str) -> Iterator[None]:
    """Suppress warnings, and what loggers of these names write below an error."""
    before = {name: logging.getLogger(name).level for name in loggers}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in loggers:
                logging.getLogger(name).setLevel(logging.ERROR)
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
