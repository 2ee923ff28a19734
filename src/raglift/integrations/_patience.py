"""Asking a provider again when it has a bad moment: rate limits, failures that pass, replies that are damaged."""

from __future__ import annotations

import email.utils
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from raglift.errors import ConfigurationError, ModelOutputError
from raglift.execution.policy import describe_error, is_transient
from raglift.progress import notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tenacity import RetryCallState

__all__ = ["BadReply", "Patience", "ask_patiently", "retry_after"]

Reply = TypeVar("Reply")

_BAD_REPLIES = 3
_LONGEST_BACKOFF = 30.0


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


def ask_patiently(ask: Callable[[], Reply], patience: Patience, name: str, *, secrets: Iterable[str] = ()) -> Reply:
    """Return what the provider answers, asking again while it is worth it.

    A wait is told on standard error as progress is, and Ctrl-C ends it at once.

    Args:
        ask: makes the request.
        patience: how long it is made again.
        name: the model, for messages.
        secrets: what must not show in any message.

    Raises:
        ModelOutputError: the provider gave no usable answer.
    """
    import tenacity

    last: list[RetryCallState] = []
    bad_replies: list[BadReply] = []

    def is_enough(state: RetryCallState) -> bool:
        last[:] = [state]
        if isinstance(error := _error(state), BadReply):
            bad_replies.append(error)
        tried = state.attempt_number >= patience.attempts or len(bad_replies) >= _BAD_REPLIES
        return tried or state.idle_for + state.upcoming_sleep > patience.longest_wait

    def tell(state: RetryCallState) -> None:
        attempt = f"attempt {state.attempt_number + 1} of {patience.attempts}"
        notice(f"{name}: {_reason(_error(state))}, waiting {_seconds(state.upcoming_sleep)} s ({attempt} follows)")

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_worth_another_try),
        wait=lambda state: _wait(state, patience),
        stop=is_enough,
        before_sleep=tell,
        reraise=True,
    )
    try:
        return again(ask)
    except Exception as error:  # noqa: BLE001 — the client, its HTTP library and the server raise what they like
        tried = _tried(last[0], patience) if last else ""
        failure = ModelOutputError(
            f"the embedding model {name} failed{tried}: {_described(error, secrets)}. "
            "The vectors of the batches before are kept: run again to go on from there"
        )
    # Not in the handler: a traceback would show the client's own error, which may repeat the API key
    raise failure


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


def _reason(error: BaseException | None) -> str:
    status: Any = getattr(error, "status_code", None)
    if isinstance(status, int):
        return "rate limited" if status == 429 else f"HTTP {status}"
    if isinstance(error, BadReply):
        return "a damaged reply"
    timed_out = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
    return "no answer in time" if timed_out else "the connection failed"


def _described(error: BaseException, secrets: Iterable[str]) -> str:
    """Return an error as one line, with what lies under a client's own words for it."""
    said = describe_error(error, secrets=secrets)
    under = error
    while under.__cause__ is not None:
        under = under.__cause__
    if under is error or isinstance(error, BadReply):
        return said
    return f"{said.rstrip('.')} ({describe_error(under, secrets=secrets)})"


def _tried(state: RetryCallState, patience: Patience) -> str:
    """Return how long it was tried, and what was asked for beyond that."""
    tried = f" after {state.attempt_number} attempts and {_seconds(state.idle_for)} s of waiting"
    if state.attempt_number == 1:
        tried = ""
    if state.idle_for + state.upcoming_sleep <= patience.longest_wait:
        return tried
    asked = f"{_seconds(state.upcoming_sleep)} s more"
    return f"{tried} (it asks to wait {asked}, and at most {_seconds(patience.longest_wait)} s are waited in all)"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
