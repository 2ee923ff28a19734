"""Traces: OTLP and the exports of tools, requests to the receiver, and the file that it keeps."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from raglift.errors import DatasetError, Fault
from raglift.records import Dataset, Fact, Passage, Query
from raglift.tracing import TraceImport, read_traces
from raglift.tracing.receiving.keeping import KeptSpans
from raglift.tracing.receiving.requests import JSON, PROTOBUF, Refused, answer_of, spans_of_request
from raglift.tracing.spans import Options

from .reader import Reader

__all__ = ["READERS"]

_QUESTION = "Where did the cat sit?"
_DATA = Dataset((Query("q1", _QUESTION, (Fact((Passage("The cat sat on the mat."),)),)),))
_TIMES = {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000010000000"}
_FIXTURES = Path(__file__).parents[1] / "tracing" / "fixtures"


def _attributes(found: dict[str, Any]) -> list[Any]:
    return [{"key": name, "value": value} for name, value in found.items()]


def _text(value: str) -> dict[str, str]:
    return {"stringValue": value}


def _otlp() -> dict[str, Any]:
    hit = {
        "openinference.span.kind": _text("RETRIEVER"),
        "input.value": _text("cat"),
        "retrieval.documents.0.document.content": _text("The cat sat on the mat."),
        "retrieval.documents.0.document.id": {"intValue": "7"},
        "retrieval.documents.0.document.score": {"doubleValue": 0.5},
        "retrieval.documents.0.document.metadata": _text('{"source": "a.md", "start_index": 3}'),
    }
    reranked = {
        "openinference.span.kind": _text("RERANKER"),
        "reranker.query": _text("cat"),
        "reranker.input_documents.0.document.content": _text("The cat sat on the mat."),
        "reranker.output_documents.0.document.content": _text("The cat sat on the mat."),
    }
    tool = {
        "gen_ai.operation.name": _text("execute_tool"),
        "gen_ai.tool.call.arguments": {"kvlistValue": {"values": _attributes({"query": _text("mat")})}},
        "gen_ai.tool.call.result": _text(json.dumps({"results": [{"text": "The mat.", "id": "m"}]})),
    }
    said = {
        "openinference.span.kind": _text("LLM"),
        "llm.input_messages.0.message.role": _text("user"),
        "llm.input_messages.0.message.content": _text("The cat sat on the mat."),
        "llm.token_count.prompt": {"intValue": 9},
    }
    root = {
        "openinference.span.kind": _text("AGENT"),
        "input.value": _text(json.dumps({"messages": [{"role": "user", "content": _QUESTION}]})),
        "tag.tags": {"arrayValue": {"values": [_text("query_id:q1")]}},
    }
    spans = [
        {"traceId": "t", "spanId": "r", "name": "agent", **_TIMES, "attributes": _attributes(root)},
        *(
            {
                "traceId": "t",
                "spanId": name,
                "parentSpanId": "r",
                "name": name,
                **_TIMES,
                "attributes": _attributes(found),
            }
            for name, found in (("a", hit), ("b", reranked), ("c", tool), ("d", said))
        ),
    ]
    event = {"name": "exception", "attributes": _attributes({"exception.message": _text("no")})}
    spans[0] |= {"status": {"code": 2, "message": "no"}, "events": [event], "droppedAttributesCount": 0}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": spans}]}]}


def _read(folder: Path) -> TraceImport:
    return read_traces(folder, _DATA, join_by="query_id", doc_key=None, text_tools=["c"])


def _read_rows(folder: Path) -> TraceImport:
    columns = {"span": "id", "parent": "parent_run_id", "kind": "run_type", "input": "inputs", "output": "outputs"}
    return read_traces(folder, _DATA, join_by="extra.metadata.query_id", columns=columns)


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
        encoding = "gzip" if name.endswith(".gz") else ""
        try:
            spans, rejected = spans_of_request((folder / name).read_bytes(), kind, encoding, faults, Options())
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
    kept.add(spans, options)
    kept.close()
    return read_traces(copy, _DATA)


READERS: tuple[Reader, ...] = (
    Reader(
        "traces as OTLP",
        lambda folder: (folder / "traces.json").write_text(json.dumps(_otlp())),
        _read,
        check=_check,
    ),
    Reader(
        "traces packed with gzip",
        lambda folder: (folder / "traces.jsonl.gz").write_bytes(gzip.compress((json.dumps(_otlp()) + "\n").encode())),
        _read,
        check=_check,
    ),
    Reader("traces as rows of another export", _export("langsmith_runs.jsonl"), _read_rows, check=_check),
    Reader(
        "request of OTLP as JSON",
        lambda folder: (folder / "request.json").write_text(json.dumps(_otlp())),
        _request(JSON, "request.json"),
    ),
    Reader("request of OTLP as protobuf", _protobuf, _request(PROTOBUF, "request.bin")),
    Reader(
        "received spans",
        lambda folder: (folder / "kept.jsonl").write_text(json.dumps(_otlp()) + "\n"),
        _gone_on_with,
        changes=("again.jsonl",),
    ),
)
"""All of the readers here."""
