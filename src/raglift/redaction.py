"""What must not be shown of messages and answers: keys, tokens and passwords."""

from __future__ import annotations

import html
import json
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from raglift.errors import QueryTimeout, ServiceFailed, ServiceUnusable
from raglift.printable import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "SHORTEST_SECRET",
    "Secrets",
    "describe_error",
    "is_secret_name",
    "may_hold_secrets",
    "secrets_of_environment",
]

SHORTEST_SECRET = 8
"""A shorter value is taken for no secret: hiding it would hide common words in messages."""
_SECRET_NAME = re.compile(r"key|token|secret|password|credential|signature", re.IGNORECASE)
_SECRET_SHAPE = re.compile(
    r"\b(?:sk|pk|hf|gsk|xai|gh[opsu]|xox[abprs])[-_][\w\-*]{8,}|\bAIza[\w-]{10,}|\bAKIA\w{10,}|\beyJ[\w-]+\.[\w.-]+"
    r"|\b(?:Bearer|Basic)\s+\S+"
    r"|(?<=key|ken|ret|ord)['\"]?\s*[:=]\s*['\"]?[^\s'\",&]{6,}"  # api_key: …, token=…, secret=…, password=…
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"  # a user and password in an address
    r"|(?<=[?&])[\w-]*(?:key|token|secret|password)[\w-]*=[^\s&'\"]+",
    re.IGNORECASE,
)
_LONGEST_MESSAGE = 301
_LONGEST_BEGINNING = 121
_SHORTEST_IN_AN_ANSWER = 6
_LONGEST_FORM = 6
"""How many characters may stand for one: `\\u002f`, `&quot;`."""
_WINDOW = 20_000
"""How many bytes of a body are looked at."""


def is_secret_name(name: str) -> bool:
    """Whether a value of this name may be a secret, as a parameter of an address."""
    return _SECRET_NAME.search(name) is not None


def may_hold_secrets(name: str) -> bool:
    """Whether a variable or setting of this name may be a secret, or hold headers that are."""
    return is_secret_name(name) or "header" in name.lower()


def secrets_of_environment() -> set[str]:
    """Return the values of the environment variables that are secret by their names."""
    return {value for name, value in os.environ.items() if len(value) >= SHORTEST_SECRET and may_hold_secrets(name)}


def describe_error(error: BaseException, *, secrets: Iterable[str] = ()) -> str:
    """Return an error as one short line without secrets.

    Args:
        error: what was raised.
        secrets: what must not be shown, besides what the environment and its own shape show to be secret.
    """
    message = str(error)
    known = secrets_of_environment().union(filter(None, secrets))
    for secret in sorted(known, key=len, reverse=True):  # the longest first: one may begin with another
        message = message.replace(secret, "***")
    message = shorten(printable(_SECRET_SHAPE.sub("***", " ".join(message.split()))), _LONGEST_MESSAGE)
    if message and isinstance(error, (QueryTimeout, ServiceFailed, ServiceUnusable)):  # these are sentences
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


class Secrets:
    """Hides values in texts of others, also where they are escaped for an address, JSON or HTML.

    Args:
        values: what is to be hidden.
    """

    def __init__(self, values: Iterable[str]) -> None:
        kept = sorted({one for one in values if len(one) >= _SHORTEST_IN_AN_ANSWER}, key=len, reverse=True)
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
        return shorten(" ".join(text.split()), _LONGEST_BEGINNING)


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
