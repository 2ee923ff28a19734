"""Where a quote stands in a text that spells it in another way: by its letters alone.

Editions of a text differ in accents, hyphens, quotation marks and line breaks. So quote and text are reduced to their
letters and digits, without accents, and the letters are searched.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Accents of Latin, Greek and Cyrillic letters. The marks of other scripts are vowels, or make another letter.
_ACCENTS = range(0x0300, 0x0370)
_LIGATURES = {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}


@cache
def _letters_of(character: str) -> str:
    """Return the letters and digits that a normalized character counts as; none for punctuation and white space."""
    folded = unicodedata.normalize("NFKD", character).casefold()
    return "".join(
        _LIGATURES.get(part, part)
        for part in folded
        if ord(part) not in _ACCENTS and (part.isalnum() or unicodedata.category(part).startswith("M"))
    )


def letters_in(text: str) -> str:
    """Return the letters and digits of a normalized text, without accents."""
    return "".join(map(_letters_of, text))


class Near(NamedTuple):
    """A place that has the letters of a quote."""

    start: int
    """Its first character in the normalized text."""
    end: int
    """One past its last."""


@dataclass(frozen=True, eq=False)
class Letters:
    """The letters of a normalized text, and where they are in it."""

    source: str
    """The normalized text."""
    text: str
    """Its letters and digits, without accents."""
    places: NDArray[np.int64]
    """For each letter, its character in the normalized text."""

    @classmethod
    def of(cls, normalized: str) -> Letters:
        """Return the letters of a normalized text, in time linear in it."""
        codes = np.frombuffer(normalized.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        known = np.flatnonzero(np.bincount(codes)) if len(codes) else np.zeros(0, dtype=np.int64)
        folded = [_letters_of(chr(code)) for code in known.tolist()]
        row = np.zeros(int(known[-1]) + 1 if len(known) else 1, dtype=np.int64)
        row[known] = np.arange(len(known))
        length = np.array([len(each) for each in folded], dtype=np.int64)
        first = np.cumsum(length) - length
        rows = row[codes]
        places = np.repeat(np.arange(len(codes), dtype=np.int64), length[rows])
        # The letters of a character follow each other in the table of all
        within = np.arange(len(places)) - np.repeat(np.cumsum(length[rows]) - length[rows], length[rows])
        table = np.array([ord(letter) for letter in "".join(folded)], dtype=np.uint32)
        text = table[first[rows[places]] + within] if len(places) else np.zeros(0, dtype=np.uint32)
        return cls(normalized, text.tobytes().decode("utf-32-le", "surrogatepass"), places)

    def find(self, quote: str, start: int = 0, end: int | None = None) -> list[Near]:
        """Return where a normalized quote stands, as whole words.

        Args:
            quote: the quote, normalized.
            start: the first character of the normalized text at which it may begin.
            end: one past the last at which it may end.
        """
        letters = letters_in(quote)
        first, last = np.searchsorted(self.places, (start, len(self.source) if end is None else end)).tolist()
        found: list[Near] = []
        at = self.text.find(letters, first, last) if letters else -1
        while at >= 0:
            if self._begins(at) and self._ends(at + len(letters)):
                found.append(self._near(quote, at, at + len(letters)))
            at = self.text.find(letters, at + 1, last)
        return found

    def _begins(self, at: int) -> bool:
        """Whether a letter begins a word; in scripts without letter case, which may write no spaces, any does."""
        place = int(self.places[at])
        if at and self.places[at - 1] == place:
            return False
        return place == 0 or not (_is_of_word(self.source[place - 1]) and _is_of_word(self.source[place]))

    def _ends(self, at: int) -> bool:
        """Whether a word ends before a letter."""
        place = int(self.places[at - 1])
        if at < len(self.places) and self.places[at] == place:
            return False
        after = place + 1
        return after == len(self.source) or not (_is_of_word(self.source[place]) and _is_of_word(self.source[after]))

    def _near(self, quote: str, first: int, last: int) -> Near:
        """Return a place in the normalized text, with the punctuation that the quote has at its ends too."""
        start, end = int(self.places[first]), int(self.places[last - 1]) + 1
        for _ in range(_punctuation(quote)):
            start -= start > 0 and self._is_punctuation(start - 1)
        for _ in range(_punctuation(quote[::-1])):
            end += end < len(self.source) and self._is_punctuation(end)
        return Near(start, end)

    def _is_punctuation(self, place: int) -> bool:
        return not self.source[place].isspace() and not _letters_of(self.source[place])


@cache
def _is_of_word(character: str) -> bool:
    return character.isdigit() or character.upper() != character.lower()


def _punctuation(quote: str) -> int:
    """Return how many characters of punctuation a quote begins with."""
    before = next((place for place, character in enumerate(quote) if _letters_of(character)), 0)
    return sum(not character.isspace() for character in quote[:before])
