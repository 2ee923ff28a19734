"""Where a fault is, and how to word it."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.errors import Fault
from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["Place", "check_fields", "nearest", "quoted", "shown"]

_SHOWN = 60


@dataclass(frozen=True)
class Place:
    """A file, line and field, and the list that faults found there go to."""

    file: str
    """The name of the file."""
    faults: list[Fault]
    """Where every fault of the file is noted, in file order."""
    line: int | None = None
    """Counted from 1; None for the file as a whole."""
    field: str = ""
    """The path of the field, as `relevant[0].grade`."""

    def __truediv__(self, key: str | int) -> Place:
        """Return the place of a field or list item inside this one."""
        if isinstance(key, int):
            return Place(self.file, self.faults, self.line, f"{self.field}[{key}]")
        return Place(self.file, self.faults, self.line, f"{self.field}.{key}" if self.field else key)

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.field}" if self.field else where

    def at_line(self, line: int) -> Place:
        """Return the place of a line of the file."""
        return Place(self.file, self.faults, line, self.field)

    def fault(self, found: str, expected: str) -> None:
        """Note that something else was found here than was expected.

        What stands in a file may stand in any of the three, also by way of another library's message.
        """
        self.faults.append(Fault(printable(str(self)), printable(found), printable(expected)))


def shown(value: Any) -> str:
    """Return how a value looks in a message: short, on one line, and printable everywhere."""
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object with " + (_listed(quoted(name) for name in value) or "no fields")
    if isinstance(value, str):
        return quoted(value)
    literal = json.dumps(value) if value is None or isinstance(value, (bool, float)) else repr(value)
    return literal if len(literal) <= _SHOWN else literal[:_SHOWN] + "…"


def quoted(text: object) -> str:
    """Return a text in quotation marks, shortened in the middle."""
    words = str(text)
    if len(words) > _SHOWN:
        words = words[: _SHOWN // 2] + "…" + words[-_SHOWN // 2 :]
    literal = json.dumps(words, ensure_ascii=False)
    # what a terminal would act on or cannot print is shown by its code
    return "".join(letter if printable(letter) == letter else f"\\u{ord(letter):04x}" for letter in literal)


def nearest(word: str, known: Collection[str]) -> str:
    """Return the known words, nearest first when there are some like it: `one of "a", "b"; nearest: "a"`."""
    if not known:
        return "nothing: there is none"
    close = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    listed = _listed(quoted(name) for name in sorted(known))
    return f"one of {listed}" + (f"; nearest: {_listed(quoted(name) for name in close)}" if close else "")


def check_fields(entry: Mapping[str, Any], known: Collection[str], place: Place) -> bool:
    """Return whether an object has no field but the known ones; note a fault for each other one."""
    unknown = [name for name in entry if name not in known]
    for name in unknown:
        (place / quoted(name)[1:-1]).fault(f"an unknown field {quoted(name)}", nearest(name, known))
    return not unknown


def _listed(names: Iterable[str], limit: int = 10) -> str:
    every = list(names)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more
