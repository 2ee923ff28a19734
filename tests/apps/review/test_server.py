"""Who gets an answer from the server, and which: only the page, only here, only what it asks for properly."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from raglift.apps.review.server import LOOPBACK, MOST_BYTES, application, listen, open_review
from raglift.datasets.jsonl import read_queries, write_queries
from raglift.errors import ConfigurationError
from raglift.results.evaluation import Evaluation
from raglift.types.dataset import Dataset
from raglift.types.labels import Query

pytestmark = pytest.mark.slow

TOKEN = "not-to-be-guessed"  # noqa: S105 — of a test


@pytest.fixture
def labels(evaluations: list[Evaluation], tmp_path: Path) -> Path:
    return write_queries([Query(query.id, query.text) for query in evaluations[0].dataset], tmp_path / "labels.jsonl")


@pytest.fixture
def base(labels: Path, evaluations: list[Evaluation], lighthouse: Dataset) -> Iterator[str]:
    """The address of a server in a thread of its own."""
    import uvicorn

    with listen(0) as listener, open_review(labels, evaluations, documents=lighthouse.documents, depth=5) as (desk, _):
        port = listener.getsockname()[1]
        app = application(desk, token=TOKEN, port=port)
        config = uvicorn.Config(app, loop="asyncio", http="h11", ws="none", lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://{LOOPBACK}:{port}"
        server.should_exit = True
        thread.join()


@pytest.fixture
def client(base: str) -> Iterator[httpx.Client]:
    """What the page's browser is: it opened the address once, and has the cookie since."""
    with httpx.Client(base_url=base, headers={"origin": base}, trust_env=False) as client:
        assert client.get(f"/?token={TOKEN}").status_code == 200
        yield client


def version_of(client: httpx.Client) -> str:
    version: str = client.get("/api/query/0").json()["query"]["version"]
    return version


def decide(client: httpx.Client, operation: dict[str, Any], version: str | None = None) -> httpx.Response:
    body = {"version": version_of(client) if version is None else version, "operation": operation}
    return client.post("/api/query/0", json=body)


def test_the_address_gives_a_cookie_that_scripts_and_other_sites_cannot_use(base: str) -> None:
    answer = httpx.get(f"{base}/?token={TOKEN}", trust_env=False)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"raglift-review-{base.rpartition(':')[2]}={TOKEN};")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_nothing_is_answered_without_the_token(base: str, client: httpx.Client) -> None:
    paths = ("/", "/?token=", "/?token=wrong", f"/api/overview?token={TOKEN}", "/api/query/0")
    with httpx.Client(base_url=base, trust_env=False) as stranger:
        for path in paths:
            answer = stranger.get(path)
            assert (answer.status_code, list(answer.json())) == (403, ["error"])
            assert "set-cookie" not in answer.headers
        for path in ("/api/query/0", "/api/undo", "/api/save", f"/?token={TOKEN}"):
            assert stranger.post(path, json={}, headers={"origin": base}).status_code == 403
    assert client.get("/api/overview").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1", "127.0.0.1:1", "[::1]"])
