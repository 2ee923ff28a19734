"""Language models through the real clients of LangChain, against a server on this machine."""

import json
import logging
import sys
import traceback
from types import SimpleNamespace
from typing import Any, Literal

import httpx
import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import BaseModel, Field

from raglift.errors import ConfigurationError, MissingDependency, MissingKey, ModelOutputError, ModelUnavailable
from raglift.llm.language_models import language_model
from raglift.llm.replies import FilledPrompt, Usage, secrets_of
from raglift.testing.openai_server import Answer, OpenAIServer
from raglift.utilities.retrying import RetryPolicy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_openai_settings")]

KEY = "sk-test-0123456789abcdef"
PROMPT = FilledPrompt("relevance@3f9a1c07", "Grade {it}.", 'The {lamp} says {"grade": 1} and {{more}}.')
QUICK = RetryPolicy(4, 5.0, first_wait=0.01)
CLIENTS = ("by name", "langchain with tools")


class Grade(BaseModel):
    """How well a passage answers a question."""

    grade: Literal[0, 1, 2, 3] = Field(description="0 to 3")
    reason: str = ""


RIGHT = Answer(value={"grade": 3, "reason": "it says so"})


@pytest.fixture
def server(monkeypatch):
    with OpenAIServer(key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


@pytest.fixture
def made(server):
    """Make a model by one of the clients, none of which asks again by itself."""

    def make(client, timeout=5.0, retry_policy=QUICK):
        if client == "by name":
            return language_model(retry_policy=retry_policy, timeout=timeout)
        # The base of other providers' clients
        chat = BaseChatOpenAI(model="gpt-4o-mini", temperature=0, max_retries=0, timeout=timeout)
        return language_model(chat, retry_policy=retry_policy)

    return make


@pytest.fixture
def model(made):
    return made("by name")


def asked(server):
    return [request.body["messages"] for request in server.requests]


# Right answers


def test_an_answer_comes_in_its_form_with_what_was_billed(server, model):
    server.answer_next(RIGHT)
    reply = model.ask(PROMPT, Grade)
    assert reply.value == Grade(grade=3, reason="it says so")
    assert reply.usage == Usage(9, 6)


def test_the_prompt_goes_as_it_is(server, model):
    model.ask(PROMPT, Grade)
    for messages in asked(server):
        assert [(message["role"], message["content"]) for message in messages] == [
            ("system", PROMPT.system),
            ("user", PROMPT.user),
        ]


def test_openai_is_asked_for_the_form_strictly(server, made):
    made("by name").ask(PROMPT, Grade)
    schema = server.requests[0].body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["grade", "reason"]
    assert schema["schema"]["additionalProperties"] is False
    assert "default" not in json.dumps(schema)


# Bad days


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=429, headers={"Retry-After": "0.05"}),
        Answer(cut_off=True),
        Answer(text='{"grade": 7, "reason": ""}'),
        Answer(text='{"grade": 3, "rea', finish_reason="length"),
        Answer(body=b"<html>Bad gateway</html>"),
    ],
    ids=["429", "cut off", "not allowed", "length", "html"],
)
def test_what_passes_is_asked_again(server, made, client, answer):
    server.answer_next(answer, RIGHT)
    assert made(client).ask(PROMPT, Grade).value == Grade(grade=3, reason="it says so")
    assert asked(server)[0] == asked(server)[1]
    assert len(server.requests) == 2


def test_a_slow_answer_is_given_up_and_asked_again(server, made):
    server.answer_next(Answer(seconds=5), RIGHT)
    assert made("by name", timeout=0.3).ask(PROMPT, Grade).value.grade == 3
    assert len(server.requests) == 2


def test_what_damaged_answers_were_billed_is_counted(server, model):
    server.answer_next(Answer(text='{"grade": '), Answer(text='{"gra', finish_reason="length"), RIGHT)
    assert model.ask(PROMPT, Grade).usage == Usage(27, 8)
    server.answer_next(*[Answer(text="no")] * 3)
    with pytest.raises(
        ModelOutputError, match=r"failed after 3 attempts .*: the answer is not what was asked for"
    ) as caught:
        model.ask(PROMPT, Grade)
    assert caught.value.usage == Usage(27, 3)


def test_a_refusal_is_told_in_the_models_words_and_not_asked_again(server, model):
    server.answer_next(Answer(refusal="I cannot judge \x1b[31mthat."))
    with pytest.raises(
        ModelOutputError, match=r"openai:gpt-4.* refused to answer: 'I cannot judge �.31mthat.'"
    ) as caught:
        model.ask(PROMPT, Grade)
    assert len(server.requests) == 1
    assert caught.value.usage == Usage(9, 4)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_provider_filters_is_a_refusal(server, made, client):
    server.answer_next(Answer(text='{"gra', finish_reason="content_filter"))
    with pytest.raises(ModelOutputError, match=r"refused to answer: .*(filter|gra)"):
        made(client).ask(PROMPT, Grade)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 404])
def test_what_no_other_prompt_would_pass_is_said_at_once(server, model, status):
    server.answer_next(Answer(status=status))
    with pytest.raises(ModelUnavailable, match=r"failed: \w+Error: .*\?$"):
        model.ask(PROMPT, Grade)
    assert len(server.requests) == 1


def test_a_model_that_takes_no_temperature_is_told_how_to_leave_it(server, made):
    server.answer_next(Answer(status=400, body={"error": {"message": "Unsupported value: 'temperature'"}}))
    with pytest.raises(ModelOutputError, match="--temperature default"):
        made("by name").ask(PROMPT, Grade)


