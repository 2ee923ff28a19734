"""Typing mistakes, made by raglift: the same question and seed give the same ones."""

from __future__ import annotations

import hashlib
import re

import numpy as np

__all__ = ["with_typos"]

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"[^\W\d_]{4,}")
_WORDS_A_TYPO = 5


def with_typos(text: str, seed: int) -> str:
    """Return a text with a typing mistake in about one of five of its words, at least one.

    Words under four letters, digits and the first letter of a word are left alone. A mistake is two letters that
    change places, one that is missing, one that is doubled, or a neighbour of it on an English keyboard.

    Args:
        text: a question.
        seed: another seed makes other mistakes.

    Returns:
        The text with mistakes; itself, where no word is long enough.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    random = np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
    words = list(_WORD.finditer(text))
    count = min(len(words), max(1, len(text.split()) // _WORDS_A_TYPO))
    chosen = sorted(random.choice(len(words), size=count, replace=False)) if count else []
    for number in reversed(chosen):
        found = words[number]
        text = text[: found.start()] + _mistyped(found[0], random) + text[found.end() :]
    return text


def _mistyped(word: str, random: np.random.Generator) -> str:
    """Return a word with one mistake."""
    at = int(random.integers(1, len(word) - 1))
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    missing = word[:at] + word[at + 1 :]
    doubled = word[: at + 1] + word[at:]
    kinds = [missing, doubled, *([swapped] if swapped != word else [])]
    neighbours = _neighbours(word[at])
    if neighbours:
        kinds.append(word[:at] + neighbours[int(random.integers(len(neighbours)))] + word[at + 1 :])
    return kinds[int(random.integers(len(kinds)))]


def _neighbours(letter: str) -> str:
    """Return the letters beside one in its row of an English keyboard."""
    for row in _ROWS:
        at = row.find(letter)
        if at >= 0:
            return row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    return ""
