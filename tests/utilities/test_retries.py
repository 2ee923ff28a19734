"""How long a server asks to wait, and how long it is asked again."""

import datetime as dt
import math

import httpx
import pytest
import tenacity

from raglift.errors import ConfigurationError
from raglift.utilities.retrying import RetryPolicy

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