def test_ctrl_c_goes_through(server, model, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(httpx.Client, "send", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.ask(PROMPT, Grade)
    assert server.requests == []


# Keys


def test_a_key_that_is_missing_names_its_variable_and_where_to_put_it(tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=\n", encoding="utf-8")  # as it is copied
    with pytest.raises(
        MissingKey, match=r"openai:gpt-4o-mini needs an API key: set OPENAI_API_KEY .*\.env\.example"
    ) as caught:
        language_model()
    assert caught.value.variable == "OPENAI_API_KEY"


def test_the_key_is_read_from_dot_env(monkeypatch, tmp_path):
    with OpenAIServer(key=KEY) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "to be taken back after the test")
        monkeypatch.delenv("OPENAI_API_KEY")
        (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert language_model(retry_policy=QUICK).ask(PROMPT, Grade).value == Grade(grade=0)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_key_is_shown_nowhere(server, made, client, caplog, capsys, monkeypatch):
    monkeypatch.setenv("RAGLIFT_PROGRESS", "1")
    caplog.set_level(logging.DEBUG)
    told = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    server.answer_next(Answer(status=500, body=told), Answer(status=401, body=told))
    model = made(client)
    with pytest.raises(ModelUnavailable) as caught:
        model.ask(PROMPT, Grade)
    shown = "".join(traceback.format_exception(caught.value))
    assert "***" in shown
    everything = shown + repr(model) + model.identity + model.name + caplog.text + "".join(capsys.readouterr())
    assert KEY not in everything
    assert caught.value.__context__ is None


@pytest.mark.parametrize("client", CLIENTS)
def test_a_key_that_a_server_repeats_in_its_answer_is_not_in_the_answer(server, made, client):
    server.answer_next(Answer(value={"grade": 3, "reason": f"sent with {KEY}"}))
    assert made(client).ask(PROMPT, Grade).value == Grade(grade=3, reason="sent with ***")


def test_headers_that_say_who_asks_are_no_secrets():
    headers = {"User-Agent": "python-client/1.0", "X-Title": "shop_support-eval2", "X-Gateway": "g-5d1f88aa"}
    assert secrets_of(SimpleNamespace(default_headers=headers)) == ["g-5d1f88aa"]


# Which model


def test_names_and_identities(server, made):
    address = server.base_url.removeprefix("http://")
    assert [made(client).name for client in CLIENTS] == ["openai:gpt-4o-mini"] * 2
    assert made("by name").identity == f"langchain ChatOpenAI openai:gpt-4o-mini (temperature=0.0 at {address})"


def test_every_setting_that_decides_an_answer_is_in_the_identity(server):
    def identity(**settings):
        return language_model(ChatOpenAI(model="gpt-4o-mini", **settings)).identity

    settings = [{}, {"temperature": 0}, {"temperature": 1}, {"seed": 3}, {"top_p": 0.5}, {"max_tokens": 9}]
    settings += [{"model_kwargs": {"user": "a"}}, {"base_url": "http://user:secret@127.0.0.1:1/v1"}]
    identities = [identity(**given) for given in settings]
    assert len(set(identities)) == len(identities)
    assert "secret" not in "".join(identities)
    assert identity(extra_body={"api_key": KEY, "a": 1}).count("'a': 1") == 1
    assert KEY not in identity(extra_body={"api_key": KEY})
    assert identity() == identity(timeout=3, max_retries=9)


@pytest.mark.parametrize("given", ["gpt-4o-mini", ":gpt", "", 3], ids=repr)
def test_what_is_no_model_is_refused(given):
    with pytest.raises(ConfigurationError, match=r"model: found .*; expected .*provider:model"):
        language_model(given)


def test_a_provider_that_is_not_known_is_told():
    with pytest.raises(ConfigurationError, match=r"'nobody:model' cannot be used: .*nobody"):
        language_model("nobody:model")


def test_a_provider_whose_package_is_not_installed_is_told_with_its_name():
    with pytest.raises(MissingDependency, match=r"anthropic:claude.* pip install langchain-anthropic$"):
        language_model("anthropic:claude-haiku")


def test_a_model_that_cannot_answer_in_a_form_is_told():
    with pytest.raises(ConfigurationError, match="cannot answer in a given form"):
        language_model(FakeListChatModel(responses=["a"])).ask(PROMPT, Grade)


class Structured(FakeListChatModel):
    """A chat model of another package, whose chain gives what it is told to."""

    responses: list[str] = Field(default_factory=list)
    found: Any = None

    def with_structured_output(self, *_, **__):
        return RunnableLambda(lambda _: self.found)


@pytest.mark.parametrize("found", [Grade(grade=2), {"grade": 2}, '{"grade": 2}'], ids=repr)
def test_an_answer_that_the_package_has_read_is_taken(found):
    assert language_model(Structured(found=found)).ask(PROMPT, Grade).value == Grade(grade=2)


def refusal(content, **metadata):
    return AIMessage(content, response_metadata=metadata)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"grade": object()}, r"the answer is not what was asked for \(TypeError: "),
        (refusal([{"type": "refusal", "refusal": "Not that."}]), "refused to answer: 'Not that.'"),
        (refusal("Not this.", stop_reason="refusal"), "refused to answer: 'Not this.'"),
        (refusal("", stop_reason="refusal"), "refused to answer: 'refusal'"),
    ],
    ids=["no JSON", "block", "words", "reason"],
)
def test_an_answer_of_any_package_that_is_none_is_told(found, told):
    model = language_model(Structured(found=found), retry_policy=RetryPolicy(1))
    with pytest.raises(ModelOutputError, match=told):
        model.ask(PROMPT, Grade)


def test_langchain_that_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(MissingDependency, match=r"the language model openai:gpt-4o-mini .*langchain"):
        language_model()
