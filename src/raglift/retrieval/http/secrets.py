"""What must not be shown, in whichever form an answer repeats it."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Secrets"]

_SHORTEST = 6  # a shorter one would hide common words in messages
_LONGEST_FORM = 6
"""How many characters may stand for one: `\\u002f`, `&quot;`."""
_SHOWN = 120
_WINDOW = 20_000
"""How many bytes of a body are looked at."""


class Secrets:
    """Hides values in texts of others, also where they are escaped for an address, JSON or HTML.

    Args:
        values: what is to be hidden.
    """

    def __init__(self, values: Iterable[str]) -> None:
        kept = sorted({one for one in values if len(one) >= _SHORTEST}, key=len, reverse=True)
        self._pattern = re.compile("|".join("".join(map(_any_form, one)) for one in kept)) if kept else None
        self._longest = _LONGEST_FORM * len(kept[0]) if kept else 0

    def hidden(self, text: str) -> str:
        """Return a text to be printed, with `***` in place of what must not be shown."""
        return printable(self._pattern.sub("***", text) if self._pattern else text)

    def beginning(self, body: bytes | bytearray) -> str:
        """Return how a body begins, in one line; what is cut off at the end of the window may be part of a secret."""
        text = self.hidden(bytes(body[:_WINDOW]).decode("utf-8", "replace"))
        if len(body) > _WINDOW and self._longest:
            text = text[: -self._longest]
        line = " ".join(text.split())
        return line[:_SHOWN] + ("…" if len(line) > _SHOWN else "")


def _any_form(letter: str) -> str:
    """Return a pattern of all that may stand for a character of a secret."""
    if letter.isascii() and letter.isalnum():
        return letter
    percent = quote(letter, safe="")
    code = ord(letter)
    forms = {
        *(letter, f"\\{letter}", json.dumps(letter)[1:-1], f"\\u{code:04x}", f"\\u{code:04X}"),
        *(percent, percent.lower(), quote_plus(letter), f"%{code:02X}", f"%{code:02x}"),
        *(html.escape(letter), f"&#{code};", f"&#x{code:x};"),
    }
    return f"(?:{'|'.join(re.escape(form) for form in sorted(forms, key=len, reverse=True))})"
