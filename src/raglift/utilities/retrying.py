"""Retry policy: which failures are temporary, how long to wait, and when to stop.

Everything in raglift that asks again does so by a `RetryPolicy`: the queries of a user's system, language and embedding
models (`ask_with_retries`), downloads. The waiting itself is tenacity's.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from raglift.errors import ConfigurationError, ModelOutputError, ModelUnavailable
from raglift.utilities.display import causes, describe_error, error_text
from raglift.utilities.progress import notice

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tenacity import RetryCallState


_Reply = TypeVar("_Reply")

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
        advice = _headers(seen).get("x-should-retry")
        if advice in ("true", "false"):
            return advice == "true"
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

        asked = _retry_after(_headers(_error(state)), time.time())
        if asked is not None and (asked > 0 or self.zero_means_now):
            return min(max(asked, 0.0), self.longest_retry_after)
        exponential = tenacity.wait_exponential(multiplier=self.first_wait, max=self.longest_backoff)
        return (exponential + tenacity.wait_random(0, self.first_wait))(state)


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date."""
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


# Requests to language and embedding models.


_MOST_BAD_REPLIES = 3
_FAILS_EVERY_REQUEST = frozenset({401, 402, 403, 404, 429})
_HINTS = {
    401: "Is the API key right (in the environment or in .env)?",
    403: "May this API key use the model?",
    404: "Is the model's name right, and the server's address?",
}
_stopping: ContextVar[threading.Event | None] = ContextVar("raglift retries stop", default=None)


def ask_with_retries(
    ask: Callable[[], _Reply],
    policy: RetryPolicy,
    name: str,
    *,
    kind: Literal["embedding model", "language model"],
    secrets: Iterable[str] = (),
    advice: str = "",
) -> _Reply:
    """Return what the provider answers, asking again while it is worth it.

    A wait is shown on standard error as progress is; Ctrl-C ends it at once, and so does `stopped_by`.

    Raises:
        ModelOutputError: the provider gave no usable answer.
        ModelUnavailable: nor would it give one to any other request.
    """
    import tenacity

    bad_replies = 0
    last: RetryCallState | None = None

    def stop(state: RetryCallState) -> bool:
        nonlocal bad_replies, last
        bad_replies += isinstance(_error(state), BadReply)
        last = state
        return policy.is_exhausted(state) or bad_replies >= _MOST_BAD_REPLIES

    def show_wait(state: RetryCallState) -> None:
        attempt = f"attempt {state.attempt_number + 1} of {policy.attempts}"
        notice(f"{name}: {_reason(_error(state))}, waiting {_seconds(state.upcoming_sleep)} s ({attempt} follows)")

    again = tenacity.Retrying(**{**policy.for_tenacity(), "stop": stop}, before_sleep=show_wait, sleep=_sleep)
    try:
        return again(ask)
    except ModelOutputError:
        raise
    except Exception as error:  # noqa: BLE001 — the client, its HTTP library and the server raise what they like
        message = f"the {kind} {name} failed{_attempts(last, policy)}: {_describe_failure(error, secrets)}"
        message = ". ".join(filter(None, (message, _hint(error), advice)))
        failure = ModelUnavailable(message) if _fails_every_request(error) else ModelOutputError(message)
    # Not in the handler: a traceback would show the client's own error, which may repeat the API key
    raise failure


@contextmanager
def stopped_by(event: threading.Event) -> Iterator[None]:
    """Ask nothing again in this thread once an event is set: a wait ends at once, as a failure."""
    token = _stopping.set(event)
    try:
        yield
    finally:
        _stopping.reset(token)


def _sleep(seconds: float) -> None:
    event = _stopping.get()
    if event is None:
        time.sleep(seconds)
    elif event.wait(seconds):
        raise ModelOutputError("stopped while waiting to ask again")


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _attempts(last: RetryCallState | None, policy: RetryPolicy) -> str:
    """Return how often was asked and how long was waited; empty if the first failure was not worth another attempt."""
    if last is None:
        return ""
    text = ""
    if last.attempt_number > 1:
        text = f" after {last.attempt_number} attempts and {_seconds(last.idle_for)} s of waiting"
    if policy.would_wait_too_long(last):
        asked, most = _seconds(last.upcoming_sleep), _seconds(policy.longest_wait)
        text += f" (it asks to wait {asked} s more, and at most {most} s are waited in all)"
    return text


def _hint(error: BaseException) -> str:
    """Return what may be wrong, if the error shows it."""
    status: Any = getattr(error, "status_code", None)
    if status == 400 and "temperature" in str(error):
        return "Leave the temperature to the provider: --temperature default, or temperature=None"
    return _HINTS.get(status, "") if isinstance(status, int) else ""


def _fails_every_request(error: BaseException) -> bool:
    """Whether the failure is of the key, the quota or the connection, and of no single request."""
    status: Any = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in _FAILS_EVERY_REQUEST
    return _reason(error) == "the connection failed" and is_transient(error) and not isinstance(error, BadReply)


def _reason(error: BaseException | None) -> str:
    status: Any = getattr(error, "status_code", None)
    if isinstance(status, int):
        return "rate limited" if status == 429 else f"HTTP {status}"
    if isinstance(error, BadReply):
        return "a damaged reply"
    timed_out = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
    return "no answer in time" if timed_out else "the connection failed"


def _describe_failure(error: BaseException, secrets: Iterable[str]) -> str:
    """Return an error as one line, with what lies under a client's own words for it."""
    message = describe_error(error, secrets=secrets).removeprefix("BadReply: ")
    *_, under = causes(error)
    if isinstance(error, BadReply) or error_text(under) == error_text(error):
        return message
    return f"{message.rstrip('.')} ({describe_error(under, secrets=secrets)})"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
