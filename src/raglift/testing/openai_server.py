"""A local server with OpenAI's API for tests: what it answers, and how it is made to fail."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self


# Answers of `/v1/chat/completions`: one reply, whole or streamed.


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
    elif answer.calls:
        functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in answer.calls]
        calls = [
            {"id": f"call_{number}_{place}", "type": "function", "function": function}
            for place, function in enumerate(functions)
        ]
        message |= {"content": answer.text, "tool_calls": calls}
        content = json.dumps(functions)
    prompt_tokens = sum(len(_text_of(message).split()) for message in body.get("messages", []))
    answered = len((refusal or content).split())
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": answered, "total_tokens": prompt_tokens + answered}
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
    for place, call in enumerate(message.get("tool_calls") or []):
        yield {"tool_calls": [{"index": place, **call}]}
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


# A small OpenAI-compatible server on this machine, with scripted failures.


_CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Answer:
    """How the server answers one request: as it should, unless told otherwise.

    `Answer(status=429, headers={"Retry-After": "7"})` is a rate limit, `Answer(seconds=90)` a slow answer,
    `Answer(cut_off=True)` a connection that is lost in the middle of the reply, `Answer(body=b"<html>")` no JSON,
    `Answer(vectors="fewer")` a vector too few.

    A chat is answered with `Answer(text="The keeper.")` or `Answer(value={"grade": 3})`, refused with
    `Answer(refusal="I cannot help with that.")`, and damaged with `Answer(text='{"grade": ')` (malformed JSON) or
    `Answer(text='{"gra', finish_reason="length")` (the limit of tokens was reached). An agent's model asks for tools
    with `Answer(calls=[("search", {"query": "lamp"})])`.
    """

    status: int = 200
    """The HTTP status; other than 200, an error in OpenAI's form is sent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """What is sent besides Content-Type and Content-Length."""
    seconds: float = 0.0
    """How long the answer takes."""
    seconds_per_piece: float = 0.0
    """How long each piece of a stream takes, after the first."""
    cut_off: bool = False
    """Whether the connection is closed after half of the reply."""
    body: bytes | Json | None = None
    """What is sent instead of the right answer: bytes as they are, or an object as JSON."""
    vectors: Literal["all", "fewer", "none", "nan"] = "all"
    """What is wrong with the vectors of a right answer, if anything."""
    text: str | None = None
    """What a chat is answered with, as it is."""
    value: Json | None = None
    """What a chat is answered with, as JSON."""
    refusal: str | None = None
    """Why a chat is not answered, as OpenAI's models say it."""
    calls: Sequence[tuple[str, Json]] = ()
    """The tools that the model asks for, each with its arguments, as an agent's model does before it answers."""
    finish_reason: str | None = None
    """Why a chat's answer ended; by default `stop`, or `tool_calls`."""


@dataclass(frozen=True)
class Request:
    """What the server was asked. The API key is not kept."""

    path: str
    """Such as `/v1/embeddings`."""
    body: Json
    """The JSON that was sent."""
    at: float
    """When it came, on `time.monotonic()`."""


Replies = Callable[[Sequence[Json], Json | None], str | Json | Answer]
"""What plays the model: from the messages and the JSON schema asked for to a text, an object or an Answer."""


