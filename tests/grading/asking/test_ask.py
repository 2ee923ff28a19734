"""Many prompts to one model: the real client of langchain-openai against a server on this machine."""

import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, field_validator

from raglift.errors import ModelUnavailable
from raglift.grading.batch import NoAnswer, ask_all, estimate
from raglift.llm.language_models import language_model
from raglift.llm.replies import FilledPrompt, Reply, Usage
from raglift.testing.openai_server import Answer, OpenAIServer
from raglift.utilities.cache import Cache
from raglift.utilities.retrying import RetryPolicy

pytestmark = pytest.mark.slow

KEY = "sk-test-0123456789abcdef"
QUICK = RetryPolicy(3, 5.0, first_wait=0.01)


class Grade(BaseModel):
    grade: Literal[0, 1, 2, 3]
    reason: str


class Strict(BaseModel):
    """The schema of Grade, but for what has been found out since."""

    grade: Literal[0, 1, 2, 3]
    reason: str

    @field_validator("reason")
    @classmethod
    def _not_short(cls, reason):
        if reason == "passage 3":
            raise ValueError("too short")
        return reason


def prompts(count, *, version="relevance@1"):
    return [FilledPrompt(version, "Grade the passage.", f"passage {number}") for number in range(count)]


def judge(messages, schema):
    """Answer with what was asked, so that answers cannot be confused."""
    passage = messages[-1]["content"]
    return {"grade": int(passage.split()[-1]) % 4, "reason": passage}


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch, tmp_path):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server(monkeypatch):
    with OpenAIServer(key=KEY, replies=judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


@pytest.fixture
def model(server):
    return language_model(retry_policy=QUICK)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache.sqlite")


def asked(server):
    return sorted(request.body["messages"][-1]["content"] for request in server.requests)


def reasons(answers):
    return [getattr(value, "reason", None) for value in answers.values]


# Asking


def test_answers_come_in_the_order_of_the_prompts(server, model, cache):
    answers = ask_all(model, prompts(40), Grade, cache=cache)
    assert reasons(answers) == [f"passage {number}" for number in range(40)]
    assert answers.asked == 40
    assert answers.usage == Usage(40 * 5, 40 * 5)


def test_equal_prompts_are_asked_once(server, model, cache):
    answers = ask_all(model, [*prompts(5), *prompts(5)[::-1]], Grade, cache=cache)
    assert asked(server) == [f"passage {number}" for number in range(5)]
    assert reasons(answers) == [f"passage {number}" for number in (0, 1, 2, 3, 4, 4, 3, 2, 1, 0)]


def test_at_most_so_many_requests_are_under_way_and_no_fewer(model, cache, server):
    now, most, counting = 0, 0, threading.Lock()

    def slow(messages, schema):
        nonlocal now, most
        with counting:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with counting:
            now -= 1
        return judge(messages, schema)

    server.replies = slow
    ask_all(model, prompts(12), Grade, concurrency=3, cache=cache)
    assert most == 3


# The cache


def test_what_was_answered_is_not_asked_again(server, model, cache, tmp_path):
    first = ask_all(model, prompts(6), Grade, cache=cache)
    cache.close()
    server.requests.clear()
    again = ask_all(language_model(retry_policy=QUICK), prompts(8), Grade, cache=Cache(tmp_path / "cache.sqlite"))
    assert asked(server) == ["passage 6", "passage 7"]
    assert again.values[:6] == first.values
    assert (again.asked, again.usage) == (2, Usage(10, 10))


def test_an_answer_keeps_its_day(server, model, cache, monkeypatch):
    for day, prompted in (("2026-11-21", 2), ("2026-11-23", 4)):
        monkeypatch.setattr("raglift.grading.batch.today", lambda day=day: day)
        answers = ask_all(model, prompts(prompted), Grade, cache=cache)
    assert answers.days == ("2026-11-21", "2026-11-21", "2026-11-23", "2026-11-23")
    assert answers.last_day == "2026-11-23"
    assert ask_all(model, prompts(2), Grade, cache=cache).last_day == "2026-11-21"
    server.answer_next(Answer(refusal="no"))
    refused = ask_all(model, prompts(5)[4:], Grade, cache=cache)
    assert (refused.days, refused.last_day) == (("",), "2026-11-23")


def test_another_question_is_asked_anew(server, model, cache):
    class Other(Grade):
        sure: bool = True

    ask_all(model, prompts(1), Grade, cache=cache)
    others = [
        (model, prompts(1, version="relevance@2"), Grade),
        (language_model(retry_policy=QUICK, temperature=1.0), prompts(1), Grade),
        (language_model("openai:gpt-4o", retry_policy=QUICK), prompts(1), Grade),
        (model, [FilledPrompt("relevance@1", "Grade it.", "passage 0")], Grade),
        (model, prompts(1), Other),
    ]
    assert [ask_all(*other, cache=cache).asked for other in others] == [1] * 5
    assert [ask_all(*other, cache=cache).asked for other in others] == [0] * 5


def test_a_kept_answer_that_is_no_longer_of_the_form_is_asked_again(server, model, cache):
    ask_all(model, prompts(5), Grade, cache=cache)
    Strict.__name__ = Strict.__qualname__ = "Grade"
    Strict.__doc__ = None
    Strict.model_rebuild(force=True)
    assert Strict.model_json_schema() == Grade.model_json_schema()
    server.requests.clear()
    server.replies = lambda messages, _: {"grade": 1, "reason": "at length"}
    answers = ask_all(model, prompts(5), Strict, cache=cache)
    assert asked(server) == ["passage 3"]
    assert answers.values[3].reason == "at length"
    assert ask_all(model, prompts(5), Strict, cache=cache).asked == 0


def test_the_key_is_in_no_cache_and_no_log(server, model, cache, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    told = {"error": {"message": f"bad key {KEY}", "code": "invalid_request"}}
    server.answer_next(Answer(status=400, body=told), Answer(status=500, body=told))
    answers = ask_all(model, prompts(5), Grade, cache=cache)
    cache.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"passage " in kept  # that something is looked at
    assert KEY.encode() not in kept
    assert KEY not in caplog.text + repr(answers)


# Failures


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([Answer(refusal="I will not.")], "refused to answer: 'I will not.'"),
        ([Answer(text="{")] * 3, "not what was asked for"),
        ([Answer(status=400)], "scripted status 400"),
        ([Answer(status=500)] * 3, "failed after 3 attempts"),
    ],
    ids=["refused", "malformed", "400", "500"],
)
def test_a_prompt_that_fails_is_no_answer_and_is_asked_again_next_time(server, model, cache, answers, reason):
    server.answer_next(*answers)
    first = ask_all(model, prompts(4), Grade, concurrency=1, cache=cache)
    assert isinstance(first.values[0], NoAnswer)
    assert reason in first.values[0].reason
    assert reasons(first)[1:] == ["passage 1", "passage 2", "passage 3"]
    server.requests.clear()
    again = ask_all(model, prompts(4), Grade, cache=cache)
    assert asked(server) == ["passage 0"]
    assert reasons(again)[0] == "passage 0"


