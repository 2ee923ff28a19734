"""The positions of consecutive chunks in a text, from only the chunks in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.retrieval.chunkers import Span


_MOST_PLACES = 64
"""How many locations of one piece are followed where a text repeats itself."""


def locate_pieces(text: str, pieces: Sequence[str]) -> list[Span | None]:
    """Return the position of each piece in the text; None for a piece that does not occur there.

    Splitters strip or rewrite white space, so pieces are put in their places by their other characters: in order of
    starts and of ends, each beginning in the one before or right after it. Where a text repeats
    itself there are several such locations; those are taken with which the pieces cover the text without a gap, from
    its first character to its last. Only then is a piece compared with the text at its location, white space and all.

    Args:
        text: what was split.
        pieces: what it was split into, in order.
    """
    line = _Line.of(text)
    spans: list[Span | None] = [None] * len(pieces)
    for number, start in _Alignment(line).run(pieces):
        spans[number] = line.span_of(pieces[number], start)
    return spans


@dataclass(frozen=True)
class _Line:
    """A text without its white space, and where each character of that stands."""

    text: str
    line: str
    places: list[int]

    @classmethod
    def of(cls, text: str) -> _Line:
        return cls(text, _squeezed(text), [place for place, letter in enumerate(text) if not letter.isspace()])

    def span_of(self, piece: str, start: int) -> Span | None:
        """Return the span of a piece that begins at a character of the line, where the text has it word for word."""
        length = len(_squeezed(piece))
        first = self.places[start] - (len(piece) - len(piece.lstrip()))
        last = self.places[start + length - 1] + 1 + (len(piece) - len(piece.rstrip()))
        return (first, last) if first >= 0 and self.text[first:last] == piece else None


@dataclass
class _Step:
    """A piece in a run of pieces without gaps: where it may begin."""

    number: int
    length: int
    before: dict[int, int | None]
    """For each start, that of the piece before, at the largest overlap."""


@dataclass
class _Alignment:
    """Pieces being put in their places along a line; all locations are followed until the text decides."""

    line: _Line
    steps: list[_Step] = field(default_factory=list)
    start: int = 0
    """Of the last piece of the run before."""
    end: int = 0
    """Of the last piece of the run before."""

    def run(self, pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the number of each piece that is found, and where it begins in the line."""
        for number, piece in enumerate(pieces):
            letters = _squeezed(piece)
            if not letters:
                continue
            starts = self._next(letters)
            word_for_word = {start: before for start, before in starts.items() if self.line.span_of(piece, start)}
            starts = word_for_word or starts
            if not starts:
                yield from self._close()
                found = self._find_after(letters)
                starts = {} if found < 0 else {found: None}
            if starts:
                self.steps.append(_Step(number, len(letters), dict(sorted(starts.items())[:_MOST_PLACES])))
        yield from self._close(at_the_end=True)

    def _next(self, letters: str) -> dict[int, int | None]:
        """Return where a piece may begin that follows the last one without a gap, and the best start of that one."""
        if not self.steps:
            return {0: None} if self.end == 0 and self.line.line.startswith(letters) else {}
        last = self.steps[-1]
        low, high = min(last.before), max(last.before) + last.length
        starts: dict[int, int | None] = {}
        for place in _places(self.line.line, letters, low, high):
            fitting = [start for start in last.before if start <= place <= start + last.length <= place + len(letters)]
            if fitting:
                starts[place] = max(fitting)
        return starts

    def _find_after(self, letters: str) -> int:
        """Return the first position after the last run, or overlapping it, that extends beyond it; -1 if none."""
        place = self.line.line.find(letters, self.start)
        while 0 <= place < self.end - len(letters):
            place = self.line.line.find(letters, place + 1)
        return place

    def _close(self, *, at_the_end: bool = False) -> Iterator[tuple[int, int]]:
        """Yield the locations of a run of pieces, and begin a new one."""
        if not self.steps:
            return
        last = self.steps[-1]
        at: int | None = max(last.before) if at_the_end else min(last.before)
        self.start, self.end = at or 0, (at or 0) + last.length
        found = []
        for step in reversed(self.steps):
            if at is not None:
                found.append((step.number, at))
                at = step.before[at]
        self.steps = []
        yield from reversed(found)


def _places(line: str, letters: str, low: int, high: int) -> Iterator[int]:
    """Yield every position from `low` to `high` at which letters stand in a line."""
    place = line.find(letters, low, high + len(letters))
    while place >= 0:
        yield place
        place = line.find(letters, place + 1, high + len(letters))


def _squeezed(text: str) -> str:
    return "".join(text.split())
