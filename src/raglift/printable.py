"""Untrusted text made safe to print, or to hand to what takes UTF-8 only."""

from __future__ import annotations

import re

__all__ = ["UNPRINTABLE", "brief", "encodable", "excerpt", "printable"]

UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What could move a terminal's cursor, change its colours or reorder a line, or has no UTF-8; never a line end."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """Return a text of the same length that UTF-8 can write: lone surrogates come out as �."""
    return _SURROGATE.sub("�", text)


def printable(text: str) -> str:
    """Replace what could move the cursor or change the colours of a terminal, reorder a line, or has no UTF-8.

    Corpora, labels and error messages are untrusted text: control characters (but not line ends), direction overrides
    and lone surrogates come out as �.
    """
    return UNPRINTABLE.sub("�", text)


def brief(value: object, most: int = 200) -> str:
    """Return what `repr` says of something that a user wrote, on one line and never endless.

    Args:
        value: it.
        most: where it has more characters than so many, its middle is left out.
    """
    try:
        said = repr(value)
    except ValueError:  # an integer of more digits than Python writes out
        said = f"something of the type {type(value).__name__} that is too long to show"
    return said if len(said) <= most else f"{said[: most // 2]}…{said[-most // 2 :]}"


def excerpt(text: str, most: int = 60) -> str:
    """Return the beginning of a text on one line, of at most so many characters."""
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"
