"""How long a server asks to wait, and how long it is asked again."""

import datetime as dt
import math
import threading
from typing import NoReturn

import httpx
import pytest
import tenacity

from raglift.errors import ConfigurationError, ModelOutputError
from raglift.utilities.retrying import BadReply, RetryPolicy, ask_with_retries, is_transient, stopped_by

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC).timestamp()


def wait_after(headers: dict[str, str]) -> float:
    """Return how long is waited after an answer with these headers; 99 seconds if they do not say."""
    error = httpx.HTTPStatusError(
        "busy", request=httpx.Request("GET", "http://a"), response=httpx.Response(429, headers=headers)
    )
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.set_exception((type(error), error, None))
    return RetryPolicy(first_wait=0).seconds_before_next(state)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "60"}, 60),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:09 GMT"}, 9),
        ({"Retry-After": "Sunday, 01-Mar-26 12:00:09 GMT"}, 9),
        ({"Retry-After": "Sun, 01 Mar 2026 11:59:00 GMT"}, None),  # gone by
        ({"Retry-After": "0"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "tomorrow"}, None),
        ({}, None),
    ],
)
def test_every_form_of_retry_after_is_read(
    headers: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raglift.utilities.retrying.time.time", lambda: NOW)
    assert wait_after(headers) == pytest.approx(seconds or 0.0)


@pytest.mark.parametrize(
    "settings",
    [{"attempts": 0}, {"attempts": True}, {"attempts": 1.5}, {"longest_wait": -1}, {"first_wait": math.nan}],
    ids=str,
)
def test_numbers_out_of_range_are_refused(settings):
    with pytest.raises(ConfigurationError, match=f"{next(iter(settings))}: found"):
        RetryPolicy(**settings)


class HttpError(Exception):
    """What a client raises of an answer."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status
        self.response = httpx.Response(status, headers={name.replace("_", "-"): text for name, text in headers.items()})


class Unreadable(Exception):
    """An error of a user's system, of which nothing can be read."""

    @property
    def code(self) -> NoReturn:
        raise LookupError

    status = status_code = response = headers = code


def caused_by(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "may_pass"),
    [
        (HttpError(503), True),
        (HttpError(503, x_should_retry="false"), False),
        (HttpError(400), False),
        (HttpError(400, x_should_retry="true"), True),
        (HttpError(400, x_should_retry="perhaps"), False),
        (BadReply("half"), True),
        (ConnectionResetError(), True),
        (PermissionError(), False),
        (httpx.ReadTimeout("late"), True),
        (Unreadable(), False),
        (caused_by(Unreadable(), TimeoutError()), True),
    ],
    ids=repr,
)
def test_what_may_pass_by_itself_is_tried_again(error: Exception, may_pass: bool) -> None:
    assert is_transient(error) is may_pass


def failure_of(error: Exception, policy: RetryPolicy) -> str:
    def ask() -> NoReturn:
        raise error

    with pytest.raises(ModelOutputError) as caught:
        ask_with_retries(ask, policy, "m", kind="language model", secrets=["hunter2-9f8e"])
    return str(caught.value)


def test_a_failure_says_how_often_was_asked_and_what_lies_under_it() -> None:
    lost = caused_by(httpx.ConnectError("all attempts failed."), OSError("no route for hunter2-9f8e"))
    told = failure_of(lost, RetryPolicy(attempts=2, first_wait=0))
    assert told.startswith(
        "the language model m failed after 2 attempts and 0 s of waiting: ConnectError: all attempts"
    )
    assert told.endswith("all attempts failed (OSError: no route for ***)")


def test_a_server_that_asks_for_a_long_wait_is_not_waited_for() -> None:
    told = failure_of(HttpError(429, retry_after="3600"), RetryPolicy(longest_wait=60))
    assert told.startswith(
        "the language model m failed (it asks to wait 3,600 s more, and at most 60 s are waited in all): "
    )


def test_a_wait_ends_when_it_is_stopped() -> None:
    stop = threading.Event()
    stop.set()
    with stopped_by(stop):
        assert failure_of(HttpError(503), RetryPolicy(first_wait=60)) == "stopped while waiting to ask again"
