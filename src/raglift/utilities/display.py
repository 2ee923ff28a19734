"""Texts made safe to print: no control characters, no keys or passwords; also shortening and counting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import TracebackType

from raglift.errors import QueryTimeout, ServiceFailed, ServiceUnusable
from raglift.utilities.secrets import KnownSecrets, known_secrets, secrets_of_environment

# Sanitizing untrusted text for printing, or for consumers that take only UTF-8.


UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What could move a terminal's cursor, change its colours or reorder a line, or has no UTF-8; never a line end."""
_LINE_BREAK = re.compile("\r\n|[\n\u2028\u2029]")
TRUNCATED = "†"
"""Marks a value whose depth is greater than the ranking is long: there is no fair pair."""
BEYOND = "§"
"""Marks a value after reranking that hits raise which were not among the candidates: there is no fair pair."""
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


def one_line(text: str) -> str:
    """Return a text that is printed as one line: `printable`, and `↵` where it would go on in another."""
    return printable(_LINE_BREAK.sub("↵", text))


def lines_text(lines: Iterable[str]) -> str:
    """Return lines as one text to be printed; a line break inside one of them, as of an id, begins no other line."""
    return "\n".join(map(one_line, lines))


def short_repr(value: object, most: int = 200) -> str:
    """Return what `repr` says of something that a user wrote, on one line and never endless."""
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


def listed(names: Iterable[str], most: int, separator: str = ", ") -> str:
    """Return the first few names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return separator.join(every[:most]) + more


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 query`, `312 queries`, `43 facts`."""
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {plural}"


# Redaction of keys, tokens and passwords in messages and answers.


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
_WINDOW = 20_000
"""How many bytes of a body, or characters of a message, are looked at."""


def describe_error(error: BaseException, *, secrets: Iterable[str] | KnownSecrets = ()) -> str:
    """Return an error as one short line without secrets."""
    message = error_text(error)
    given = secrets.values if isinstance(secrets, KnownSecrets) else filter(None, secrets)
    message = known_secrets(frozenset(secrets_of_environment().union(given))).cleared(message)
    message = shorten(printable(_SECRET_SHAPE.sub("***", " ".join(message.split()))), _LONGEST_MESSAGE)
    if message and isinstance(error, (QueryTimeout, ServiceFailed, ServiceUnusable)):  # these are sentences
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__ + _raised_in(error.__traceback__)


def _raised_in(trace: TracebackType | None) -> str:
    """Return the function that raised an error: of one without a text, nothing else says what is wrong."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" in {trace.tb_frame.f_code.co_qualname}()"


def error_text(error: BaseException) -> str:
    """Return the beginning of an error's text, also where that raises: a user's system may have raised anything."""
    try:
        text = str(error)
        if len(text) <= _WINDOW:
            return text
        *before, _half = text[:_WINDOW].rsplit(maxsplit=1)  # what is cut in two may be a secret
        return "".join(before) or text[:_LONGEST_MESSAGE]
    except Exception as failure:  # noqa: BLE001 — of the error's own `__str__`
        return f"(its text cannot be shown: {type(failure).__name__})"


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that, and so on; each once, since an error may be its own cause."""
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and not any(following is each for each in seen):
        seen.append(following)
        yield following
        following = following.__cause__


class Secrets(KnownSecrets):
    """Hides values in texts of others, also where they are escaped for an address, JSON or HTML, or cut off."""

    def hidden(self, text: str) -> str:
        """Return a text to be printed, with `***` in place of what must not be shown."""
        return printable(self.cleared(text))

    def beginning(self, body: bytes | bytearray) -> str:
        """Return how a body begins, in one line; what is cut off at the end of the window may be part of a secret."""
        text = self.hidden(bytes(body[:_WINDOW]).decode("utf-8", "replace"))
        if len(body) > _WINDOW and self.longest:
            text = text[: -self.longest]
        return shorten(" ".join(text.split()), _LONGEST_BEGINNING)
