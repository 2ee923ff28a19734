"""Retry policy: which failures are temporary, how long to wait, and when to stop.

Everything in raglift that asks again does so by a `RetryPolicy`: the queries of a user's system, language and embedding
models, downloads. The waiting itself is tenacity's.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from raglift.base.display import causes
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tenacity import RetryCallState


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


class BadReply(Exception):
    """A reply came that is not what was asked for; another one may be."""


def is_transient(error: BaseException) -> bool:
    """Whether an error may pass by itself: a lost connection, a timeout, a damaged reply, HTTP 429 or 5xx.

    What a server says in `x-should-retry` counts more than its status, and no quota that is used up comes back soon.
    """
    for seen in causes(error):
        if isinstance(seen, ConfigurationError) or _attribute(seen, "code") == "insufficient_quota":
            return False
        if isinstance(seen, BadReply):
            return True
        told = _headers(seen).get("x-should-retry")
        if told in ("true", "false"):
            return told == "true"
        status = _status(seen)
        if status is not None:
            return status in _TRANSIENT_STATUS
        if isinstance(seen, (OSError, TimeoutError)) and not isinstance(seen, _NOT_TRANSIENT):
            return True
        if _NETWORK_ERRORS & {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(seen).__mro__}:
            return True
    return False


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request that failed is made again, and how long is waited before.

    By default a request is made again after HTTP 408, 409, 425, 429 and 5xx, a timeout, a lost connection or a damaged
    reply; never after 400, 401, 403 or 404, nor when the quota is used up.

    Raises:
        ConfigurationError: a number is out of range.
    """

    attempts: int = 8
    """How often one request is made at most."""
    longest_wait: float = 600.0
    """How many seconds are waited for one request at most, over all its attempts; a longer wait is not begun."""
    first_wait: float = 0.5
    """The seconds before the second attempt, doubled with each further one, where the server does not say how long.

    Up to as many are added by chance, so that not all clients come back at the same moment."""
    longest_backoff: float = 30.0
    """The most seconds before one attempt, where the server does not say how long."""
    longest_retry_after: float = math.inf
    """The most seconds before one attempt, however long the server asks to wait."""
    zero_means_now: bool = False
    """Whether a Retry-After of 0 is taken at its word; else it counts as none: busy model providers send it."""
    retry_on: Callable[[BaseException], bool] = is_transient
    """Which failures are worth another attempt."""

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise ConfigurationError(f"attempts: found {self.attempts!r}; expected an integer, 1 or more")
        for name in ("longest_wait", "first_wait", "longest_backoff", "longest_retry_after"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and value >= 0) or (name == "first_wait" and math.isinf(value)):
                raise ConfigurationError(f"{name}: found {value!r}; expected seconds, 0 or more")

    def for_tenacity(self) -> dict[str, Any]:
        """Return the arguments for tenacity's `Retrying` and `AsyncRetrying`."""
        import tenacity

        return {
            "retry": tenacity.retry_if_exception(self.retry_on),
            "stop": self.is_exhausted,
            "wait": self.seconds_before_next,
            "reraise": True,
        }

    def is_exhausted(self, state: RetryCallState) -> bool:
        """Return whether a request that failed was made often enough, or would be waited for too long."""
        return state.attempt_number >= self.attempts or self.would_wait_too_long(state)

    def would_wait_too_long(self, state: RetryCallState) -> bool:
        """Return whether the next wait would exceed what is waited for one request in all."""
        return state.idle_for + state.upcoming_sleep > self.longest_wait

    def seconds_before_next(self, state: RetryCallState) -> float:
        """Return as many seconds as the server asks to wait (Retry-After), else exponentially more with jitter."""
        import tenacity

        asked = _asked_wait(_headers(state.outcome.exception() if state.outcome else None), time.time())
        if asked is not None and (asked > 0 or self.zero_means_now):
            return min(max(asked, 0.0), self.longest_retry_after)
        exponential = tenacity.wait_exponential(multiplier=self.first_wait, max=self.longest_backoff)
        return (exponential + tenacity.wait_random(0, self.first_wait))(state)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return how many seconds a server asks to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date.

    Args:
        headers: the reply's, their names in any case.
        now: seconds since 1970.

    Returns:
        Seconds above 0; None if the headers say nothing that can be waited for.
    """
    seconds = _asked_wait({name.lower(): value for name, value in headers.items()}, now)
    return seconds if seconds is not None and seconds > 0 else None


def _asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that headers ask for, 0 or less where they say so; None for a date that is over."""
    seconds = _number(headers.get("retry-after-ms"), 1e-3)
    if seconds is None:
        seconds = _number(headers.get("retry-after"), 1.0)
    if seconds is not None:
        return seconds
    try:
        when = parsedate_to_datetime(headers["retry-after"])
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds > 0 else None  # a date that is over says nothing, or the clocks differ


def _number(value: str | None, unit: float) -> float | None:
    try:
        number = float(value) * unit if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _headers(error: BaseException | None) -> dict[str, str]:
    """Return the headers of the answer that an error is about, by their names in lower case."""
    response = _attribute(error, "response")  # of requests, one that says 429 is false
    headers = _attribute(error if response is None else response, "headers")
    try:
        return {str(name).lower(): str(value) for name, value in headers.items()}
    except (AttributeError, TypeError, ValueError):  # none, or not what a client library has
        return {}


def _status(error: BaseException) -> int | None:
    for holder in (error, _attribute(error, "response")):
        for name in _STATUS_NAMES:
            status = _attribute(holder, name)
            if isinstance(status, int) and status in _HTTP_STATUS:
                return status
    return None


def _attribute(holder: object, name: str) -> Any:
    """Return an attribute of what a user's system raised; None where there is none, or reading it raises."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 — of a property
        return None
