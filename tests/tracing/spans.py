"""Traces made by hand, in OTLP's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import raglift as rl
from raglift.tracing import TraceImport
from raglift.types import Fact, Passage, Query

TEXTS = {
    "lamp": "The lamp of the lighthouse was first lit in the winter of 1871.",
    "keeper": "Its first keeper was Maud Ellery, who served for thirty years.",
    "horn": "In fog the horn gives two blasts every forty-five seconds.",
    "tower": "The tower has two hundred and four steps and one landing.",
    "gulls": "Gulls nest on the rocks below the northern wall in spring.",
}
QUESTION = "When was the lamp first lit, and who kept it?"
DATA = rl.Dataset(
    (
        Query("q1", QUESTION, tuple(Fact((Passage(TEXTS[name]),)) for name in ("lamp", "keeper"))),
        Query("q2", "How often does the horn sound?", (Fact((Passage(TEXTS["horn"]),)),)),
        Query("twin-1", "How many steps?", (Fact((Passage(TEXTS["tower"]),)),)),
        Query("twin-2", "how many  STEPS?", (Fact((Passage(TEXTS["tower"]),)),)),
    )
)


def value(given: Any) -> dict[str, Any]:
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, (list, tuple)):
        return {"arrayValue": {"values": [value(each) for each in given]}}
    if isinstance(given, Mapping):
        return {"kvlistValue": {"values": [{"key": name, "value": value(each)} for name, each in given.items()]}}
    return {"stringValue": given}


def span(
    name: str, attributes: Mapping[str, Any], parent: str = "", *, at: int = 0, trace: str = "t1", **fields: Any
) -> dict[str, Any]:
    """A span whose id is its name; `at` is its start in milliseconds, and it takes ten."""
    begun = 1_700_000_000_000_000_000 + at * 1_000_000
    return {
        "traceId": trace,
        "spanId": name,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(begun),
        "endTimeUnixNano": str(begun + 10_000_000),
        "attributes": [{"key": key, "value": value(each)} for key, each in attributes.items()],
        **fields,
    }


def documents(prefix: str, *names: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, name in enumerate(names):
        found[f"{prefix}.{number}.document.content"] = TEXTS[name]
        found[f"{prefix}.{number}.document.id"] = name
        found[f"{prefix}.{number}.document.score"] = 1.0 / (number + 1)
    return found


def kind(name: str, given: str = "", **attributes: Any) -> dict[str, Any]:
    return {"openinference.span.kind": name, **({"input.value": given} if given else {}), **attributes}


def agent(question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    return span("agent", kind("AGENT", question), **fields)


def retriever(name: str, query: str, *hits: str, parent: str = "agent", **fields: Any) -> dict[str, Any]:
    return span(name, {**kind("RETRIEVER", query), **documents("retrieval.documents", *hits)}, parent, **fields)


def reranker(name: str, given: Sequence[str], *hits: str, parent: str = "agent", **fields: Any) -> dict[str, Any]:
    attributes = {
        **kind("RERANKER"),
        "reranker.query": "?",
        **documents("reranker.input_documents", *given),
        **documents("reranker.output_documents", *hits),
    }
    return span(name, attributes, parent, **fields)


def tool(name: str, given: str, answer: str, parent: str = "agent", **fields: Any) -> dict[str, Any]:
    attributes = {**kind("TOOL", given), "tool.name": name.partition("-")[0], "output.value": answer}
    return span(name, attributes, parent, **fields)


def model(name: str, *said: str, parent: str = "agent", **fields: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = kind("LLM")
    for number, text in enumerate(said):
        attributes[f"llm.input_messages.{number}.message.role"] = "user" if number == 0 else "tool"
        attributes[f"llm.input_messages.{number}.message.content"] = text
    return span(name, {**attributes, "llm.token_count.prompt": 50}, parent, **fields)


def request(spans: Iterable[Any], resource: Mapping[str, Any] | None = None) -> dict[str, Any]:
    known = [{"key": name, "value": value(each)} for name, each in (resource or {}).items()]
    return {"resourceSpans": [{"resource": {"attributes": known}, "scopeSpans": [{"spans": list(spans)}]}]}


def read(tmp_path: Path, spans: Iterable[Any], **options: Any) -> TraceImport:
    file = tmp_path / "traces.json"
    file.write_text(json.dumps(request(spans)), encoding="utf-8")
    return rl.read_traces(file, DATA, **options)


def calls(session: rl.Session) -> list[tuple[str, str, list[list[str]]]]:
    """The tool, the text and the hits at each stage of each call."""
    return [
        (call.tool, call.query, [[hit.chunk.id for hit in stage.ranking] for stage in call.stages])
        for call in session.calls
    ]
