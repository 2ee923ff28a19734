"""Retries of provider calls: rate limits, temporary failures, malformed replies."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from raglift.base.display import causes, describe_error, text_of
from raglift.base.progress import notice
from raglift.base.retrying import BadReply, RetryPolicy, is_transient
from raglift.errors import ModelOutputError, ModelUnavailable

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator

    from tenacity import RetryCallState


Reply = TypeVar("Reply")

_BAD_REPLIES = 3
_OF_THE_KEY = frozenset({401, 402, 403, 404, 429})
_HINTS = {
    401: "Is the API key right (in the environment or in .env)?",
    403: "May this API key use the model?",
    404: "Is the model's name right, and the server's address?",
}
_stopping: ContextVar[threading.Event | None] = ContextVar("raglift retries stop", default=None)


def ask_with_retries(
    ask: Callable[[], Reply],
    policy: RetryPolicy,
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
        policy: how often it is made again, and how long is waited before.
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
        attempt = f"attempt {state.attempt_number + 1} of {policy.attempts}"
        notice(f"{name}: {_reason(_error(state))}, waiting {_seconds(state.upcoming_sleep)} s ({attempt} follows)")

    bounds = _Bounds(policy)
    settings = {**policy.for_tenacity(), "stop": bounds.are_reached}
    again = tenacity.Retrying(**settings, before_sleep=tell, sleep=_sleep)
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

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._bad_replies = 0
        self.tried = ""
        """How often it was asked and how long was waited; "" where the first failure was the last."""

    def are_reached(self, state: RetryCallState) -> bool:
        """Return whether to give up after a failure that would be worth another try."""
        self._bad_replies += isinstance(_error(state), BadReply)
        self.tried = ""
        if state.attempt_number > 1:
            self.tried = f" after {state.attempt_number} attempts and {_seconds(state.idle_for)} s of waiting"
        if self._policy.would_wait_too_long(state):
            asked, most = _seconds(state.upcoming_sleep), _seconds(self._policy.longest_wait)
            self.tried += f" (it asks to wait {asked} s more, and at most {most} s are waited in all)"
        return self._policy.is_exhausted(state) or self._bad_replies >= _BAD_REPLIES


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


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
    *_, under = causes(error)
    if isinstance(error, BadReply) or text_of(under) == text_of(error):
        return said
    return f"{said.rstrip('.')} ({describe_error(under, secrets=secrets)})"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
