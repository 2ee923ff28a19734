"""Asking a provider again when it has a bad moment: rate limits, failures that pass, replies that are damaged."""

from __future__ import annotations

import email.utils
import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from raglift.errors import ConfigurationError, ModelOutputError, ModelUnavailable
from raglift.execution.policy import describe_error, is_transient
from raglift.progress import notice

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tenacity import RetryCallState

__all__ = ["BadReply", "Patience", "ask_patiently", "describe_failure", "retry_after", "stopped_by"]

Reply = TypeVar("Reply")

_BAD_REPLIES = 3
_OF_THE_KEY = frozenset({401, 402, 403, 404, 429})
_HINTS = {
    401: "Is the API key right (in the environment or in .env)?",
    403: "May this API key use the model?",
    404: "Is the model's name right, and the server's address?",
}
_LONGEST_BACKOFF = 30.0
_stopping: ContextVar[threading.Event | None] = ContextVar("raglift patience ends", default=None)


class BadReply(Exception):
    """A reply came that is not what was asked for."""


@dataclass(frozen=True)
class Patience:
    """How long a provider is asked again.

    A request is made again after HTTP 408, 409, 425, 429 and 5xx, a timeout or a lost connection, and after at most two
    replies that cannot be used; never after 400, 401, 403 or 404, nor when the quota is used up.

    Raises:
        ConfigurationError: a number is out of range.
    """

    attempts: int = 8
    """How often one request is made at most."""
    longest_wait: float = 600.0
    """How many seconds are waited for one request at most, over all its attempts."""
    first_wait: float = 0.5
    """The seconds before the second attempt, doubled with each further one, where the server does not say how long."""

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise ConfigurationError(f"attempts: found {self.attempts!r}; expected an integer, 1 or more")
        for name in ("longest_wait", "first_wait"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and 0 <= value < math.inf):
                raise ConfigurationError(f"{name}: found {value!r}; expected seconds, 0 or more")


def ask_patiently(
    ask: Callable[[], Reply],
    patience: Patience,
    name: str,
    *,
    kind: Literal["embedding model", "language model"],
    secrets: Iterable[str] = (),
    advice: str = "",
) -> Reply:
    """Return what the provider answers, asking again while it is worth it.

    A wait is told on standard error as progress is; Ctrl-C ends it at once, and so does `stopped_by`.

    Args:
        ask: makes the request. A ModelOutputError of its own goes to the caller as it is.
        patience: how long it is made again.
        name: the model, for messages.
        kind: what it is, for messages.
        secrets: what must not show in any message.
        advice: what a message ends with.

    Raises:
        ModelOutputError: the provider gave no usable answer.
        ModelUnavailable: nor would it give one to any other request.
    """
    import tenacity

    def tell(state: RetryCallState) -> None:
        attempt = f"attempt {state.attempt_number + 1} of {patience.attempts}"
        notice(f"{name}: {_reason(_error(state))}, waiting {_seconds(state.upcoming_sleep)} s ({attempt} follows)")

    bounds = _Bounds(patience)
    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_worth_another_try),
        wait=lambda state: _wait(state, patience),
        stop=bounds.are_reached,
        before_sleep=tell,
        sleep=_sleep,
        reraise=True,
    )
    try:
        return again(ask)
    except ModelOutputError:
        raise
    except Exception as error:  # noqa: BLE001 — the client, its HTTP library and the server raise what they like
        said = f"the {kind} {name} failed{bounds.tried}: {describe_failure(error, secrets)}"
        said = ". ".join(filter(None, (said, _hint(error), advice)))
        failure = ModelUnavailable(said) if _would_fail_any_request(error) else ModelOutputError(said)
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


