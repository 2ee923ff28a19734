"""Where a quote stands in a text that spells it in another way: bounded differences, counted in letters.

Editions of a text differ in accents, hyphens, quotation marks and line breaks, and in a letter here and there. So quote
and text are reduced to their letters and digits, without accents, and compared by edit distance. A quote that may
differ in k letters is cut into k + 1 pieces, of which at least one must occur as it is: these occurrences are found by
plain search, and only the text around them is compared.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


_FEWEST_LETTERS = 20  # a shorter quote with another letter may be another phrase
_LETTERS_A_DIFFERENCE = 10
_MOST_DIFFERENCES = 12
_MOST_CANDIDATES = 20_000  # so many are only in a text that repeats itself without end
# Accents of Latin, Greek and Cyrillic letters. The marks of other scripts are vowels, or make another letter.
_ACCENTS = range(0x0300, 0x0370)
_LIGATURES = {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}


def most_differences(letters: int) -> int:
    """Return in how many letters a quote of so many may differ: a tenth, at most 12; none if it is short."""
    return 0 if letters < _FEWEST_LETTERS else min(letters // _LETTERS_A_DIFFERENCE, _MOST_DIFFERENCES)


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
    """A place that has the letters of a quote, but for some."""

    start: int
    """Its first character in the normalized text."""
    end: int
    """One past its last."""
    differences: int
    """Letters added, left out or replaced."""


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
        """Return where a normalized quote stands, within its bound of differences; overlapping places are one.

        Args:
            quote: the quote, normalized.
            start: the first character of the normalized text at which it may begin.
            end: one past the last at which it may end.
        """
        letters = letters_in(quote)
        first, last = np.searchsorted(self.places, (start, len(self.source) if end is None else end)).tolist()
        most = most_differences(len(letters))
        found: list[tuple[int, int, int]] = []
        for begin in self._candidates(letters, most, first, last) if letters else ():
            best = self._best_at(letters, begin, most, first, last)
            if best is not None:
                found.append(best)
        return [self._near(quote, best) for best in _apart(found)]

    def _candidates(self, letters: str, most: int, first: int, last: int) -> list[int]:
        """Return where a quote may begin: where one of its pieces is in place. None if there are too many."""
        bounds = [len(letters) * piece // (most + 1) for piece in range(most + 2)]
        begins: set[int] = set()
        for offset, stop in pairwise(bounds):
            at = self.text.find(letters[offset:stop], first, last)
            while at >= 0:
                begins.add(at - offset)
                if len(begins) > _MOST_CANDIDATES:
                    return []
                at = self.text.find(letters[offset:stop], at + 1, last)
        return sorted(begins)

    def _best_at(self, letters: str, begin: int, most: int, first: int, last: int) -> tuple[int, int, int] | None:
        """Return the whole words near an offset that are most like a quote: (differences, start, end)."""
        from rapidfuzz.distance import Levenshtein

        length = len(letters)
        here = self.text[max(begin, first) : min(begin + length, last)]
        # What begins and ends up to `most` letters elsewhere has at most twice the distance here
        if Levenshtein.distance(letters, here, score_cutoff=2 * most) > 2 * most:
            return None
        starts = [at for at in range(max(begin - most, first), min(begin + most, last - 1) + 1) if self._begins(at)]
        best: tuple[int, int, int, int] | None = None
        for start in starts:
            shortest, longest = max(start + length - most, start + 1), min(start + length + most, last)
            for end in filter(self._ends, range(shortest, longest + 1)):
                differences = Levenshtein.distance(letters, self.text[start:end], score_cutoff=most)
                rank = (differences, abs(end - start - length), start, end)
                if differences <= most and (best is None or rank < best):
                    best = rank
        return None if best is None else (best[0], best[2], best[3])

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

    def _near(self, quote: str, found: tuple[int, int, int]) -> Near:
        """Return a place in the normalized text, with the punctuation that the quote has at its ends too."""
        differences, first, last = found
        start, end = int(self.places[first]), int(self.places[last - 1]) + 1
        for _ in range(_punctuation(quote)):
            start -= start > 0 and self._is_punctuation(start - 1)
        for _ in range(_punctuation(quote[::-1])):
            end += end < len(self.source) and self._is_punctuation(end)
        return Near(start, end, differences)

    def _is_punctuation(self, place: int) -> bool:
        return not self.source[place].isspace() and not _letters_of(self.source[place])


@cache
def _is_of_word(character: str) -> bool:
    return character.isdigit() or character.upper() != character.lower()


def _punctuation(quote: str) -> int:
    """Return how many characters of punctuation a quote begins with."""
    before = next((place for place, character in enumerate(quote) if _letters_of(character)), 0)
    return sum(not character.isspace() for character in quote[:before])


def _apart(found: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield the best of each group of places that overlap."""
    group: tuple[int, int, int] | None = None
    reach = -1
    for each in sorted(set(found), key=lambda best: best[1:]):
        if group is not None and each[1] >= reach:
            yield group
            group = None
        group = each if group is None else min(group, each)
        reach = max(reach, each[2])
    if group is not None:
        yield group
