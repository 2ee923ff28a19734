"""Damaged traces: each has its error, with its place, and what is whole beside it is read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.errors import DatasetError
from raglift.tracing import attributes

from .spans import DATA, agent, documents, kind, read, request, retriever, span

WHOLE = [agent(), retriever("a", "lamp", "lamp", at=1)]


def as_text(spans: Any = WHOLE) -> str:
    return json.dumps(request(spans))


def changed(number: int, **fields: Any) -> str:
    return as_text([{**each, **(fields if place == number else {})} for place, each in enumerate(WHOLE)])


# what is written, and what is said of it
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "cut off": (as_text()[:300].encode(), "column"),
    "no trace": (b'{"queries": []}', "expected a trace: OTLP"),
    "not UTF-8": (as_text().encode().replace(b"lamp", b"l\xe4mp"), "which is not UTF-8"),
    "spans are no list": (json.dumps({"resourceSpans": {"a": 1}}).encode(), "expected a list of objects"),
    "no span at all": (json.dumps(request([])).encode(), "no spans"),
    "a number in a list": (b"[3]", "[0]: found 3; expected a trace"),
    "gzip that ends too early": (gzip.compress(as_text().encode())[:60], "gzip that ends too early"),
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


CIRCLE = [span("b", kind("CHAIN"), "c"), span("c", kind("CHAIN"), "b")]
# what is written, the fault, and why its trace is not joined
DAMAGED: dict[str, tuple[str, str, str]] = {
    "a start that is no time": (changed(0, startTimeUnixNano="soon"), "scopeSpans[0].spans[0].startTimeUnixNano", ""),
    "an end before the start": (changed(1, endTimeUnixNano="1600000000000000000"), "before it begins", "no_retrieval"),
    "a span without id": (changed(1, spanId=""), "the id of the span", "no_retrieval"),
    "attributes that are no list": (changed(1, attributes={"a": 1}), "a list of keys and values", "no_retrieval"),
    "a parent that is a number": (changed(1, parentSpanId=7), "expected an id: a text", "no_retrieval"),
    "a span that is a number": (as_text([*WHOLE, 3]), "spans[2]: found 3; expected an object", ""),
    "parents in a circle": (as_text(CIRCLE), "", "damaged"),
    "a circle beside a root": (as_text([*WHOLE, *CIRCLE]), "", "damaged"),
    "two spans of one id": (as_text([*WHOLE, {**WHOLE[1], "name": "other"}]), "", "damaged"),
}


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


def test_attributes_without_a_value_are_left_out(tmp_path: Path) -> None:
    spans = json.loads(json.dumps(WHOLE))
    spans[0]["attributes"] += [3, {"key": "a"}, {"key": "b", "value": 3}, {"key": "c", "value": {"bytesValue": "eA=="}}]
    imported = read(tmp_path, spans)
    assert not imported.faults
    assert [session.query_id for session in imported.sessions] == ["q1"]


@pytest.mark.parametrize("around", ["trace", "scope"])
def test_the_answer_of_tempo_and_one_scope_are_read(tmp_path: Path, around: str) -> None:
    whole = {"trace": request(WHOLE)} if around == "trace" else {"scopeSpans": [{"spans": WHOLE}]}
    (tmp_path / "traces.json").write_text(json.dumps(whole), encoding="utf-8")
    imported = rl.read_traces(tmp_path / "traces.json", DATA)
    assert [session.query_id for session in imported.sessions] == ["q1"]


def test_a_span_that_comes_twice_counts_once(tmp_path: Path) -> None:
    assert len(read(tmp_path, [*WHOLE, WHOLE[1]]).sessions[0].calls) == 1


def test_a_line_that_is_cut_off_is_listed_and_the_others_are_read(tmp_path: Path) -> None:
    """As where the process that wrote it was killed."""
    file = tmp_path / "traces.jsonl"
    file.write_text(f"{as_text()}\n{as_text()[:200]}", encoding="utf-8")
    imported = rl.read_traces(file, DATA)
    assert len(imported.sessions) == 1
    (fault,) = imported.faults
    assert str(fault).startswith("traces.jsonl:2: column")
    assert "1 fault in what was read" in str(imported)


def test_a_file_larger_than_what_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "traces.json"
    file.write_bytes(gzip.compress((json.dumps(request(WHOLE), indent=1) + " " * 2_000_000).encode()))
    monkeypatch.setenv("RAGLIFT_MAX_BYTES", "1000000")
    with pytest.raises(DatasetError, match="more than 1,000,000 bytes"):
        rl.read_traces(file, DATA)


def test_numbered_attributes_with_a_gap_are_a_list_that_lost_some() -> None:
    given = {**documents("a", "lamp"), "a.7.document.id": "horn"}
    found = attributes.numbered(given, "a")
    assert found is not None
    assert [item["document.id"] for item in found.items] == ["lamp", "horn"]
    assert found.lost == "a without number 1"
    assert attributes.numbered({"b.0": 1}, "a") is None
