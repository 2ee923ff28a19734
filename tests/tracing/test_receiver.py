"""`TraceReceiver` and `raglift trace --listen`: real exporters in real processes, also where one is killed."""

from __future__ import annotations

import gzip
import json
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.tracing import TraceReceiver

from .spans import DATA, QUESTION, TEXTS, kind, model, request, retriever, span

KEY = "sk-proj-Qm8Zt41LkWx90vYb2Rc7"


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[TraceReceiver]:
    with TraceReceiver(tmp_path / "kept.jsonl", "127.0.0.1:0") as made:
        yield made


def send(
    receiver: TraceReceiver, body: bytes, kind: str = "application/json", path: str = "/v1/traces", **headers: str
) -> tuple[int, bytes]:
    made = urllib.request.Request(  # noqa: S310 — on loopback
        f"{receiver.endpoint}{path}",
        body,
        {"Content-Type": kind, **{name.replace("_", "-"): headers[name] for name in headers}},
    )
    try:
        with urllib.request.urlopen(made, timeout=20) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def whole(number: int = 1, **attributes: Any) -> list[Any]:
    trace = f"t{number}"
    root = span("agent", {**kind("AGENT", QUESTION), **attributes}, trace=trace)
    return [retriever("a", "lamp", "lamp", trace=trace, at=1), root]


# The protocol.


def test_json_is_kept_before_it_is_answered(receiver: TraceReceiver) -> None:
    status, answer = send(receiver, json.dumps(request(whole())).encode())
    assert (status, answer) == (200, b"{}")
    assert (receiver.spans, receiver.traces) == (2, 1)
    (session,) = rl.read_traces(receiver.file, DATA).sessions
    assert session.query_id == "q1"


@pytest.mark.slow
def test_a_body_in_chunks_is_read(receiver: TraceReceiver) -> None:
    body = json.dumps(request(whole())).encode()
    with httpx.Client(trust_env=False) as client:
        url, headers = f"{receiver.endpoint}/v1/traces", {"Content-Type": "application/json"}
        answer = client.post(url, content=iter([body[:100], body[100:]]), headers=headers)
        again = client.post(url, content=iter([b"{"]), headers=headers)
    assert (answer.status_code, again.status_code) == (200, 400)
    assert receiver.spans == 2


@pytest.mark.slow
def test_protobuf_and_gzip_are_read(receiver: TraceReceiver) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

    def attributes(found: dict[str, str]) -> list[KeyValue]:
        return [KeyValue(key=name, value=AnyValue(string_value=text)) for name, text in found.items()]

    root = Span(trace_id=b"t" * 16, span_id=b"r" * 8, name="agent", start_time_unix_nano=10**18)
    root.attributes.extend(attributes(kind("AGENT", QUESTION)))
    found = {"retrieval.documents.0.document.content": TEXTS["lamp"], "api_key": KEY}
    inner = Span(trace_id=b"t" * 16, span_id=b"i" * 8, parent_span_id=b"r" * 8, start_time_unix_nano=10**18)
    inner.attributes.extend(attributes({**kind("RETRIEVER", "lamp"), **found}))
    scope = ScopeSpans(spans=[inner, root])
    body = ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[scope])]).SerializeToString()
    for data, encoding in ((body, "identity"), (gzip.compress(body), "gzip")):
        status, answer = send(receiver, data, "application/x-protobuf", Content_Encoding=encoding)
        assert status == 200
        assert not ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans
    imported = rl.read_traces(receiver.file, DATA)
    assert len(imported.sessions) == len(imported.traces) == 1  # the same spans twice
    assert imported.traces[0].trace_id == (b"t" * 16).hex()