def test_a_name_that_points_here_gets_no_answer(client: httpx.Client, host: str) -> None:
    assert client.get("/api/overview", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost", "https://127.0.0.1", None])
def test_only_this_page_writes(client: httpx.Client, labels: Path, origin: str | None) -> None:
    before = labels.read_bytes()
    body = {"version": version_of(client), "operation": {"kind": "grade", "chunk": 0, "grade": 2}}
    request = client.build_request("POST", "/api/query/0", json=body)
    del request.headers["origin"]
    if origin is not None:
        request.headers["origin"] = origin
    assert client.send(request).status_code == 403
    assert labels.read_bytes() == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_what_a_form_of_another_site_can_send_is_refused(client: httpx.Client, kind: str | None) -> None:
    answer = client.post("/api/save", content=b"{}", headers={} if kind is None else {"content-type": kind})
    assert (answer.status_code, answer.json()) == (
        403,
        {"error": "found a body that is not JSON; expected what the page sends"},
    )
    assert client.post("/api/save", json={}).json()["saving"]["unsaved"] == 0


def test_a_port_that_is_taken_or_none_is_refused() -> None:
    with listen(0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"--port: found {port}, where nothing can be served"):
            listen(port)
    with pytest.raises(ConfigurationError, match="found 65536; expected 0"):
        listen(65536)


@pytest.mark.parametrize(
    ("kind", "status"), [("http", 400), ("websocket", None)], ids=["a tab that was closed", "no request"]
)
def test_half_a_request_changes_nothing_and_what_is_no_request_gets_no_answer(
    labels: Path, evaluations: list[Evaluation], kind: str, status: int | None
) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {
        "host": f"{LOOPBACK}:1",
        "origin": f"http://{LOOPBACK}:1",
        "cookie": f"raglift-review-1={TOKEN}",
        "content-type": "application/json",
    }
    scope = {
        "type": kind,
        "method": "POST",
        "path": "/api/query/0",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    with open_review(labels, evaluations, depth=5) as (desk, _):
        before = labels.read_bytes()
        asyncio.run(application(desk, token=TOKEN, port=1)(scope, receive, send))
    assert [message.get("status") for message in sent[:1]] == ([] if status is None else [status])
    assert labels.read_bytes() == before


def test_every_answer_says_what_browsers_may_do_with_it(client: httpx.Client) -> None:
    page, data = client.get("/"), client.get("/api/overview")
    refused, missing = client.get("/", headers={"host": "x"}), client.get("/nothing")
    for answer in (page, data, refused, missing):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert missing.status_code == 404
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert re.findall(r"(script|style)-src 'sha256-", policy) == ["script", "style"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page.text)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "Invalid JSON"),
        (b"[]", "Input should be an object"),
        (b'{WHO, "operation": {"kind": "delete"}}', "operation"),
        (b'{WHO, "operation": {"kind": "grade", "chunk": 0, "grade": 4}}', "expected 0 to 3"),
        (b'{WHO, "operation": {"kind": "grade", "chunk": 999, "grade": 1}}', "number 999"),
        (b'{WHO, "operation": {"kind": "grade", "chunk": "0", "grade": 1}}', "valid integer"),
        (b'{WHO, "operation": {"kind": "grade", "chunk": 0, "grade": 1, "x": 1}}', "not permitted"),
        (b'{WHO, "operation": {"kind": "accept", "chunk": 0}}', "no grade by a model"),
        (b'{WHO, "operation": {"kind": "set-grade", "fact": 9, "alternative": 0, "grade": 1}}', "fact"),
        (
            b'{WHO, "operation": {"kind": "grade", "chunk": 0, "grade": 1, "fact": 3}}',
            "found number 4; expected one of the 0 facts",
        ),
        (b'{WHO, "operation": {"kind": "grade", "chunk": 0, "grade": 1, "fact": "other"}}', "operation.grade.fact"),
        (
            b"""{WHO, "operation":
             {"kind": "words", "chunk": 0, "start": 0, "end": 3, "text": "??", "fact": null}}""",
            "found others",
        ),
    ],
)
def test_what_the_page_does_not_send_is_told_and_changes_nothing(
    client: httpx.Client, labels: Path, body: bytes, told: str
) -> None:
    before = labels.read_bytes()
    answer = client.post(
        "/api/query/0",
        content=body.replace(b"WHO", f'"version": "{version_of(client)}"'.encode()),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 422
    assert told in answer.json()["error"]
    assert labels.read_bytes() == before


def test_a_body_has_a_size_and_a_query_a_number(client: httpx.Client) -> None:
    big = client.post("/api/undo", content=b" " * (MOST_BYTES + 1), headers={"content-type": "application/json"})
    assert big.status_code == 413
    assert client.get("/api/query/6").status_code == 422
    for number in ("-1", "x", "9" * 5000, "%2e%2e"):
        assert client.get(f"/api/query/{number}").status_code == 422, number


def test_a_decision_is_saved_and_an_old_one_refused_with_the_newest_state(client: httpx.Client, labels: Path) -> None:
    first = version_of(client)
    answer = decide(client, {"kind": "grade", "chunk": 0, "grade": 3}).json()
    assert answer["query"]["pool"][0]["grade"] == 3
    assert answer["saving"]["unsaved"] == 0
    assert read_queries_of(labels)[0]["relevant"][0]["grade"] == 3
    stale = decide(client, {"kind": "grade", "chunk": 0, "grade": 0}, version=first)
    assert stale.status_code == 409
    assert stale.json()["query"]["version"] == answer["query"]["version"]
    assert stale.json()["query"]["pool"][0]["grade"] == 3
    undone = client.post("/api/undo", json={}).json()
    assert (undone["query"]["facts"], undone["query"]["version"]) == ([], first)
    assert client.post("/api/undo", json={}).status_code == 422


def read_queries_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.full)])
def test_it_stops_when_asked_and_says_what_was_saved(
    serve: Callable[..., Any], runs: list[Path], unlabelled: Path, lighthouse: Dataset, number: int
) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as under nohup, and so by what is started")
    served = serve(unlabelled, *runs, "-k", 5)
    base, _, token = served.url.partition("/?token=")
    with httpx.Client(base_url=base, headers={"origin": base}, trust_env=False) as client:
        client.get(f"/?token={token}")
        decide(client, {"kind": "grade", "chunk": 0, "grade": 1})
        cookie = client.build_request("GET", "/").headers["cookie"]
        head = (f"{name}: {value}" for name, value in {"host": base.partition("//")[2], "cookie": cookie}.items())
        asked = ["POST /api/undo HTTP/1.1", *head, f"origin: {base}", "content-type: application/json"]
        unfinished = "\r\n".join([*asked, "content-length: 99", "", "{"]).encode()
        place = (LOOPBACK, urllib.parse.urlsplit(base).port)
        with socket.create_connection(place) as left:  # a tab that is closed
            left.sendall(unfinished)
        with socket.create_connection(place) as waiting:
            waiting.sendall(unfinished)
            client.get("/api/overview")
            said = served.stop(number)
    assert "Traceback" not in said
    assert f"stopped: 1 change, saved in {unlabelled}" in said
    assert served.process.returncode == 0
    (fact,) = read_queries(unlabelled)[0].facts  # without documents, a span brings its text
    assert fact.passages[0].start is not None
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect((LOOPBACK, int(urllib.parse.urlsplit(base).port or 0)))