def test_what_every_prompt_would_hit_stops_at_once_and_keeps_what_was_answered(server, model, cache):
    server.answer_next(*[Answer(value={"grade": 1, "reason": "yes"})] * 3, Answer(status=401))
    with pytest.raises(ModelUnavailable, match=r"Is the API key right.*3 prompts were answered before.*are kept"):
        ask_all(model, prompts(500), Grade, concurrency=1, cache=cache)
    assert len(server.requests) <= 6  # what was under way when it was noticed
    assert estimate(model, prompts(500), Grade, cache=cache).cached >= 3


def test_nothing_but_failures_stop_it_too(server, model, cache):
    server.answer_next(*[Answer(status=400)] * 500)
    with pytest.raises(ModelUnavailable, match=r"none of the first 10 prompts was answered \(490 more remain\): .*400"):
        ask_all(model, prompts(500), Grade, cache=cache)
    assert len(server.requests) < 30


def test_an_error_of_a_models_own_stops_it(cache):
    class Broken:
        name = identity = "mine:broken"

        def ask(self, prompt, form):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask_all(Broken(), prompts(20), Grade, cache=cache)


# Tokens


def test_an_estimate_sends_nothing_and_knows_what_is_answered(server, model, cache):
    first = estimate(model, [*prompts(10), *prompts(10)], Grade, cache=cache)
    assert (first.prompts, first.cached, server.requests) == (10, 0, [])
    assert first.usage.input > 10 * 7  # words
    ask_all(model, prompts(4), Grade, cache=cache)
    rest = estimate(model, prompts(10), Grade, cache=cache)
    assert (rest.prompts, rest.cached) == (10, 4)
    assert rest.usage.output == first.usage.output * 6 / 10
    assert estimate(model, prompts(4), Grade, cache=cache).usage == Usage()


def test_where_the_provider_does_not_say_the_guess_counts(cache):
    class Silent:
        name = identity = "mine:silent"

        def ask(self, prompt, form):
            return Reply(form(grade=1, reason="a"), Usage())

    guessed = estimate(Silent(), prompts(4), Grade, cache=cache)
    assert ask_all(Silent(), prompts(4), Grade, cache=cache).usage == guessed.usage


# Ctrl-C

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_ask import Grade, prompts
from raglift.llm.language_models import language_model
from raglift.grading.batch import ask_all
ask_all(language_model(), prompts(30), Grade, concurrency=2, progress=True)
"""


@pytest.mark.full
def test_ctrl_c_stops_at_once_and_the_next_call_asks_only_what_is_missing(server, model, tmp_path):
    count = itertools.count()
    server.replies = lambda messages, schema: Answer(
        value=judge(messages, schema), seconds=0 if next(count) < 6 else 60
    )
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)],
        env={**os.environ, "RAGLIFT_CACHE": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while len(server.requests) < 8:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in said
    assert KEY not in said
    server.requests.clear()
    server.replies = judge
    answers = ask_all(model, prompts(30), Grade, cache=Cache(tmp_path / "cache.sqlite"))
    assert answers.asked == len(server.requests) == 24
    assert reasons(answers) == [f"passage {number}" for number in range(30)]
