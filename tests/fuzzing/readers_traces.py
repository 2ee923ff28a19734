"""Traces: OTLP and the exports of tools, requests to the receiver, and the file that it keeps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tracing.spans import DATA, QUESTION, TEXTS, agent, model, request, reranker, retriever, tool

from raglift.errors import DatasetError, Fault
from raglift.tracing import TraceImport, TraceReceiver, read_traces
from raglift.tracing import receiver as receiving

from .reader import Reader

__all__ = ["READERS"]

_FIXTURES = Path(__file__).parents[1] / "tracing" / "fixtures"


def _otlp() -> dict[str, Any]:
    return request(
        [
            agent(status={"code": 2, "message": "no"}, droppedAttributesCount=0),
            retriever("a", "lamp", "lamp", "horn"),
            reranker("b", ["lamp", "horn"], "horn"),
            tool("c", '{"query": "gulls"}', json.dumps({"results": [{"text": TEXTS["gulls"], "id": "gulls"}]})),
            model("d", QUESTION, TEXTS["lamp"]),
        ]
    )


def _read(folder: Path) -> TraceImport:
    return read_traces(folder, DATA, doc_key=None, text_tools=["c"])


def _read_rows(folder: Path) -> TraceImport:
    columns = {"span": "id", "parent": "parent_run_id", "kind": "run_type", "input": "inputs", "output": "outputs"}
    return read_traces(folder, DATA, join_by="extra.metadata.query_id", columns=columns)


def _check(found: TraceImport) -> None:
    assert str(found)
    assert found.to_markdown()
    for session in found.sessions:
        for call in session.calls:
            assert all(isinstance(hit.chunk.text, str) for hit in call.ranking)


def _export(name: str) -> Callable[[Path], object]:
    """Write the first lines of a real export."""

    def write(folder: Path) -> None:
        lines = (_FIXTURES / name).read_text(encoding="utf-8").splitlines()[:6]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return write


def _request(kind: str, name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        try:
            return _received(folder / "request.jsonl", (folder / name).read_bytes(), kind)
        except (receiving._Refused, FileNotFoundError) as refused:
            raise DatasetError("request", [Fault("request", str(refused)[:200], "OTLP")]) from None

    return read


def _received(file: Path, body: bytes, kind: str) -> bytes:
    """Return what the receiver answers to a request, without a server."""
    receiver = TraceReceiver(file)
    receiver._kept = receiving._KeptSpans(file)
    try:
        return receiver.take(body, kind, "")
    finally:
        receiver._kept.close()


def _protobuf(folder: Path) -> None:
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found = _otlp()
    for span in found["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span |= {"traceId": "AAAAAAAAAAAAAAAAAAAAAQ==", "spanId": "AAAAAAAAAAE="}
        span.pop("parentSpanId", None)
    (folder / "request.bin").write_bytes(ParseDict(found, ExportTraceServiceRequest()).SerializeToString())


def _gone_on_with(folder: Path) -> object:
    """What the receiver does with a file that is there: it adds to it."""
    copy = folder / "again.jsonl"
    if (folder / "kept.jsonl").is_file():
        shutil.copyfile(folder / "kept.jsonl", copy)
    _received(copy, json.dumps(_otlp()).encode(), "application/json")
    return read_traces(copy, DATA)


READERS: tuple[Reader, ...] = (
    Reader(
        "traces as OTLP",
        lambda folder: (folder / "traces.json").write_text(json.dumps(_otlp())),
        _read,
        check=_check,
    ),
    Reader("traces as rows of another export", _export("langsmith_runs.jsonl"), _read_rows, check=_check),
    Reader(
        "request of OTLP as protobuf",
        _protobuf,
        _request("application/x-protobuf", "request.bin"),
        changes=("request.jsonl",),
    ),
    Reader(
        "received spans",
        lambda folder: (folder / "kept.jsonl").write_text(json.dumps(_otlp()) + "\n"),
        _gone_on_with,
        changes=("again.jsonl",),
    ),
)
"""All of the readers here."""
