"""Where a fault is, and how to word it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.validation import fault, nearest, quoted, shown, unknown_field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from raglift.errors import Fault

__all__ = ["Place", "check_fields", "nearest", "quoted", "shown"]


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
        """Note that something else was found here than was expected."""
        self.faults.append(fault(str(self), found, expected))


def check_fields(entry: Mapping[str, Any], known: Collection[str], place: Place) -> bool:
    """Return whether an object has no field but the known ones; note a fault for each other one."""
    unknown = [name for name in entry if name not in known]
    for name in unknown:
        (place / quoted(name)[1:-1]).fault(*unknown_field(name, known))
    return not unknown