def test_spans_that_cannot_be_used_are_told_to_the_exporter(receiver: TraceReceiver) -> None:
    spans = [*whole(), {"traceId": "t1", "name": "without an id"}]
    status, answer = send(receiver, json.dumps(request(spans)).encode())
    told = json.loads(answer)["partialSuccess"]
    assert (status, told["rejectedSpans"]) == (200, "1")
    assert "the id of the span" in told["errorMessage"]
    assert len(receiver.faults) == 1


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        (b"{", {}, 400, "column"),
        (b'{"queries": []}', {}, 400, "found no resourceSpans"),
        (b"{}", {"Content_Encoding": "gzip"}, 400, "no gzip"),
        (gzip.compress(b"{}" * 100, mtime=0)[:20], {"Content_Encoding": "gzip"}, 400, "ends too early"),
        (b"{}", {"Content_Encoding": "br"}, 415, "expected gzip or none"),
        (b"{}", {"kind": "text/plain"}, 415, "content type 'text/plain'"),
        (b"\x0a\xff\xff", {"kind": "application/x-protobuf"}, 400, "no protobuf of OTLP"),
        (b"{}", {"Host": "evil.example:4318"}, 403, "found the host 'evil.example'"),
        (b"{}", {"path": "/"}, 404, "expected /v1/traces"),
        (gzip.compress(b" " * 2_000_000, mtime=0), {"Content_Encoding": "gzip"}, 413, "unpacks to more than 1,000,000"),
        (b" " * 1_000_001, {}, 413, "expected at most 1,000,000"),
    ],
)
def test_what_is_no_request_is_refused(
    receiver: TraceReceiver,
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
    headers: dict[str, str],
    status: int,
    said: str,
) -> None:
    monkeypatch.setattr("raglift.tracing.receiver.MOST_BYTES", 1_000_000)
    found, answer = send(receiver, body, **headers)
    assert found == status
    assert said in answer.decode()
    assert receiver.spans == 0
    assert receiver.file.read_bytes() == b""


def test_metrics_and_logs_are_dropped_and_empty_requests_taken(receiver: TraceReceiver) -> None:
    assert send(receiver, b'{"resourceMetrics": []}', path="/v1/metrics") == (200, b"{}")
    assert send(receiver, b"anything", "application/x-protobuf", "/v1/logs") == (200, b"")
    assert send(receiver, b"{}") == (200, b"{}")
    assert receiver.file.read_bytes() == b""


def test_a_full_file_makes_exporters_wait(receiver: TraceReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "100")
    body = json.dumps(request(whole())).encode()
    assert send(receiver, body)[0] == 200
    assert send(receiver, body)[0] == 503


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_disk_that_fills_up_cuts_nothing_off_that_is_taken_later(receiver: TraceReceiver) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    bodies = [json.dumps(request(whole(number, **{"input.value": "x" * 20_000}))).encode() for number in (1, 2)]
    assert send(receiver, bodies[0])[0] == 200
    before = receiver.file.read_bytes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 5_000, limits[1]))
    try:
        assert [send(receiver, bodies[1])[0] for _ in range(2)] == [503, 503]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert receiver.file.read_bytes() == before
    assert send(receiver, bodies[1])[0] == 200
    spans = [json.loads(line) for line in receiver.file.read_text("utf-8").splitlines()]
    assert [one["context"]["trace_id"] for one in spans] == ["t1", "t1", "t2", "t2"]


# What is kept.


def test_no_secret_is_kept_and_only_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = json.dumps({"model": "m", "headers": {"Authorization": f"Bearer {KEY}"}})
    more = {
        "api_key": KEY,
        "llm.invocation_parameters": settings,
        "metadata": json.dumps({"query_id": "q1", "openai_api_key": KEY, "password": "short"}),
        "private.note": "never read",
    }
    failed = {"status": {"code": 2, "message": f"401: the key {KEY} is wrong"}}
    asked = json.dumps({"query": "lamp", "config": {"api_key": KEY}})
    spans = [
        span("agent", {**kind("AGENT", QUESTION), **more}, **failed),
        span("t", {**kind("TOOL", asked), "tool.name": "search", "output.value": f"key {KEY}"}, "agent", at=1),
        retriever("a", f"lamp {KEY}", "lamp", parent="t", at=2),
        model("m", QUESTION, f"{TEXTS['lamp']} {KEY}", at=50),
    ]
    with TraceReceiver(tmp_path / "kept.jsonl", "127.0.0.1:0") as receiver:
        assert send(receiver, json.dumps(request(spans)).encode())[0] == 200
    kept = receiver.file.read_text(encoding="utf-8")
    for text in (KEY, "short", "never read", "invocation_parameters"):
        assert text not in kept
    assert "q1" in kept
    assert receiver.file.stat().st_mode & 0o077 == 0
    imported = rl.read_traces(receiver.file, DATA, join_by="query_id")
    assert imported.sessions[0].calls[0].query == "lamp ***"


