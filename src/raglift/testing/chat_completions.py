"""What `/v1/chat/completions` answers: one reply, or the same in pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.testing.openai_server import Answer

__all__ = ["asked_schema", "completion", "smallest_instance", "stream_of"]

Json = Mapping[str, Any]

_DEFAULT_TEXT = "This is what the server says."
_PIECE = re.compile(r"\s*\S+\s*?")


def asked_schema(body: Json) -> Json | None:
    """Return the JSON schema that an answer must have: of `response_format`, or of a tool that must be called."""
    response_format = body.get("response_format") or {}
    if response_format.get("type") == "json_schema":
        schema: Json = response_format["json_schema"].get("schema", {})
        return schema
    tool = _forced_tool(body)
    return None if tool is None else tool["function"].get("parameters", {})


def completion(body: Json, answer: Answer, number: int) -> Json:
    """Return the right answer to a request's body, in OpenAI's form.

    Args:
        body: what was sent.
        answer: what is said; where it says nothing, the smallest instance of the schema that was asked for, or a short
            text.
        number: of the request, for its id.
    """
    content, refusal = _content(body, answer), answer.refusal
    message: dict[str, Any] = {"role": "assistant", "content": None if refusal else content, "refusal": refusal}
    tool = _forced_tool(body)
    if tool is not None and refusal is None:
        function = {"name": tool["function"]["name"], "arguments": content}
        message |= {"content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}
    asked = sum(len(_text_of(message).split()) for message in body.get("messages", []))
    answered = len((refusal or content).split())
    usage = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    reason = answer.finish_reason or ("tool_calls" if message.get("tool_calls") else "stop")
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": usage,
    }


def stream_of(reply: Json, body: Json) -> list[bytes]:
    """Return a chat completion as the events of a stream: a word each, why it ended, and the usage where asked for."""
    head = {key: reply[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    (choice,) = reply["choices"]

    def event(delta: Json, reason: str | None = None) -> Json:
        inner = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**head, "choices": [inner], **({"usage": None} if with_usage else {})}

    events = [event({"role": "assistant"}), *map(event, _deltas(choice["message"]))]
    events.append(event({}, choice["finish_reason"]))
    if with_usage:
        events.append({**head, "choices": [], "usage": reply["usage"]})
    return [*(f"data: {json.dumps(found)}\n\n".encode() for found in events), b"data: [DONE]\n\n"]


def smallest_instance(schema: Json) -> Any:
    """Return a value that a JSON schema allows: the first choice, the smallest number, the shortest text."""
    return _instance(schema, schema)


def _content(body: Json, answer: Answer) -> str:
    if answer.text is not None:
        return answer.text
    if answer.value is not None:
        return json.dumps(answer.value, ensure_ascii=False)
    schema = asked_schema(body)
    return _DEFAULT_TEXT if schema is None else json.dumps(smallest_instance(schema))


def _forced_tool(body: Json) -> Json | None:
    """Return the tool that the model must call, if there is one."""
    tools: Sequence[Json] = body.get("tools") or []
    choice = body.get("tool_choice")
    if choice in (None, "none", "auto") or not tools:
        return None
    name = choice["function"]["name"] if isinstance(choice, Mapping) else tools[0]["function"]["name"]
    return next((tool for tool in tools if tool["function"]["name"] == name), None)


def _text_of(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def _deltas(message: Json) -> Iterator[Json]:
    for call in message.get("tool_calls") or []:
        yield {"tool_calls": [{"index": 0, **call}]}
    for key in ("content", "refusal"):
        text = message.get(key) or ""
        ends = [match.end() for match in _PIECE.finditer(text)]
        edges = [0, *ends[:-1], len(text)] if text else []
        for begin, end in pairwise(edges):
            yield {key: text[begin:end]}


def _instance(schema: Json, root: Json) -> Any:
    if "$ref" in schema:
        found: Any = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        return _instance(found, root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _instance(schema[key][0], root)
    return _of_type(schema, root)


def _of_type(schema: Json, root: Json) -> Any:
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _instance(inner, root) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [_instance(schema.get("items", {}), root)] * schema.get("minItems", 0)
    if kind == "string":
        return "a" * schema.get("minLength", 0)
    if kind in ("integer", "number"):
        above: float = schema.get("exclusiveMinimum", -1)
        return max(schema.get("minimum", 0), above + 1)
    return {"boolean": False, "null": None}[kind]
