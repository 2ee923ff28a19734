"""Untrusted text made safe to print, or to hand to what takes UTF-8 only."""

from __future__ import annotations

import re

__all__ = [
    "SURROGATE",
    "TRUNCATED",
    "UNPRINTABLE",
    "counted",
    "encodable",
    "excerpt",
    "printable",
    "short_repr",
    "shorten",
    "shorten_middle",
]

UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What could move a terminal's cursor, change its colours or reorder a line, or has no UTF-8; never a line end."""
TRUNCATED = "†"
"""Marks a value whose depth is greater than the ranking is long: there is no fair pair."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""A half of a pair of UTF-16 on its own, which has no UTF-8."""


def encodable(text: str) -> str:
    """Return a text of the same length that UTF-8 can write: lone surrogates come out as �."""
    return SURROGATE.sub("�", text)


def printable(text: str) -> str:
    """Replace what could move the cursor or change the colours of a terminal, reorder a line, or has no UTF-8.

    Corpora, labels and error messages are untrusted text: control characters (but not line ends), direction overrides
    and lone surrogates come out as �.
    """
    return UNPRINTABLE.sub("�", text)


def short_repr(value: object, most: int = 200) -> str:
    """Return what `repr` says of something that a user wrote, on one line and never endless.

    Args:
        value: it.
        most: where it has more characters than so many, its middle is left out.
    """
    try:
        said = repr(value)
    except ValueError:  # an integer of more digits than Python writes out
        said = f"something of the type {type(value).__name__} that is too long to show"
    return shorten_middle(said, most)


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` characters; where more is left out, its last one is `…`."""
    return text if len(text) <= width else text[: width - 1] + "…"


def shorten_middle(text: str, most: int) -> str:
    """Return a text with at most `most` of its characters: of a longer one the two halves of its ends, and `…`."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


def excerpt(text: str, width: int = 60) -> str:
    """Return a text on one line of at most `width` characters."""
    return shorten(" ".join(text.split()), width)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 query`, `312 queries`, `43 facts`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} " + (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")
