"""Normalized texts, each distinct one made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.text import normalize, normalize_with_offsets

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.text import NormalizedText

__all__ = ["Text"]


class Text:
    """Normalizes each distinct text once."""

    def __init__(self, rule: MatchRule) -> None:
        self._folding = rule.unicode_folding
        self._known: dict[str, str] = {}
        self._placed: dict[str, NormalizedText] = {}

    def __call__(self, text: str) -> str:
        """Return the normalized text."""
        normalized = self._known.get(text)
        if normalized is None:
            normalized = self._known[text] = normalize(text, unicode_folding=self._folding)
        return normalized

    def placed(self, text: str) -> NormalizedText:
        """Return the normalized text with the way back to the source."""
        placed = self._placed.get(text)
        if placed is None:
            placed = self._placed[text] = normalize_with_offsets(text, unicode_folding=self._folding)
            self._known[text] = placed.text
        return placed