class OpenAIServer:
    """A server on 127.0.0.1 that speaks `/v1/embeddings` and `/v1/chat/completions`, streams too; a context manager.

    A text's vector counts its text, hashed into the dimensions: the same text always has the same vector, and texts
    that share words are near each other. A chat is answered by script, else by `replies`, else with the smallest
    instance of the JSON schema that is asked for, else with a short text. A request's usage is its number of words, or
    of tokens where these are sent.

    Args:
        key: the API key that is asked for, with 401 for any other; None takes every key.
        dimensions: of the vectors, where a request does not say.
        replies: what answers a chat that no script answers: called with the messages (`role` and `content`) and the
            JSON schema that is asked for (None for free text), it returns a text, an object, or an `Answer`. It is
            called from several threads where several requests come at once.
    """

    def __init__(self, *, key: str | None = None, dimensions: int = 64, replies: Replies | None = None) -> None:
        self.key = key
        self.dimensions = dimensions
        self.replies = replies
        self.requests: list[Request] = []
        """Every request so far, in the order of their arrival."""
        self.answers: deque[Answer] = deque()
        """How the next requests are answered, one each; after these, as they should be."""
        self.paths: dict[str, Callable[[Json, Answer], Json]] = {
            "/v1/embeddings": self._embeddings,
            _CHAT: self._completion,
        }
        """What makes the right answer to a request's body, by path; add others as you need them."""
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        """The value of `OPENAI_BASE_URL` for this server."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def inputs(self) -> list[Any]:
        """The texts (or lists of tokens) of all requests for embeddings, in order."""
        return [given for request in self.requests for given in _inputs(request.body)]

    def answer_next(self, *answers: Answer) -> None:
        """Say how the next requests are answered, one each."""
        self.answers.extend(answers)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _embeddings(self, body: Json, answer: Answer) -> Json:
        inputs = _inputs(body)
        dimensions = body.get("dimensions") or self.dimensions
        vectors = [_vector_of(given, dimensions) for given in inputs]
        if answer.vectors == "nan":
            vectors[-1][0] = np.nan
        vectors_sent = {"fewer": vectors[:-1], "none": []}.get(answer.vectors, vectors)
        in_base64 = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": _base64(row) if in_base64 else row.tolist()}
            for index, row in enumerate(vectors_sent)
        ]
        tokens = sum(len(_words(given)) for given in inputs)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": body.get("model"), "usage": usage}

    def _completion(self, body: Json, answer: Answer) -> Json:
        return completion(body, answer, len(self.requests))

    def _reply(self, request: Request, authorization: str) -> tuple[Answer, list[bytes]]:
        """Return how a request is answered, and the reply in the pieces in which it is sent."""
        answer = self.answers.popleft() if self.answers else self._unscripted(request)
        self._closing.wait(answer.seconds)
        if isinstance(answer.body, bytes):
            return answer, [answer.body]
        if answer.body is not None:
            return answer, [json.dumps(answer.body).encode()]
        if self.key is not None and authorization != f"Bearer {self.key}":
            answer = Answer(status=401)
        elif request.path not in self.paths:
            answer = Answer(status=404)
        if answer.status != 200:
            code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(answer.status)
            error = {"message": f"scripted status {answer.status}", "type": "scripted", "param": None, "code": code}
            return answer, [json.dumps({"error": error}).encode()]
        reply = self.paths[request.path](request.body, answer)
        if request.path == _CHAT and request.body.get("stream"):
            return answer, stream_of(reply, request.body)
        return answer, [json.dumps(reply).encode()]

    def _unscripted(self, request: Request) -> Answer:
        if self.replies is None or request.path != _CHAT:
            return Answer()
        reply = self.replies(request.body.get("messages", []), asked_schema(request.body))
        if isinstance(reply, Answer):
            return reply
        return Answer(text=reply) if isinstance(reply, str) else Answer(value=reply)

    def _send(self, answer: Answer, pieces: list[bytes], write: Callable[[bytes], object]) -> None:
        """Write the pieces of a reply at their pace, or the first half of their bytes."""
        remaining = sum(map(len, pieces))
        remaining = remaining // 2 if answer.cut_off else remaining
        for number, piece in enumerate(pieces):
            if number:
                self._closing.wait(answer.seconds_per_piece)
            write(piece[:remaining])
            remaining -= len(piece[:remaining])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that has given up is not waited for

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away while it was answered."""


def _handler_of(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            request = Request(self.path, body, time.monotonic())
            server.requests.append(request)
            answer, pieces = server._reply(request, self.headers.get("Authorization") or "")  # noqa: SLF001 — one class
            self.send_response(answer.status)
            kind = "text/event-stream" if len(pieces) > 1 else "application/json"
            headers = {"Content-Type": kind, "Content-Length": str(sum(map(len, pieces))), **answer.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            server._send(answer, pieces, self.wfile.write)  # noqa: SLF001 — one class

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 — its name in http.server
            """Log nothing."""

    return Handler


def _inputs(body: Json) -> list[Any]:
    inputs = body.get("input", [])
    return inputs if isinstance(inputs, list) and not (inputs and isinstance(inputs[0], int)) else [inputs]


def _words(text: str | list[int]) -> list[str]:
    return text.lower().split() if isinstance(text, str) else [str(token) for token in text]


def _vector_of(text: str | list[int], dimensions: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    vector = np.full(dimensions, 0.01, dtype=np.float32)  # so that no vector is zero
    for word in _words(text):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % dimensions] += 1
    return vector / np.linalg.norm(vector)


def _base64(vector: np.ndarray[Any, np.dtype[np.float32]]) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
