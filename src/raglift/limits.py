"""How much of one input is taken into memory (a few megabytes can unpack to terabytes), and how large a score is."""

from __future__ import annotations

import os

from raglift.errors import ConfigurationError

__all__ = ["LARGEST_SCORE", "VARIABLE", "allowed", "most_bytes"]

VARIABLE = "RAGLIFT_MAX_BYTES"
"""The environment variable that sets another limit."""
_USUAL = 2 * 2**30
LARGEST_SCORE = 1e100
"""Of larger values the squares, which statistics take, would be no finite numbers."""


def most_bytes() -> int:
    """Return how many bytes one file may have, or unpack to, where it is taken into memory: 2 GiB, or as set.

    Raises:
        ConfigurationError: `RAGLIFT_MAX_BYTES` is no number of bytes.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return _USUAL
    if not given.isdecimal() or len(given) > len(str(2**63)) or int(given) == 0:
        raise ConfigurationError(f"{VARIABLE}: found {given[:40]!r}; expected a number of bytes, as 4000000000")
    return int(given)


def allowed() -> str:
    """Return what an error about a file that is too large says was expected."""
    return f"at most {most_bytes():,} bytes; if the file is yours, allow more by setting {VARIABLE}"
