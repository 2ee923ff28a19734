"""Normalized text, and the way back from it to the source.

Labels and chunks are compared after normalization, so that line wraps, letter case and the two ways of writing “é” make
no difference. Where a location in the source is wanted, `NormalizedText` maps every normalized character back to the
source character it came from.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Literal

import numpy as np
import regex
from numpy.typing import NDArray

# U+3000 is the last code point that is white space.
_FIRST_NEVER_SPACE = 0x3001
# Quotes and dashes, for unicode folding only: to most readers they are the same text. Japanese has two wave dashes.
_PUNCTUATION = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "〜": "~",
}
_BY_PUNCTUATION = str.maketrans(_PUNCTUATION)
# Marks that most texts leave out: Arabic vowels, Koranic signs and the tatweel, Hebrew points and accents, the nukta
_LEFT_OUT = regex.compile(
    r"[\u0610-\u061A\u0640\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED"
    r"\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u093C]"
)
# Letters of one shape or spelling that are encoded in several ways, as Lucene's Arabic, Persian and Hindi normalizers
_LETTERS = {
    **dict.fromkeys("\u0622\u0623\u0625\u0671", "\u0627"),  # alef with madda, hamza, wasla: alef
    **dict.fromkeys("\u0649\u06cc\u06d2", "\u064a"),  # alef maksura, Farsi yeh, yeh barree: yeh
    **dict.fromkeys("\u0629\u06c0\u06c1\u06d5", "\u0647"),  # teh marbuta, Persian and Urdu forms of heh: heh
    "\u06a9": "\u0643",  # keheh: kaf
    "\u0929": "\u0928",  # Devanagari nnna, rra and llla: the letters without their nukta
    "\u0931": "\u0930",
    "\u0934": "\u0933",
    "\u0901": "\u0902",  # candrabindu: anusvara
}
_BY_LETTERS = str.maketrans(_LETTERS)
# Not seen: soft hyphens, zero-width spaces and joiners, marks of direction, byte order marks, variation selectors
_INVISIBLE = regex.compile(r"(?V1)[\p{Default_Ignorable_Code_Point}--[\u115F\u1160\u3164\uFFA0]]")
_OTHER_DIGITS = regex.compile(r"(?V1)[\p{Nd}--[0-9]]")
# “--” and “---” stand for a dash in plain text
_HYPHENS = re.compile("-{2,}")
_MOST_MARKS = 30
# A character is at most two marks more when it is decomposed, and its base three: fewer are never more than 30
_ROW_OF_MARKS = r"[\p{M}\uFF9E\uFF9F]{14,}"
_HAS_MANY_MARKS = regex.compile(_ROW_OF_MARKS)
_MANY_MARKS = regex.compile(rf"(?s).?{_ROW_OF_MARKS}")
# Whether lower() gives σ or ς depends on the letters around it, so a cut in mid-word would change it.
_FINAL_SIGMA = ("ς", "σ")


def normalize(text: str, *, unicode_folding: bool = False) -> str:
    """Return the form in which texts are compared: NFC, lower case, white space folded to single spaces.

    Args:
        text: any text.
        unicode_folding: also fold what one text may be written with in several ways: compatibility forms and widths
            (NFKC), case by `casefold`, quotes and dashes, invisible characters, digits, Arabic letters and vowel signs,
            Hebrew points, Devanagari spellings. docs/concepts/matching.md gives every step.
    """
    folded = _HYPHENS.sub("-", _fold(text)) if unicode_folding else _lower_letters(text)
    return " ".join(folded.split())


def _fold(text: str) -> str:
    """Return the text with every character folded; white space and rows of hyphens are as they were."""
    if text.isascii():
        return text.lower().replace("`", "'")
    # NFKC decomposes ´ and ″, and makes dashes of other forms: punctuation is folded before it and after
    text = bounded_marks(_INVISIBLE.sub("", text).translate(_BY_PUNCTUATION), "NFKD")
    folded = unicodedata.normalize("NFKC", text).casefold()
    # casefold can undo the composition: ΐ becomes three characters
    folded = unicodedata.normalize("NFKC", folded).translate(_BY_PUNCTUATION)
    folded = _LEFT_OUT.sub("", folded.translate(_BY_LETTERS)).replace(*_FINAL_SIGMA)
    folded = _OTHER_DIGITS.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)
    return unicodedata.normalize("NFC", bounded_marks(folded))


def bounded_marks(text: str, form: Literal["NFD", "NFKD"] = "NFD") -> str:
    """Return a text that is normalized alike, but with no more than 30 combining marks after a character.

    To put marks into their order takes Python a time that is quadratic in their number. No text has more than 30, as
    Unicode says of its Stream-Safe Text Format (UAX #15); those that come last in this order are left out.
    """
    if text.isascii() or _HAS_MANY_MARKS.search(text) is None:
        return text
    bounded: str = _MANY_MARKS.sub(lambda row: "".join(_bounded_row(row[0], form)), text)
    return bounded


def _bounded_row(row: str, form: Literal["NFD", "NFKD"]) -> Iterator[str]:
    parts_of = {character: unicodedata.normalize(form, character) for character in set(row)}
    decomposed = "".join(map(parts_of.__getitem__, row))
    for combining, parts in groupby(decomposed, lambda part: unicodedata.combining(part) > 0):
        found = list(parts)
        yield from sorted(found, key=unicodedata.combining)[:_MOST_MARKS] if combining else found


def _lower(text: str) -> str:
    """Return the text in lower case and NFC. Some letters compose in lower case alone: H̱ is two, ẖ is one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", bounded_marks(text)).lower())


@dataclass(frozen=True, eq=False)
class NormalizedText:
    """A normalized text with the source offset of each of its characters."""

    text: str
    """What `normalize` returns for the source."""
    starts: NDArray[np.int64]
    """For each normalized character, the source offset where it begins."""
    ends: NDArray[np.int64]
    """For each normalized character, the source offset one past where it ends."""

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the source span of the normalized span `[start, end)`, which must not be empty."""
        return int(self.starts[start]), int(self.ends[end - 1])


def normalize_with_offsets(text: str, *, unicode_folding: bool = False) -> NormalizedText:
    """Normalize a source text and keep the way back.

    Linear in the length of the text: where normalization changes no lengths but those of white space, as in
    nearly all real text, the map comes from the white space alone.
    """
    if unicode_folding:
        return fold_white_space(*_fold_hyphens(*_fold_clusters(text, _fold, _extends_folded)))
    # İ is the one character that lower() makes longer
    if _HAS_MANY_MARKS.search(text) is None and unicodedata.is_normalized("NFC", text) and "İ" not in text:
        lowered = text.lower()
        if unicodedata.is_normalized("NFC", lowered):
            offsets = np.arange(len(text) + 1, dtype=np.int64)
            return fold_white_space(lowered.replace(*_FINAL_SIGMA), offsets[:-1], offsets[1:])
    return fold_white_space(*_fold_clusters(text, _lower_letters, _extends))


def compose_with_offsets(text: str) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Return the text in NFC, and where each of its characters begins and ends in the source."""
    if _HAS_MANY_MARKS.search(text) is None and unicodedata.is_normalized("NFC", text):
        offsets = np.arange(len(text) + 1, dtype=np.int64)
        return text, offsets[:-1], offsets[1:]
    return _fold_clusters(text, lambda cluster: unicodedata.normalize("NFC", bounded_marks(cluster)), _extends)


@cache
def _composing_marks() -> frozenset[str]:
    """Characters with combining class 0 that nevertheless belong to the one before: vowel signs, jamo, ཱི."""
    marks = {chr(code) for code in range(0x1161, 0x1176)} | {chr(code) for code in range(0x11A8, 0x11C3)}
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts)
            marks.add(second)
            if unicodedata.combining(first):
                marks.add(chr(code))
    return frozenset(marks)


