"""The journal of a sequential review: which pairs were drawn, in which order and with which probability."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from raglift.base.limits import is_file, user_path
from raglift.base.replacing import replacing_file
from raglift.base.strict_files import decode_lines, parse_object, read_bytes
from raglift.base.validation import Location, faults_of
from raglift.errors import ConfigurationError, DatasetError

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from raglift.errors import Fault


_FORMAT = 1
_Text = Annotated[str, Field(min_length=1, max_length=10_000)]
_Count = Annotated[int, Field(ge=0, le=10**9)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Question(_Strict):
    """What is to be found out, and from which pairs: the first line of a journal."""

    format: Annotated[int, Field(ge=1, le=_FORMAT)] = _FORMAT
    metric: _Text
    """The metric."""
    system: _Text
    """The system whose mean it is, as the pool names it …"""
    versus: _Text | None = None
    """… minus that of this one; None for the mean alone."""
    frame: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """A hash of the ids of the pairs that the systems have among their first hits."""
    relevant_from: Annotated[int, Field(ge=1, le=1000)] = 1
    """The lowest grade that is relevant."""
    highest: Annotated[int, Field(ge=1, le=1000)] = 3
    """The highest grade."""
    seed: _Count = 0
    """Of the draws."""
    judged: tuple[tuple[_Text, _Text], ...] = ()
    """The pairs that were judged before the first draw, by the ids of query and chunk."""


class Drawn(_Strict):
    """A pair that was drawn."""

    query: _Text
    """The query's id."""
    chunk: _Text
    """The chunk's id."""
    probability: Annotated[float, Field(gt=0, le=1)]
    """With which it was drawn, of those that were left then."""
    reach: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """The largest ratio of weight and probability of all that were left then."""


@dataclass(frozen=True)
class Journal:
    """A question and the draws so far."""

    question: Question
    draws: tuple[Drawn, ...] = ()
    """In order."""

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write it as JSON Lines in place of what is there, and return the path.

        Raises:
            DatasetError: it cannot be written.
        """
        place = user_path(path)
        with replacing_file(place) as file:
            for line in (self.question, *self.draws):
                file.write(json.dumps(line.model_dump()) + "\n")
        return place


def read_journal(path: str | os.PathLike[str]) -> Journal | None:
    """Return a journal; None where there is no file.

    Raises:
        DatasetError: it is malformed; every fault is listed.
    """
    place = user_path(path)
    if not is_file(place):
        return None
    faults: list[Fault] = []
    location = Location(place.name, faults)
    question: Question | None = None
    draws: list[Drawn] = []
    seen: set[tuple[str, str]] = set()
    for here, line in decode_lines(read_bytes(place, location) or b"", location):
        entry = parse_object(line, here)
        if entry is None:
            continue
        if question is None and not draws:
            question = _read(Question, entry, here)
            if question is None:
                break
            seen = set(question.judged)
            continue
        drawn = _read(Drawn, entry, here)
        if drawn is None:
            continue
        if (drawn.query, drawn.chunk) in seen:
            here.fault("a pair that was judged before, or drawn", "each pair once")
        seen.add((drawn.query, drawn.chunk))
        draws.append(drawn)
    if question is None and not faults:
        location.fault("nothing", "the question in the first line, as raglift labels review --next writes it")
    if faults or question is None:
        raise DatasetError(str(place), faults)
    return Journal(question, tuple(draws))


def _read(kind: type[Any], entry: dict[str, Any], here: Location) -> Any:
    try:
        return kind.model_validate_json(json.dumps(entry))
    except ValidationError as error:
        for finding in faults_of(error, TypeAdapter(kind)):
            place = here
            for key in finding.keys:
                place = place / key
            place.fault(finding.found, finding.expected)
        return None


def check_same_question(found: Question, asked: Question, path: str) -> None:
    """Raise a ConfigurationError where a journal is about something else than what is asked."""
    told = {
        "metric": "--metric",
        "system": "--system",
        "versus": "--versus",
        "relevant_from": "the lowest relevant grade",
        "highest": "--scale",
    }
    for name, words in told.items():
        if getattr(found, name) != getattr(asked, name):
            raise ConfigurationError(
                f"{path}: found a review of {words} {getattr(found, name)}; expected {getattr(asked, name)}: draws are "
                "made for one question; name another journal for another"
            )
    if found.frame != asked.frame:
        raise ConfigurationError(
            f"{path}: found a review of other pairs than these runs have among their first hits; expected the same "
            "runs and depth; name another journal for others"
        )