class _Bounds:
    """Sees when one request has been made often enough, and says how often that was."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._bad_replies = 0
        self.tried = ""
        """How often it was asked and how long was waited; "" where the first failure was the last."""

    def are_reached(self, state: RetryCallState) -> bool:
        """Return whether to give up after a failure that would be worth another try."""
        self._bad_replies += isinstance(_error(state), BadReply)
        too_long = state.idle_for + state.upcoming_sleep > self._patience.longest_wait
        self.tried = ""
        if state.attempt_number > 1:
            self.tried = f" after {state.attempt_number} attempts and {_seconds(state.idle_for)} s of waiting"
        if too_long:
            asked, most = _seconds(state.upcoming_sleep), _seconds(self._patience.longest_wait)
            self.tried += f" (it asks to wait {asked} s more, and at most {most} s are waited in all)"
        return too_long or state.attempt_number >= self._patience.attempts or self._bad_replies >= _BAD_REPLIES


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return how many seconds a server asks to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date.

    Args:
        headers: the reply's, their names in any case.
        now: seconds since 1970.

    Returns:
        Seconds above 0; None where the headers say nothing that can be waited for.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    seconds = _number(lower.get("retry-after-ms"), 1e-3)
    if seconds is None:
        seconds = _number(lower.get("retry-after"), 1.0)
    if seconds is None:
        try:
            seconds = email.utils.parsedate_to_datetime(lower["retry-after"]).timestamp() - now
        except (KeyError, ValueError, TypeError, OverflowError):
            return None
    return seconds if 0 < seconds < math.inf else None


def _number(value: str | None, unit: float) -> float | None:
    try:
        return float(value) * unit if value is not None else None
    except ValueError:
        return None


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _headers(error: BaseException | None) -> dict[str, str]:
    headers: Any = getattr(getattr(error, "response", error), "headers", None)
    return {str(name).lower(): str(value) for name, value in headers.items()} if hasattr(headers, "items") else {}


def _is_worth_another_try(error: BaseException) -> bool:
    if getattr(error, "code", None) == "insufficient_quota":  # OpenAI says 429, but no wait helps
        return False
    says = _headers(error).get("x-should-retry")
    if says in ("true", "false"):
        return says == "true"
    return isinstance(error, BadReply) or is_transient(error)


def _wait(state: RetryCallState, patience: Patience) -> float:
    """Wait as long as the server asks, else exponentially longer, less up to a quarter by chance."""
    import tenacity

    asked = retry_after(_headers(_error(state)), time.time())
    if asked is not None:
        return asked
    backoff = tenacity.wait_exponential(multiplier=patience.first_wait, max=_LONGEST_BACKOFF)(state)
    return backoff - tenacity.wait_random(0, backoff / 4)(state)


def _hint(error: BaseException) -> str:
    """Return what may be wrong, where an error tells."""
    status: Any = getattr(error, "status_code", None)
    if status == 400 and "temperature" in str(error):
        return "Leave the temperature to the provider: --temperature default, or temperature=None"
    return _HINTS.get(status, "") if isinstance(status, int) else ""


def _would_fail_any_request(error: BaseException) -> bool:
    """Return whether the failure is of the key, the quota or the connection, and of no single request."""
    status: Any = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in _OF_THE_KEY
    return _reason(error) == "the connection failed" and is_transient(error) and not isinstance(error, BadReply)


def _reason(error: BaseException | None) -> str:
    status: Any = getattr(error, "status_code", None)
    if isinstance(status, int):
        return "rate limited" if status == 429 else f"HTTP {status}"
    if isinstance(error, BadReply):
        return "a damaged reply"
    timed_out = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
    return "no answer in time" if timed_out else "the connection failed"


def describe_failure(error: BaseException, secrets: Iterable[str]) -> str:
    """Return an error as one line, with what lies under a client's own words for it."""
    said = describe_error(error, secrets=secrets).removeprefix("BadReply: ")
    under = error
    while under.__cause__ is not None:
        under = under.__cause__
    if isinstance(error, BadReply) or str(under) == str(error):
        return said
    return f"{said.rstrip('.')} ({describe_error(under, secrets=secrets)})"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
