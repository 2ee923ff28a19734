"""Traces: OTLP and the exports of tools, requests to the receiver, and the file that it keeps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tracing.spans import DATA, QUESTION, TEXTS, agent, model, request, reranker, retriever, tool

from raglift.errors import DatasetError, Fault
from raglift.tracing import TraceImport, read_traces
from raglift.tracing.receiving.keeping import KeptSpans
from raglift.tracing.receiving.requests import JSON, PROTOBUF, Refused, answer_of, spans_of_request
from raglift.tracing.spans import Options

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
        faults: list[Fault] = []
        try:
            spans, rejected = spans_of_request((folder / name).read_bytes(), kind, "", faults, Options())
        except (Refused, FileNotFoundError) as refused:
            raise DatasetError("request", [Fault("request", str(refused)[:200], "OTLP")]) from None
        answer_of(rejected, "", kind)
        return [str(span) for span in spans]

    return read


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
    faults: list[Fault] = []
    options = Options()
    spans, _ = spans_of_request(json.dumps(_otlp()).encode(), JSON, "", faults, options)
    kept = KeptSpans(copy)
    kept.add(spans)
    kept.close()
    return read_traces(copy, DATA)


READERS: tuple[Reader, ...] = (
    Reader(
        "traces as OTLP",
        lambda folder: (folder / "traces.json").write_text(json.dumps(_otlp())),
        _read,
        check=_check,
    ),
    Reader("traces as rows of another export", _export("langsmith_runs.jsonl"), _read_rows, check=_check),
    Reader("request of OTLP as protobuf", _protobuf, _request(PROTOBUF, "request.bin")),
    Reader(
        "received spans",
        lambda folder: (folder / "kept.jsonl").write_text(json.dumps(_otlp()) + "\n"),
        _gone_on_with,
        changes=("again.jsonl",),
    ),
)
"""All of the readers here."""
