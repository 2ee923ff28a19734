"""The public loopback server's chat completions, asked by plain HTTP and by OpenAI's own client."""

import json
from typing import Literal

import httpx
import openai
import pytest
from pydantic import BaseModel, Field

from raglift.testing.openai_server import Answer, OpenAIServer, smallest_instance

pytestmark = pytest.mark.slow

MESSAGES = [{"role": "system", "content": "Grade it."}, {"role": "user", "content": "The lamp is lit."}]


class Point(BaseModel):
    of: Literal["lamp", "boat"]
    weight: float = Field(ge=2)


class Grade(BaseModel):
    grade: int = Field(ge=1, le=3)
    above: int = Field(gt=4)
    reason: str = Field(min_length=2)
    sure: bool
    points: list[Point] = Field(min_length=1)
    other: Point | None = None


@pytest.fixture
def server():
    with OpenAIServer() as server:
        yield server


def body(**settings):
    return {"model": "m", "messages": MESSAGES, **settings}


def ask(server, **settings):
    return httpx.post(f"{server.base_url}/chat/completions", json=body(**settings), timeout=5, trust_env=False)


def said(reply):
    return reply.json()["choices"][0]["message"]["content"]


def in_form(form):
    return {"type": "json_schema", "json_schema": {"name": "form", "schema": form.model_json_schema()}}


def client(server):
    return openai.OpenAI(base_url=server.base_url, api_key="test", max_retries=0, timeout=5)


def pieces(server, **settings):
    return list(client(server).chat.completions.create(**body(stream=True, **settings)))


def test_without_a_script_the_form_that_is_asked_for_is_filled_in(server):
    grade = Grade.model_validate_json(said(ask(server, response_format=in_form(Grade))))
    assert (grade.grade, grade.above, grade.points) == (1, 5, [Point(of="lamp", weight=2)])


def test_a_hook_answers_from_the_messages_and_the_schema():
    def judge(messages, schema):
        if schema is None:
            return messages[-1]["content"].upper()
        return {"grade": 3} if "lamp" in messages[-1]["content"] else Answer(refusal="no")

    with OpenAIServer(replies=judge) as server:
        assert said(ask(server)) == "THE LAMP IS LIT."
        assert said(ask(server, response_format=in_form(Grade))) == '{"grade": 3}'
        refused = ask(server, response_format=in_form(Grade), messages=[{"role": "user", "content": "?"}])
        assert refused.json()["choices"][0]["message"]["refusal"] == "no"
        server.answer_next(Answer(text="scripted"))
        assert said(ask(server)) == "scripted"


def test_a_hook_is_told_the_parameters_of_a_tool_that_must_be_called():
    seen = []
    with OpenAIServer(replies=lambda _, schema: seen.append(schema) or {"grade": 2}) as server:
        tool = {"type": "function", "function": {"name": "Grade", "parameters": Grade.model_json_schema()}}
        reply = ask(server, tools=[tool], tool_choice={"type": "function", "function": {"name": "Grade"}}).json()
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "Grade", "arguments": '{"grade": 2}'}
    assert seen == [Grade.model_json_schema()]


@pytest.mark.parametrize(
    ("answer", "content", "refusal", "reason"),
    [
        (Answer(refusal="I cannot."), None, "I cannot.", "stop"),
        (Answer(text='{"grade": '), '{"grade": ', None, "stop"),
        (Answer(text='{"gra', finish_reason="length"), '{"gra', None, "length"),
    ],
    ids=["refusal", "malformed", "length"],
)
def test_a_bad_day_is_as_scripted(server, answer, content, refusal, reason):
    server.answer_next(answer)
    (choice,) = ask(server, response_format=in_form(Grade)).json()["choices"]
    assert choice["message"] == {"role": "assistant", "content": content, "refusal": refusal}
    assert choice["finish_reason"] == reason


def test_a_stream_has_the_text_in_pieces_why_it_ended_and_the_usage_where_asked_for(server):
    server.answer_next(Answer(text="The keeper\n\nlit  it. "), Answer(text="Yes."))
    *chunks, last = pieces(server, stream_options={"include_usage": True})
    assert [chunk.choices[0].delta.content for chunk in chunks[1:-1]] == ["The", " keeper", "\n\nlit", "  it. "]
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]
    assert (last.choices, last.usage.completion_tokens) == ([], 4)
    assert all(chunk.usage is None for chunk in pieces(server))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": ["null", "string"]}, None),
        ({"enum": ["b", "a"]}, "b"),
        ({"const": 7}, 7),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ""),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "minimum": 3}}}, 3),
        ({}, {}),
    ],
    ids=str,
)
def test_the_smallest_instance_of_a_schema(schema, value):
    assert smallest_instance(schema) == value


def test_a_model_asks_for_several_tools_at_once_whole_and_streamed(server):
    asked = [("search", {"query": "the lamp"}), ("search", {"query": "who lit it?"})]
    server.replies = lambda messages, schema: Answer(calls=asked)
    whole = client(server).chat.completions.create(**body()).choices[0]
    assert whole.finish_reason == "tool_calls"
    assert whole.message.content is None
    assert [(one.function.name, json.loads(one.function.arguments)) for one in whole.message.tool_calls] == asked
    streamed = [piece.choices[0].delta.tool_calls or [] for piece in pieces(server)]
    told = [(one.index, one.function.name, json.loads(one.function.arguments)) for calls in streamed for one in calls]
    assert told == [(place, *one) for place, one in enumerate(asked)]
    assert len({one.id for one in whole.message.tool_calls}) == 2
