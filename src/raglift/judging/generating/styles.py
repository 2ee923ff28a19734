"""The styles of questions, and how many are wanted of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.printable import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_STYLES", "STYLES", "Style", "parse_styles", "shares"]


@dataclass(frozen=True)
class Style:
    """One way to ask."""

    name: str
    """Also the tag of its queries."""
    prompt: str
    """The file of its prompt, without `.md`."""
    passages: int
    """How many passages a question is written about."""
    quotes: int
    """How many quotes label it: one a passage, none for what is not answered."""
    meaning: str
    """What its questions are like."""


STYLES = {
    style.name: style
    for style in (
        Style("natural", "generate_natural", 1, 1, "a full question, as one asks a person"),
        Style("keyword", "generate_keyword", 1, 1, "a few words, as one types them into a search box"),
        Style("typo", "generate_natural", 1, 1, "a natural question, mistyped by raglift, not by the model"),
        Style("multi", "generate_multi", 2, 2, "a question whose answer takes two passages from different places"),
        Style("unanswerable", "generate_unanswerable", 1, 0, "what the documents seem to answer, and do not"),
    )
}
"""All styles, by name."""

DEFAULT_STYLES = "natural=4,keyword=2,multi=2,typo=1,unanswerable=1"
"""What is written when nothing else is said: of ten questions four natural ones, two of keywords, …"""


def parse_styles(styles: str | Mapping[str, float]) -> dict[str, float]:
    """Return the weight of each style.

    Args:
        styles: `natural=2,keyword`, where a style without a weight has 1; or a mapping from style to weight.

    Raises:
        ConfigurationError: an unknown style, one given twice, or a weight that is no positive number.
    """
    if isinstance(styles, str):
        parts = [part.strip().partition("=") for part in styles.split(",") if part.strip()]
        named = [(name.strip(), weight if equals else "1") for name, equals, weight in parts]
    else:
        named = [(name, str(weight)) for name, weight in styles.items()]
    weights: dict[str, float] = {}
    for name, weight in named:
        if name not in STYLES or name in weights:
            found = f"{short_repr(name)} twice" if name in weights else short_repr(name)
            raise ConfigurationError(f"styles: found {found}; expected some of {', '.join(STYLES)}, each once")
        weights[name] = _weight(name, weight)
    if not weights:
        raise ConfigurationError(f"styles: found none; expected some of {', '.join(STYLES)}")
    return weights


def _weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise ConfigurationError(
            f"styles: found {name}={short_repr(text)[1:-1]}; expected a positive number, as {name}=2"
        )
    return weight


def shares(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return how many questions of each style make up a number of them, by the largest remainders."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    found = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in by_remainder[: count - sum(found.values())]:
        found[name] += 1
    return {name: share for name, share in found.items() if share}