def _lower_letters(text: str) -> str:
    return _lower(text).replace(*_FINAL_SIGMA)


@cache
def _extends(character: str) -> bool:
    """Whether a character may compose with the one before it."""
    return bool(unicodedata.combining(character)) or character in _composing_marks()


@cache
def _extends_folded(character: str) -> bool:
    """Whether a character may compose with the one before it when both are folded, or is left out."""
    folded = _fold(character)
    first = unicodedata.normalize("NFKD", character)[0]
    return not folded or any(_extends(each) for each in (character, first, folded[0]))


def _fold_clusters(
    text: str, fold: Callable[[str], str], extends: Callable[[str], bool]
) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Fold cluster by cluster (a character and those that may compose with it); each output character maps to it."""
    extending = "".join(map(re.escape, filter(extends, sorted(set(text)))))
    # White space composes with nothing: a mark behind it stands for itself
    clusters = re.findall(rf"\S[{extending}]*|\s", text) if extending else list(text)
    folded = {cluster: fold(cluster) for cluster in set(clusters)}
    pieces = [folded[cluster] for cluster in clusters]
    lengths = np.fromiter(map(len, clusters), dtype=np.int64, count=len(clusters))
    ends = np.cumsum(lengths)
    sizes = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
    return "".join(pieces), np.repeat(ends - lengths, sizes), np.repeat(ends, sizes)


def _fold_hyphens(
    folded: str, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Replace each row of hyphens by one that maps to the whole row."""
    is_kept = np.ones(len(folded), dtype=np.bool_)
    for row in _HYPHENS.finditer(folded):
        is_kept[row.start() + 1 : row.end()] = False
        ends[row.start()] = ends[row.end() - 1]
    return _HYPHENS.sub("-", folded), starts[is_kept], ends[is_kept]


def fold_white_space(folded: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NormalizedText:
    """Replace each run of white space by one space and drop it at both ends, keeping the offsets."""
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    space = _is_space()[np.minimum(codes, _FIRST_NEVER_SPACE)]
    follows_space = np.concatenate(([True], space[:-1])) if len(space) else space
    is_kept = ~(space & follows_space)
    if len(space) and space[-1] and is_kept.any():
        is_kept[np.flatnonzero(is_kept)[-1]] = not space[np.flatnonzero(is_kept)[-1]]
    return NormalizedText(" ".join(folded.split()), starts[is_kept], ends[is_kept])


@cache
def _is_space() -> NDArray[np.bool_]:
    """A table: whether a code point is white space to `str.split`."""
    return np.array([chr(code).isspace() for code in range(_FIRST_NEVER_SPACE + 1)])
