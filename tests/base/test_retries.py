"""How long a server asks to wait, and how long it is asked again."""

import datetime as dt
import email.utils
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.base.retrying import RetryPolicy, retry_after
from raglift.errors import ConfigurationError

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC).timestamp()


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
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "tomorrow"}, None),
        ({}, None),
    ],
)
def test_every_form_of_retry_after_is_read(headers, seconds):
    assert retry_after(headers, NOW) == (None if seconds is None else pytest.approx(seconds))


@given(st.text() | st.integers(0, 10**6).map(str) | st.floats().map(str))
def test_no_header_breaks_it(value):
    seconds = retry_after({"Retry-After": value}, NOW)
    assert seconds is None or 0 < seconds < math.inf


@given(st.integers(1, 10**6))
def test_a_date_is_as_far_away_as_it_says(seconds):
    date = email.utils.formatdate(NOW + seconds, usegmt=True)
    assert retry_after({"Retry-After": date}, NOW) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "settings",
    [{"attempts": 0}, {"attempts": True}, {"attempts": 1.5}, {"longest_wait": -1}, {"first_wait": math.nan}],
    ids=str,
)
def test_numbers_out_of_range_are_refused(settings):
    with pytest.raises(ConfigurationError, match=f"{next(iter(settings))}: found"):
        RetryPolicy(**settings)
