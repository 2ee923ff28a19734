"""`raglift labels review`: what it refuses before a page is served."""

from __future__ import annotations

import os
import re
import signal
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from raglift.apps.review import server
from raglift.apps.review.labels_file import hold
from raglift.datasets.jsonl import write_queries
from raglift.results.evaluation import Evaluation
from raglift.types.labels import Query

pytestmark = pytest.mark.slow


@pytest.fixture
def saved(ranked: Callable[..., Evaluation], tmp_path: Path) -> Path:
    return ranked([1, 2]).save(tmp_path / "run")


def test_what_it_cannot_review_is_told(run: Callable, saved: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    other = write_queries([Query("x", "something else")], tmp_path / "other.jsonl")
    for arguments, told in (
        ((labels, tmp_path / "none"), "expected that of a saved evaluation"),
        ((labels, saved, "--scale", 4), "scale: found 4; expected 3 or 5"),
        ((labels, saved, "-k", 0), "-k: found '0'"),
        ((labels, saved, "--port", 99999), "--port: found 99999"),
        ((other, saved), "none of them of the runs"),
        ((labels, saved, "--judged", other), "found no passage that names a model"),
    ):
        code, out, err = run("labels", "review", *arguments, "--no-browser")
        assert (code, out) == (2, "")
        assert told in err
    assert not labels.exists()


def test_one_file_is_reviewed_once_at_a_time(run: Callable, saved: Path, tmp_path: Path) -> None:
    with hold(tmp_path / "labels.jsonl"):
        code, _, err = run("labels", "review", tmp_path / "labels.jsonl", saved, "--no-browser")
    assert code == 2
    assert "found another review at work on this file" in err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_page_is_opened_and_a_signal_amid_a_request_ends_it_with_what_was_saved(
    run: Callable, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make = server.application

    def application(*arguments: Any, **settings: Any) -> Callable[..., Any]:
        page = make(*arguments, **settings)

        async def answer(scope: Any, receive: Any, send: Any) -> None:
            await page(scope, receive, send)
            os.kill(os.getpid(), signal.Signals[name])

        return answer

    opened: list[str] = []

    def browse(address: str) -> None:
        opened.append(address)
        with suppress(httpx.HTTPError):
            httpx.get(address, trust_env=False)

    monkeypatch.setattr(webbrowser, "open", browse)
    monkeypatch.setattr(server, "application", application)
    handlers = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        code, out, err = run("labels", "review", tmp_path / "labels.jsonl", saved, "-k", 3)
        assert [signal.getsignal(number) for number in handlers] == [signal.SIG_DFL] * 2
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert code == 0
    assert opened == out.splitlines()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=\S+\n", out)
    assert "added 2 questions with the labels of the runs" in err
    assert f"stopped: 0 changes, saved in {tmp_path / 'labels.jsonl'}" in err


@pytest.mark.parametrize("name", ["uvicorn", "starlette", "jinja2", "filelock"])
def test_what_the_page_needs_is_named_before_anything_is_read(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    code, out, err = run("labels", "review", tmp_path / "labels.jsonl", tmp_path / "none")
    assert (code, out) == (2, "")
    assert f"raglift labels review needs the package {name!r}" in err
    assert "raglift[review]" in err
