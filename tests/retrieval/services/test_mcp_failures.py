"""What is said when a server cannot be asked: each message says what was found, and what to do."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from benchmarks.search_server import SearchAnswer, SearchServer

import raglift as rl
from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable
from raglift.retrieval.services import McpRetriever
from raglift.running.systems import load_system

pytestmark = pytest.mark.slow

SECRET = "hush-hush-4711"  # noqa: S105 — a key that nobody has
ONE = rl.Dataset.from_dict({"long": ["lit at dusk"]})


def failure(reference: str, mapping: Any = None) -> str:
    with pytest.raises((ServiceFailed, ServiceUnusable)) as raised, McpRetriever(reference, mapping) as retriever:
        retriever.retrieve_one("long", 3)
    return str(raised.value)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mcp:", "found no command; expected mcp: and the command that starts a server"),
        ("mcp:python 'server.py", "found a command that cannot be read (No closing quotation)"),
        ("mcp:http://127.0.0.1:8000/mcp", "expected mcp+ before an address: mcp+http://127.0.0.1:8000/mcp"),
        ("mcp+ftp://127.0.0.1/mcp", 'found "mcp+ftp"; expected mcp+http:// or mcp+https://'),
        (f"mcp:server --api-key {SECRET}", 'found the value of "api-key" in the command of a server'),
        (f"mcp:server --token={SECRET}", 'found the value of "token" in the command'),
        (f"mcp:server postgresql://me:{SECRET}@db/notes", "found an address with a password in the command"),
    ],
)
def test_a_reference_that_is_none_is_refused_and_no_secret_is_repeated(reference: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_system(reference)
    assert message in str(raised.value)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("mode", "mapping", "tool", "message"),
    [
        ("dies at start", None, "", "ended before it was ready; it said last: cannot open the index"),
        pytest.param(
            "says nothing", {"start_timeout": 1}, "", "was not ready within 1 s; expected one", marks=pytest.mark.slow
        ),
        ("dies", None, "", "the MCP server ended before an answer; it said last: Segmentation fault"),
        pytest.param("hangs", {"timeout": 0.3}, "", "no answer within 0.3 s", marks=pytest.mark.slow),
        ("", None, "#serch", 'found no tool "serch"; expected one of "search"; nearest: "search"'),
        ("no tools", None, "", "found 0 tools; expected the name of one behind #: none"),
        ("two searches", None, "", "found 3 tools; expected the name of one behind #: search_notes, findNotes"),
        ("other result", None, "", "not what the protocol or the tool's schema says"),
        ("", {"response": {"hits": "found.rows"}}, "", "nothing at hits: found.rows"),
    ],
)
def test_a_server_that_cannot_be_asked_says_why(
    mode: str, mapping: Any, tool: str, message: str, raw: Callable[..., str]
) -> None:
    assert message in failure(raw(mode) + tool, mapping)


def test_a_command_that_is_not_there_is_named() -> None:
    said = failure("mcp:no-such-command --fast#search")
    assert "no-such-command --fast cannot be started: no such command; expected a command that starts one" in said


# Over HTTP: a server whose answers are scripted.


TOOL = {"name": "search", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}


@contextmanager
def scripted(call: Callable[[Any], Any]) -> Iterator[tuple[str, SearchServer]]:
    """A server that speaks MCP as JSON, and answers calls as `call` says."""

    def reply(request: Any) -> Any:
        if request.method != "POST":
            return SearchAnswer(status=405)
        asked = request.json
        if "id" not in asked:
            return SearchAnswer(status=202, body=b"")
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            },
            "tools/list": {"tools": [TOOL]},
        }
        method = asked["method"]
        if method == "tools/call":
            found = call(request)
            if isinstance(found, SearchAnswer):
                return found
            body = {"result": {"content": [{"type": "text", "text": found}]}}
        elif method in results:
            body = {"result": results[method]}
        else:
            body = {"error": {"code": -32601, "message": "Method not found"}}
        body = {"jsonrpc": "2.0", "id": asked["id"], **body}
        return SearchAnswer(headers={"Content-Type": "application/json"}, body=json.dumps(body).encode())

    with SearchServer(reply) as server:
        yield f"mcp+http://127.0.0.1:{server.port}/mcp", server


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (SearchAnswer(status=401, body={"error": "who are you?"}), 'HTTP 401 Unauthorized — {"error": "who are you?"}'),
        (SearchAnswer(status=500, body=b"oops"), "HTTP 500 Internal Server Error — oops"),
        (SearchAnswer(headers=JSON, body=b"<html>"), "the server answers with an error — Failed to parse JSON"),
        (SearchAnswer(headers={"Content-Type": "text/html"}, body=b"<p>"), "Unexpected content type: text/html"),
        (SearchAnswer(headers=JSON, body=b"{" * 100, cut_off=True), "the connection broke off before an answer — "),
        (SearchAnswer(headers=JSON, endless=True, body=b" " * 1_000), "an answer of more than 1,000,000 bytes"),
        (
            SearchAnswer(headers={**JSON, "Content-Encoding": "gzip, gzip"}, body=gzip.compress(gzip.compress(b"{}"))),
            "packed as 'gzip, gzip'",
        ),
        (SearchAnswer(seconds=5), "no answer within 0.5 s"),
        (SearchAnswer(status=307, headers={"Location": "http://elsewhere.invalid/mcp"}), "elsewhere.invalid"),
    ],
)
def test_a_call_over_http_that_fails_says_why_and_leaves_the_others_alone(
    answer: SearchAnswer, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raglift.retrieval.services.mcp_http.MOST_BYTES", 1_000_000)

    def call(request: Any) -> Any:
        return answer if request.json["params"]["arguments"]["query"] == "bad" else '[{"text": "good"}]'

    with (
        scripted(call) as (reference, _),
        McpRetriever(reference, {"timeout": 0.5}) as retriever,
    ):
        with pytest.raises((ServiceFailed, ServiceUnusable)) as raised:
            retriever.retrieve_one("bad", 3)
        assert message in str(raised.value)
        assert [hit.chunk.text for hit in retriever.retrieve_one("other", 3).hits] == ["good"]


def test_a_header_is_sent_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("NOTES_KEY", SECRET)
    sent = []

    def call(request: Any) -> Any:
        sent.append(request.headers["authorization"])
        return SearchAnswer(status=403, body=f"no: {request.headers['authorization']}".encode())

    with scripted(call) as (reference, _):
        said = failure(reference, {"headers": {"Authorization": "Bearer ${NOTES_KEY}"}})
    assert sent == [f"Bearer {SECRET}"]
    assert "HTTP 403 Forbidden — no: ***" in said or "Bearer ***" in said
    assert SECRET not in said + caplog.text


def test_a_session_that_the_server_forgot_is_begun_anew() -> None:
    seen: list[str] = []

    def call(request: Any) -> Any:
        seen.append(request.json["method"])
        return SearchAnswer(status=404) if len(seen) == 2 else '[{"text": "lit at dusk"}]'

    dataset = rl.Dataset.from_dict({query: ["lit at dusk"] for query in ("a", "b", "c")})
    with scripted(call) as (reference, server):
        evaluation = rl.evaluate(reference, dataset, ks=[1], metrics=["recall"], progress=False)
        assert sum('"method":"initialize"' in request.body.decode() for request in server.requests) == 2
    assert evaluation.scores.mean("retrieve", "recall@1") == 1.0
