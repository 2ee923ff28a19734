"""Secrets stay hidden in whichever form a service repeats them, and wherever its answer is cut."""

from __future__ import annotations

import html
import json
import logging
from urllib.parse import quote, quote_plus

import pytest

from raglift.base.display import Secrets
from raglift.components.services.http_retriever import HttpRetriever
from raglift.errors import ServiceFailed
from raglift.testing.search_server import SearchAnswer, SearchServer

SECRET = "p/ss+wo=rd\"9 <x&y'z\\é"  # noqa: S105 — a password that nobody has
TOKEN = "tok-" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "form",
    [
        *(str, quote, quote_plus, html.escape, lambda text: quote(text, safe=""), lambda text: json.dumps(text)[1:-1]),
        *(lambda text: quote(text).lower(), lambda text: json.dumps(text)[1:-1].replace("/", "\\/")),
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("<", "\\u003c").replace("&", "\\u0026"),
    ],
)
def test_a_secret_is_hidden_however_it_is_escaped(form) -> None:
    said = f"you sent ({form(SECRET)})"
    assert Secrets([SECRET]).beginning(said.encode()) in ("you sent (***)", f"you sent (***{form('é')})")


@pytest.mark.parametrize("before", [*range(95, 125), *range(440, 480), *range(19_900, 20_000, 7)])
@pytest.mark.parametrize("filling", ["x", " "])
def test_a_secret_that_is_cut_off_shows_no_part_of_itself(before: int, filling: str) -> None:
    body = (filling * before + TOKEN + " " + "z" * 30_000).encode()
    assert "tok-" not in Secrets([TOKEN]).beginning(body)


def test_what_is_no_secret_is_shown() -> None:
    assert Secrets([]).beginning(b"no\n index") == "no index"
    assert Secrets(["abc"]).hidden("abc") == "abc"  # too short to be hidden
    assert Secrets([TOKEN]).beginning(b"a" * 200) == "a" * 120 + "…"


def test_the_log_has_no_secret(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("SEARCH_KEY_FOR_TEST", TOKEN)
    mapping = {"headers": {"X-Key": "${SEARCH_KEY_FOR_TEST}"}, "params": {"key": "${SEARCH_KEY_FOR_TEST}"}}
    with caplog.at_level(logging.DEBUG), SearchServer(lambda _: SearchAnswer(status=500)) as server:
        with pytest.raises(ServiceFailed):
            HttpRetriever(server.address, mapping).retrieve_one("lamp", 1)
        assert TOKEN in server.requests[0].target
    assert caplog.text  # it was listened to
    assert TOKEN not in caplog.text