def test_no_secret_of_a_file_is_in_a_saved_evaluation(tmp_path: Path) -> None:
    secret = {"github_token": KEY, "metadata": json.dumps({"token": KEY, "api_keys": [KEY]})}
    failed = {"status": {"code": 2, "message": "401: the key is wrong"}}
    found = retriever("a", "lamp", "lamp", at=1)
    found["attributes"].append(
        {
            "key": "retrieval.documents.0.document.metadata",
            "value": {"stringValue": json.dumps({"subscription_key": KEY})},
        }
    )
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(request([span("agent", {**kind("AGENT", QUESTION), **secret}, **failed), found])))
    imported = rl.read_traces(file, DATA)
    rl.evaluate_sessions(imported.sessions, DATA).save(tmp_path / "run")
    shown = [str(imported), imported.to_text(), imported.to_frame().to_csv(), repr(imported.sessions)]
    written = [path.read_bytes().decode("latin-1") for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(written) > 3
    assert not [text for text in (*shown, *written) if KEY in text]


def test_a_file_that_a_kill_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    file.write_text(json.dumps(request(whole(1))) + "\n" + json.dumps(request(whole(2)))[:99], encoding="utf-8")
    with TraceReceiver(file, "127.0.0.1:0") as receiver:
        send(receiver, json.dumps(request(whole(3))).encode())
    imported = rl.read_traces(file, DATA)
    assert [row.trace_id for row in imported.traces] == ["t1", "t3"]
    assert len(imported.faults) == 1


@pytest.mark.parametrize("address", ["0.0.0.0:4318", "example.com:4318", "127.0.0.1", "127.0.0.1:99999"])
def test_only_addresses_of_this_machine_are_listened_on(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigurationError, match="expected an address and port of this machine"):
        TraceReceiver(tmp_path / "kept.jsonl", address)


def test_an_address_in_use_and_a_file_that_cannot_be_written_are_told(tmp_path: Path, receiver: TraceReceiver) -> None:
    used = receiver.endpoint.removeprefix("http://")
    with pytest.raises(ConfigurationError, match="cannot be listened on"), TraceReceiver(tmp_path / "other", used):
        pass
    (tmp_path / "a").write_text("")
    with pytest.raises(DatasetError, match="cannot be written"), TraceReceiver(tmp_path / "a" / "b", "127.0.0.1:0"):
        pass


def test_a_client_that_hangs_up_is_no_fault(receiver: TraceReceiver, capfd: pytest.CaptureFixture[str]) -> None:
    host, _, port = receiver.endpoint.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
    assert send(receiver, b'{"resourceSpans": []}')[0] == 200
    assert capfd.readouterr().err == ""


# Real processes.


def application(count: int) -> None:
    """Record traces with OpenTelemetry's own exporter, which finds its address in the environment."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("app")
    found = {"retrieval.documents.0.document.content": TEXTS["lamp"], "retrieval.documents.0.document.id": "lamp"}
    for _ in range(count):
        # What a client of a model puts there: none of it is read
        secret = {"api_key": KEY, "http.request.header.authorization": f"Bearer {KEY}"}
        with (
            tracer.start_as_current_span("agent", attributes={**kind("AGENT", QUESTION), **secret}),
            tracer.start_as_current_span("search", attributes={**kind("RETRIEVER", QUESTION), **found}),
        ):
            pass
    provider.shutdown()


@pytest.mark.slow
def test_the_real_exporter_needs_one_environment_variable(
    receiver: TraceReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    application(20)
    imported = rl.read_traces(receiver.file, DATA)
    assert [session.repetition for session in imported.sessions] == list(range(1, 21))
    assert receiver.traces == 20
    assert KEY not in receiver.file.read_text(encoding="utf-8")


class Listening:
    """`raglift trace --listen` in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        data, self.run = folder / "data.jsonl", folder / "run"
        label = {"id": "q1", "query": QUESTION, "relevant": [TEXTS["lamp"], TEXTS["keeper"]]}
        data.write_text(json.dumps(label) + "\n", encoding="utf-8")
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.endpoint = f"http://{address}"
        command = [sys.executable, "-m", "raglift", "trace", "--listen", "--address", address, "--data", str(data)]
        more = ["--keep", str(folder / "kept.jsonl"), "-o", str(self.run), *options]
        self.process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.first = self.process.stderr.readline()

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


@pytest.mark.slow
@pytest.mark.parametrize("by", ["Ctrl-C", pytest.param("--stop-after", marks=pytest.mark.full)])
def test_what_ends_it_evaluates_and_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    listening = Listening(tmp_path, *([by, "3"] if by == "--stop-after" else []))
    assert f"receiving on {listening.endpoint}" in listening.first
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", listening.endpoint)
    application(3)
    if by == "Ctrl-C":
        listening.process.send_signal(signal.SIGINT)
    code, out, err = listening.end()
    assert code == 0, err
    assert "received 6 spans, 3 traces in whole" in err
    assert "3 traces of 3 became sessions (3 by text)" in out
    assert "SessionNDCG@10" in out
    assert rl.load_evaluation(listening.run).run.has_sessions
