"""How calls to a system are made, and which failures are worth another try."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

from raglift.errors import ConfigurationError, QueryTimeout, ServiceFailed, ServiceUnusable
from raglift.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenacity import RetryCallState

__all__ = ["Policy", "describe_error", "is_transient", "retry_settings"]

_HTTP_STATUS = range(100, 600)
_TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
# ValueError: requests' errors about ill-formed addresses and answers are both
_NOT_TRANSIENT = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError, ValueError)
# Their connection errors do not derive from OSError
_NETWORK_ERRORS = {
    ("httpx", "TransportError"),
    ("httpx2", "TransportError"),
    ("aiohttp", "ClientConnectionError"),
}
# requests and httpx say status_code, aiohttp status, urllib code
_STATUS_NAMES = ("status_code", "status", "code")
_LONGEST_TIMEOUT = 86_400.0
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_LONGEST_MESSAGE = 300
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_SHAPE = re.compile(
    r"\b(?:sk|pk|hf|gsk|xai|gh[opsu]|xox[abprs])[-_][\w\-*]{8,}|\bAIza[\w-]{10,}|\bAKIA\w{10,}|\beyJ[\w-]+\.[\w.-]+"
    r"|\b(?:Bearer|Basic)\s+\S+"
    r"|(?<=key|ken|ret|ord)['\"]?\s*[:=]\s*['\"]?[^\s'\",&]{6,}"  # api_key: …, token=…, secret=…, password=…
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"  # a user and password in an address
    r"|(?<=[?&])[\w-]*(?:key|token|secret|password)[\w-]*=[^\s&'\"]+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Policy:
    """How calls to a system are made.

    Raises:
        ConfigurationError: a number is out of range.
    """

    concurrency: int = 1
    """How many queries may be under way at once; for systems that take one query at a time."""
    timeout: float | None = None
    """The most seconds for one query, its retries included; None for no limit."""
    retries: int = 2
    """How often a call that failed for a passing reason (connection, 429, 5xx) is made again, with backoff."""
    on_error: Literal["keep", "raise"] = "keep"
    """`keep` counts a failed query as 0 and goes on; `raise` stops."""
    progress: bool | None = None
    """Whether to show progress; None decides by the terminal."""

    def __post_init__(self) -> None:
        for name, value, least in (("concurrency", self.concurrency, 1), ("retries", self.retries, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigurationError(f"{name}: found {value!r}; expected an integer, {least} or more")
        limit = self.timeout
        if limit is not None and not (isinstance(limit, (int, float)) and 0 < limit <= _LONGEST_TIMEOUT):
            raise ConfigurationError(f"timeout: found {limit!r}; expected seconds above 0 (a day at most), or None")
        if self.on_error not in ("keep", "raise"):
            raise ConfigurationError(f"on_error: found {self.on_error!r}; expected 'keep' or 'raise'")


def is_transient(error: BaseException) -> bool:
    """Whether an error may pass by itself: a lost connection, a timeout, HTTP 429 or 5xx."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ConfigurationError):
            return False
        status = _status(seen)
        if status is not None:
            return status in _TRANSIENT_STATUS
        if isinstance(seen, (OSError, TimeoutError)) and not isinstance(seen, _NOT_TRANSIENT):
            return True
        if _NETWORK_ERRORS & {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(seen).__mro__}:
            return True
        seen = seen.__cause__
    return False


def retry_settings(policy: Policy) -> dict[str, Any]:
    """Return the arguments for tenacity's `Retrying` and `AsyncRetrying`."""
    import tenacity

    return {
        "retry": tenacity.retry_if_exception(is_transient),
        "stop": tenacity.stop_after_attempt(policy.retries + 1),
        "wait": _wait,
        "reraise": True,
    }


def _wait(state: RetryCallState) -> float:
    """Wait as long as the server asks (Retry-After), else exponentially longer with jitter."""
    import tenacity

    error = state.outcome.exception() if state.outcome else None
    headers = getattr(getattr(error, "response", error), "headers", None) or {}
    try:
        asked = {name.lower(): value for name, value in headers.items()}["retry-after"]
        return min(max(_seconds_to(asked), 0.0), _LONGEST_WAIT)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        exponential = tenacity.wait_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)
        return (exponential + tenacity.wait_random(0, _FIRST_WAIT))(state)


def _seconds_to(asked: str) -> float:
    """Return the seconds that Retry-After asks for: a number of them, or until a date.

    Raises:
        ValueError: it is neither, or the date is over.
        OverflowError: it is a date too far away for any calendar.
    """
    try:
        seconds = float(asked)
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds):
        when = parsedate_to_datetime(asked)
        seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
        if seconds <= 0:
            raise ValueError("a date that is over says nothing, or the clocks differ")
    return seconds


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in _STATUS_NAMES:
            status = getattr(holder, name, None)
            if isinstance(status, int) and status in _HTTP_STATUS:
                return status
    return None


def describe_error(error: BaseException, *, secrets: Iterable[str] = ()) -> str:
    """Return an error as one short line without secrets.

    Args:
        error: what was raised.
        secrets: what must not be shown, besides what the environment and its own shape show to be secret.
    """
    message = str(error)
    named = {value for name, value in os.environ.items() if len(value) >= 8 and _SECRET_NAME.search(name)}
    for secret in sorted(
        named.union(filter(None, secrets)), key=len, reverse=True
    ):  # the longest first: one may begin with another
        message = message.replace(secret, "***")
    message = printable(_SECRET_SHAPE.sub("***", " ".join(message.split())))
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE] + "…"
    if message and isinstance(error, (QueryTimeout, ServiceFailed, ServiceUnusable)):  # these are sentences
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
