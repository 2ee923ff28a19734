"""Lines of whole words from a text that comes in pieces."""

from __future__ import annotations

import re

from rich.cells import cell_len

__all__ = ["Wrapping"]

_AFTER_SPACE = re.compile(r"(?<=\s)")
_LONGEST_HELD = 20  # in a script without spaces, pieces must not wait for one


class Wrapping:
    """Breaks a text before the words that a line has no room for, as far as it is known where they end.

    Args:
        width: of a line, in columns, of which a Chinese character takes two.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._held = ""

    def add(self, piece: str) -> str:
        """Return what can be shown now: all but the beginning of a word that may go on."""
        *words, self._held = _AFTER_SPACE.split(self._held + piece)
        shown = "".join(map(self._placed, words))
        return shown + self.rest() if len(self._held) > _LONGEST_HELD else shown

    def rest(self) -> str:
        """Return what was held back."""
        held, self._held = self._held, ""
        return self._placed(held)

    def _placed(self, word: str) -> str:
        breaks = self._column > 0 and self._column + cell_len(word.rstrip()) > self._width
        self._column = 0 if word.endswith("\n") else cell_len(word) + (0 if breaks else self._column)
        return f"\n{word}" if breaks else word
