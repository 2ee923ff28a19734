"""Normalized text, and the way back from it to the source.

Labels and chunks are compared after normalization, so that line wraps, letter case and the two ways of writing “é” make
no difference. Where a location in the source is wanted, `NormalizedText` maps every normalized character back to the
source character it came from.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


# U+3000 is the last code point that is white space.
_FIRST_NEVER_SPACE = 0x3001
# Typographic quotes and dashes, for unicode folding only: to most readers they are the same text.
_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "\u00ad": "",
    }
)
# “--” and “---” stand for a dash in plain text
_HYPHENS = re.compile("-{2,}")
# Whether lower() gives σ or ς depends on the letters around it, so a cut in mid-word would change it.
_FINAL_SIGMA = ("ς", "σ")


def normalize(text: str, *, unicode_folding: bool = False) -> str:
    """Return the form in which texts are compared: NFC, lower case, white space folded to single spaces.

    Args:
        text: any text.
        unicode_folding: also fold compatibility forms (NFKC), case by `casefold`, typographic quotes and
            dashes, rows of hyphens (“--” for “—”), and drop soft hyphens. docs/concepts/matching.md gives every step.
    """
    if unicode_folding:
        # NFKC decomposes ´ and ″, and makes dashes of other forms: punctuation is folded before it and after
        folded = unicodedata.normalize("NFKC", text.translate(_PUNCTUATION)).casefold()
        # casefold can undo the composition: ΐ becomes three characters
        folded = _HYPHENS.sub("-", unicodedata.normalize("NFKC", folded).translate(_PUNCTUATION))
    else:
        folded = _lower(text)
    return " ".join(folded.replace(*_FINAL_SIGMA).split())


def _lower(text: str) -> str:
    """Return the text in lower case and NFC. Some letters compose in lower case alone: H̱ is two, ẖ is one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


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

    Args:
        text: any text.
        unicode_folding: as in `normalize`. In a word whose length folding changes, locations are interpolated.
    """
    if unicode_folding:
        return _fold_words(text)
    # İ is the one character that lower() makes longer
    if unicodedata.is_normalized("NFC", text) and "İ" not in text:
        lowered = text.lower()
        if unicodedata.is_normalized("NFC", lowered):
            offsets = np.arange(len(text) + 1, dtype=np.int64)
            return _fold_white_space(lowered.replace(*_FINAL_SIGMA), offsets[:-1], offsets[1:])
    return _fold_white_space(*_fold_clusters(text))


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


def _fold_clusters(text: str) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Normalize cluster by cluster (a character and what composes with it); each output character maps to it."""
    marks = _composing_marks()
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    begin = 0
    for index in range(1, len(text) + 1):
        if index < len(text) and (unicodedata.combining(text[index]) or text[index] in marks):
            continue
        piece = _lower(text[begin:index]).replace(*_FINAL_SIGMA)
        pieces.append(piece)
        starts += [begin] * len(piece)
        ends += [index] * len(piece)
        begin = index
    return "".join(pieces), np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)


def _fold_words(text: str) -> NormalizedText:
    """Fold word by word; a word that keeps its length keeps its offsets, in another they are spread evenly."""
    pieces: list[str] = []
    starts: list[NDArray[np.int64]] = []
    ends: list[NDArray[np.int64]] = []
    for word in re.finditer(r"\S+", text):
        folded = normalize(word[0], unicode_folding=True)
        if not folded:
            continue
        bounds = word.start() + np.arange(len(folded) + 1) * len(word[0]) // len(folded)
        if pieces:
            pieces.append(" ")
            starts.append(ends[-1][-1:])
            ends.append(np.array([word.start()]))
        pieces.append(folded)
        starts.append(bounds[:-1])
        ends.append(np.maximum(bounds[1:], bounds[:-1] + 1))
    nothing = np.zeros(0, dtype=np.int64)
    return NormalizedText("".join(pieces), np.concatenate([nothing, *starts]), np.concatenate([nothing, *ends]))


def _fold_white_space(folded: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NormalizedText:
    """Replace each run of white space by one space and drop it at both ends, keeping the offsets."""
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    space = _is_space()[np.minimum(codes, _FIRST_NEVER_SPACE)]
    follows_space = np.concatenate(([True], space[:-1])) if len(space) else space
    kept = ~(space & follows_space)
    if len(space) and space[-1] and kept.any():
        kept[np.flatnonzero(kept)[-1]] = not space[np.flatnonzero(kept)[-1]]
    return NormalizedText(" ".join(folded.split()), starts[kept], ends[kept])


@cache
def _is_space() -> NDArray[np.bool_]:
    """A table: whether a code point is white space to `str.split`."""
    return np.array([chr(code).isspace() for code in range(_FIRST_NEVER_SPACE + 1)])
