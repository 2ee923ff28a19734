"""Damaged traces: each has its error, with its place, and what is whole beside it is read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.errors import DatasetError
from raglift.tracing import attributes

from .spans import DATA, QUESTION, agent, documents, kind, read, request, retriever, span, value

WHOLE = [agent(), retriever("a", "lamp", "lamp", at=1)]


def as_text(spans: Any = WHOLE) -> str:
    return json.dumps(request(spans))


def changed(number: int, **fields: Any) -> str:
    return as_text([{**each, **(fields if place == number else {})} for place, each in enumerate(WHOLE)])


def circle() -> str:
    first, second = span("b", kind("CHAIN"), "c"), span("c", kind("CHAIN"), "b")
    return as_text([first, second])


HUGE = {**kind("RETRIEVER", "x"), **documents("retrieval.documents", "lamp")}
HUGE["retrieval.documents.999999999.document.content"] = "x"

# what is written, and what is said of it
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "cut off": (as_text()[:300].encode(), "column"),
    "no trace": (b'{"queries": []}', "expected a trace: OTLP"),
    "a number": (b"42", "expected"),
    "not UTF-8": (as_text().encode().replace(b"lamp", b"l\xe4mp"), "which is not UTF-8"),
    "UTF-16": (as_text().encode("utf-16"), "UTF-16"),
    "nested too deeply": (b'{"resourceSpans": ' + b"[" * 200_000, "nested too deeply"),
    "spans are no list": (json.dumps({"resourceSpans": {"a": 1}}).encode(), "expected a list of objects"),
    "no span at all": (json.dumps(request([])).encode(), "no spans"),
    "gzip that ends too early": (gzip.compress(as_text().encode())[:60], "gzip that ends too early"),
    "an empty file": (b"", "expected"),
    "a field twice": (b'{"resourceSpans": [], "resourceSpans": []}', "twice"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_of_which_nothing_can_be_read_is_refused(tmp_path: Path, name: str) -> None:
    data, said = UNREADABLE[name]
    file = tmp_path / "traces.json"
    file.write_bytes(data)
    with pytest.raises(DatasetError) as error:
        rl.read_traces(file, DATA)
    assert said in str(error.value)
    assert "traces.json" in str(error.value)


# what is written, the fault, and why its trace is not joined
DAMAGED: dict[str, tuple[str, str, str]] = {
    "a start that is no time": (changed(0, startTimeUnixNano="soon"), "scopeSpans[0].spans[0].startTimeUnixNano", ""),
    "a negative time": (changed(1, startTimeUnixNano=-5), "nanoseconds since 1970", "no_retrieval"),
    "an end before the start": (changed(1, endTimeUnixNano="1"), "before it begins", "no_retrieval"),
    "a span without id": (changed(1, spanId=""), "the id of the span", "no_retrieval"),
    "an id that is no text": (changed(1, spanId={"a": 1}), "an id: a text", "no_retrieval"),
    "attributes that are no list": (changed(1, attributes={"a": 1}), "a list of keys and values", "no_retrieval"),
    "a span that is no object": (as_text([*WHOLE, 7]), "expected an object", ""),
    "parents in a circle": (circle(), "below each other in a circle", "damaged"),
    "two spans of one id": (as_text([*WHOLE, {**WHOLE[1], "name": "other"}]), "a second time", "damaged"),
    "a number beyond all documents": (as_text([agent(), span("a", HUGE, "agent")]), "", "truncated"),
    "documents that are no JSON": (
        as_text([agent(), span("a", {**kind("RETRIEVER", "x"), "retrieval.documents": "[{oops"}, "agent")]),
        "",
        "no_documents",
    ),
    "documents that are numbers": (
        as_text([agent(), span("a", {**kind("RETRIEVER", "x"), "retrieval.documents": [1, 2]}, "agent")]),
        "",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_trace_is_listed(tmp_path: Path, name: str) -> None:
    text, said, reason = DAMAGED[name]
    file = tmp_path / "traces.json"
    whole = request([agent(trace="whole", at=500), retriever("w", "x", "lamp", trace="whole", at=501)])
    file.write_text(f"{text}\n{json.dumps(whole)}\n", encoding="utf-8")
    imported = rl.read_traces(file, DATA)
    assert any(said in str(fault) and str(fault).startswith("traces.json:1") for fault in imported.faults) or not said
    of_damaged = [trace for trace in imported.traces if trace.trace_id != "whole"]
    if reason:
        assert [trace.reason for trace in of_damaged] == [reason]
    assert "whole" in {trace.trace_id for trace in imported.traces if trace.query_id == "q1"}


def test_a_line_that_is_cut_off_is_listed_and_the_others_are_read(tmp_path: Path) -> None:
    """As where the process that wrote it was killed."""
    file = tmp_path / "traces.jsonl"
    file.write_text(f"{as_text()}\n{as_text()[:200]}", encoding="utf-8")
    imported = rl.read_traces(file, DATA)
    assert len(imported.sessions) == 1
    (fault,) = imported.faults
    assert str(fault).startswith("traces.jsonl:2: column")
    assert "1 fault in what was read" in str(imported)


def test_the_first_line_of_lines_may_be_damaged_too(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text(f"{{oops\n{as_text()}\n", encoding="utf-8")
    imported = rl.read_traces(file, DATA)
    assert len(imported.sessions) == len(imported.faults) == 1


def test_a_file_larger_than_what_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "traces.json"
    file.write_bytes(gzip.compress((json.dumps(request(WHOLE), indent=1) + " " * 10_000_000).encode()))
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "1000000")
    with pytest.raises(DatasetError, match="more than 1,000,000 bytes"):
        rl.read_traces(file, DATA)
    lines = tmp_path / "traces.jsonl.gz"
    lines.write_bytes(gzip.compress((as_text() + "\n" + "\n" * 3_000_000 + as_text()).encode()))
    imported = rl.read_traces(lines, DATA)
    assert "more than 1,000,000 bytes" in str(imported.faults[0])


def test_an_attribute_that_is_too_long_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raglift.tracing.decoding.fields.LONGEST_VALUE", 1_000)
    spans = [*WHOLE, span("b", kind("CHAIN", "x" * 1_001), "agent")]
    (fault,) = read(tmp_path, spans).faults
    assert "1,001 characters; expected at most 1,000" in str(fault)


def test_more_spans_than_are_read_are_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raglift.tracing.reading.MOST_SPANS", 2)
    (fault,) = read(tmp_path, [*WHOLE, span("b", {}, "agent")]).faults
    assert "more than 2 spans" in str(fault)


def test_values_nested_deeply_are_no_error(tmp_path: Path) -> None:
    deep = value("x")
    for _ in range(300):
        deep = {"arrayValue": {"values": [deep]}}
    bomb = {"key": "input.value", "value": deep}
    text = {"key": "output.value", "value": {"stringValue": "[" * 100_000}}
    spans = [{**each, "attributes": [*each["attributes"], bomb, text]} for each in WHOLE]
    assert len(read(tmp_path, spans).traces) == 1


def chain(number: int) -> list[Any]:
    return [agent(), *(span(f"s{i}", kind("CHAIN"), f"s{i - 1}" if i else "agent") for i in range(number))]


def in_each_other(number: int) -> list[Any]:
    return [retriever(f"s{i}", QUESTION, "lamp", parent=f"s{i - 1}" if i else "") for i in range(number)]


def one_session(number: int) -> list[Any]:
    return [agent(), *(retriever(f"s{i}", "x", "lamp", at=i) for i in range(number))]


def rerankers(number: int) -> list[Any]:
    attributes = {**kind("RERANKER"), **documents("reranker.output_documents", "lamp")}
    return [agent(), *(span(f"s{i}", attributes, "agent", at=i) for i in range(number))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "made", [chain, *(pytest.param(each, marks=pytest.mark.full) for each in (in_each_other, one_session, rerankers))]
)
def test_odd_traces_of_many_spans_are_read(tmp_path: Path, made: Callable[[int], Any]) -> None:
    assert len(read(tmp_path, made(10_000)).traces) > 0


def test_the_numbers_of_lists_are_bounded() -> None:
    found = attributes.numbered({"a.10000.x": 1, "a.0.x": 2, "a.-1.x": 3, "a.٣.x": 4, "a.b": 5}, "a")
    assert found is not None
    assert found.items == ({"x": 2},)
    assert found.lost == "the attribute a.10000.x"
    assert attributes.numbered({"b.0": 1}, "a") is None
