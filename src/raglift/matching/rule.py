"""The match rule, and texts normalized as it says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from raglift.errors import ConfigurationError
from raglift.text.normalization import NormalizedText, normalize, normalize_with_offsets
from raglift.utilities.display import short_repr

# The match rule: the settings of matching, validated.


Mode = Literal["containment", "coverage", "fuzzy"]
"""How texts are compared."""

MODES: tuple[str, ...] = get_args(Mode)
"""All of them; the first is the default."""

_THRESHOLDS: dict[str, float | None] = {"containment": None, "coverage": 0.5, "fuzzy": 0.9}


@dataclass(frozen=True)
class MatchRule:
    """How hits are matched to passages. Chunk-id labels always match by id, whatever the mode.

    Raises:
        ConfigurationError: an unknown mode, a threshold that is not above 0 and at most 1 or that the mode does not
            have, or a length that is not an integer of 0 or more.
    """

    mode: Mode = "containment"
    """`containment`: one hit that contains the passage, or lies inside it, proves the fact. `coverage`: the hits so
    far together must cover enough of it, which is fair across chunk sizes. `fuzzy`: as containment, for texts that
    were cleaned or scanned on the way in."""
    minimum_length: int = 20
    """A chunk of fewer normalized characters never matches by lying inside a longer passage."""
    unicode_folding: bool = False
    """Also fold compatibility forms, case by `casefold`, typographic quotes and dashes, and “--”."""
    threshold: float | None = None
    """With `coverage`, the part of the passage that must be covered, 0.5 if not given. With `fuzzy`, how alike the
    texts must be (rapidfuzz's partial ratio, from 0 to 1), 0.9 if not given. None with `containment`."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigurationError(
                f"match: found {short_repr(self.mode)}; expected one of {', '.join(map(repr, MODES))}"
            )
        length = self.minimum_length
        if isinstance(length, bool) or not isinstance(length, int) or length < 0:
            raise ConfigurationError(
                f"minimum_length: found {short_repr(self.minimum_length)}; expected an integer, 0 or more"
            )
        if self.threshold is None:
            object.__setattr__(self, "threshold", _THRESHOLDS[self.mode])
        else:
            self._check_threshold(self.threshold)

    def _check_threshold(self, threshold: object) -> None:
        if self.mode == "containment":
            raise ConfigurationError(
                f"match threshold: found {short_repr(threshold)} with containment, which has none; "
                "expected none, or match='coverage' or 'fuzzy'"
            )
        number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not number or not math.isfinite(threshold) or not 0 < threshold <= 1:  # type: ignore[arg-type, operator]
            raise ConfigurationError(
                f"match threshold: found {short_repr(threshold)}; expected a number above 0, at most 1"
            )

    @property
    def by_coverage(self) -> bool:
        """Whether hits satisfy a fact together, by what they cover of a passage; else one hit does by itself."""
        return self.mode == "coverage"

    @classmethod
    def for_profile(
        cls, profile: str, mode: str = "containment", *, threshold: float | None = None, unicode_folding: bool = False
    ) -> MatchRule:
        """Return the rule that goes with a profile's metrics: the tutorial has no length guard, all others have.

        Args:
            profile: whose metric conventions: "default", "tutorial", "autorag", "trec", "llamaindex" or "ragas".
            mode: one of `MODES`.
            threshold: of coverage or likeness; None for the mode's own.
            unicode_folding: whether to fold compatibility forms, typographic quotes and dashes.

        Raises:
            ConfigurationError: an unknown mode, or a threshold that it does not have.
        """
        length = 0 if profile == "tutorial" else cls.minimum_length
        return cls(mode, length, unicode_folding, threshold)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.mode if self.threshold is None else f"{self.mode} (threshold {self.threshold:g})"


# Normalized texts, each distinct text normalized once.


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
