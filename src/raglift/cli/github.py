"""GitHub's workflow commands: nothing that a command prints of others' texts is read as one."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

_BREAK = "�"
"""What stands before the marks of a command, so that they begin none."""


def is_github() -> bool:
    """Whether this runs as a step of GitHub Actions, which reads commands in what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def without_commands_of_others() -> Iterator[None]:
    """On GitHub, let no line of standard output or standard error begin a workflow command, while the block lasts.

    After an error that nobody expects it lasts on, for Python then prints what it says.
    """
    if not is_github():
        yield
        return
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and _Filtered(stream) for stream in before)  # None: a closed one, as after `>&-`
    try:
        yield
    except SystemExit:
        sys.stdout, sys.stderr = before
        raise
    sys.stdout, sys.stderr = before


def own_commands(stream: TextIO) -> TextIO:
    """Return where raglift's own workflow commands are printed."""
    return getattr(stream, "unfiltered", stream)


class _Filtered:
    """A stream of text in which no line begins with `::`, and nothing holds `##[`; else as the stream itself."""

    def __init__(self, stream: TextIO) -> None:
        self.unfiltered = stream
        self._at_start = True
        self._end = ""

    def write(self, text: str) -> int:
        self.unfiltered.write("".join(map(self._safe, text.splitlines(keepends=True))))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def _safe(self, piece: str) -> str:
        """Return a line, or a part of one, with which no command begins."""
        found = piece
        if self._at_start and found.lstrip().startswith(":"):
            blank = len(found) - len(found.lstrip())
            found = f"{found[:blank]}{_BREAK}{found[blank:]}"
        if self._end + found[:1] == "##[" or self._end[-1:] + found[:2] == "##[":  # written in two pieces
            found = _BREAK + found
        found = found.replace("##[", f"##{_BREAK}[")
        ends = piece.endswith(("\n", "\r"))
        self._at_start = ends or (self._at_start and not piece.strip())
        self._end = "" if ends else (self._end + piece)[-2:]
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)
