"""Traces are joined to labelled queries by id or text; what cannot be joined is listed, with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.tracing import TraceImport

from .spans import DATA, QUESTION, TEXTS, agent, documents, kind, model, read, request, retriever, span


def reasons(imported: TraceImport) -> list[tuple[str, str]]:
    return [(trace.reason, trace.detail) for trace in imported.traces]


def trace(number: int, question: str, *more: Any, **attributes: Any) -> list[Any]:
    """A trace with one search."""
    name = f"t{number}"
    root = span("agent", {**kind("AGENT", question), **attributes}, trace=name, at=number * 100)
    return [root, retriever("a", "x", "lamp", trace=name, at=number * 100 + 1), *more]


def test_traces_of_one_query_are_repetitions_in_the_order_of_their_starts(tmp_path: Path) -> None:
    imported = read(
        tmp_path, [*trace(2, QUESTION), *trace(1, f"{QUESTION} "), *trace(3, "how often does the HORN sound?")]
    )
    assert [(one.query_id, one.repetition) for one in imported.sessions] == [("q1", 1), ("q1", 2), ("q2", 1)]
    assert [(row.trace_id, row.query_id, row.repetition) for row in imported.traces] == [
        ("t1", "q1", 1),
        ("t2", "q1", 2),
        ("t3", "q2", 1),
    ]


@pytest.mark.parametrize(
    "attributes",
    [
        {"query_id": "q2"},
        {"metadata": '{"query_id": "q2", "other": 1}'},
        {"metadata": {"query_id": "q2"}},
        {"tag.tags": ["nightly", "query_id:q2"]},
        {"tag.tags": ["query_id=q2"]},
        {"tag.tags": [3, "query_id:q2"]},
    ],
)
def test_an_id_is_an_attribute_a_field_of_the_metadata_or_a_tag(tmp_path: Path, attributes: dict[str, Any]) -> None:
    spans = trace(1, "worded in another way", **attributes)
    (session,) = read(tmp_path, spans, join_by="query_id").sessions
    assert session.query_id == "q2"
    assert reasons(read(tmp_path, spans)) == [("no_such_query", '"worded in another way"')]


def test_an_id_may_be_at_any_span_or_at_the_resource(tmp_path: Path) -> None:
    inner = trace(1, "?", span("m", {**kind("LLM"), "query_id": "q2"}, "agent", trace="t1", at=120))
    assert read(tmp_path, inner, join_by="query_id").sessions[0].query_id == "q2"
    file = tmp_path / "resource.json"
    file.write_text(json.dumps(request(trace(1, "?"), {"query_id": "q2"})), encoding="utf-8")
    assert rl.read_traces(file, DATA, join_by="query_id").sessions[0].query_id == "q2"


def test_an_id_that_the_dataset_does_not_have_is_not_joined_by_text(tmp_path: Path) -> None:
    imported = read(tmp_path, [*trace(1, QUESTION, query_id="q9"), *trace(2, QUESTION)], join_by="query_id")
    assert reasons(imported) == [("no_such_query", 'the id "q9"'), ("", "")]
    assert [row.joined_by for row in imported.traces] == ["", "text"]


def test_ids_of_several_queries_are_ambiguous(tmp_path: Path) -> None:
    other = span("m", {**kind("LLM"), "query_id": "q2"}, "agent", trace="t1", at=120)
    imported = read(tmp_path, trace(1, QUESTION, other, query_id="q1"), join_by="query_id")
    assert reasons(imported) == [("ambiguous", 'the id "q1", "q2"')]


def test_a_text_of_several_queries_is_ambiguous_and_an_id_decides(tmp_path: Path) -> None:
    spans = trace(1, "How many steps?", query_id="twin-2")
    assert reasons(read(tmp_path, spans)) == [("ambiguous", 'the queries "twin-1", "twin-2"')]
    assert read(tmp_path, spans, join_by="query_id").sessions[0].query_id == "twin-2"


def test_a_trace_without_search_and_model_has_no_retrieval(tmp_path: Path) -> None:
    imported = read(tmp_path, [*trace(1, QUESTION), agent(trace="t2", at=200)])
    assert reasons(imported)[1][0] == "no_retrieval"


def test_an_answer_without_a_search_is_a_session_where_other_traces_search(tmp_path: Path) -> None:
    silent = [agent(trace="t2", at=200), model("m", QUESTION, trace="t2", at=210)]
    imported = read(tmp_path, [*trace(1, QUESTION), *silent])
    assert [len(session.calls) for session in imported.sessions] == [1, 0]
    alone = read(tmp_path, silent)  # nothing shows that its searches are recorded
    assert reasons(alone) == [("no_retrieval", "")]


def test_a_trace_whose_root_is_missing_is_joined_by_id_alone(tmp_path: Path) -> None:
    """As where the process was stopped: a span is exported when it ends, the root last."""
    spans = trace(1, QUESTION, model("m", QUESTION, trace="t1", at=130))[1:]
    ((reason, detail),) = reasons(read(tmp_path, spans))
    assert reason == "root_missing"
    assert '"agent"' in detail
    spans[0]["attributes"].append({"key": "query_id", "value": {"stringValue": "q1"}})
    assert read(tmp_path, spans, join_by="query_id").sessions[0].query_id == "q1"


def test_documents_that_the_exporter_left_out_are_missed(tmp_path: Path) -> None:
    spans = trace(1, QUESTION)
    spans[1]["droppedAttributesCount"] = 12
    ((reason, detail),) = reasons(read(tmp_path, spans))
    assert (reason, detail) == ("truncated", '"a" lacks 12 attributes, which the exporter left out')
    spans = trace(1, QUESTION)
    for each in spans[1]["attributes"]:
        each["key"] = each["key"].replace("documents.0", "documents.3")
    assert reasons(read(tmp_path, spans))[0][0] == "truncated"


def test_an_output_that_is_cut_off_is_missed(tmp_path: Path) -> None:
    whole = json.dumps({"documents": [{"page_content": text} for text in TEXTS.values()]})
    spans = [agent(), span("a", {**kind("RETRIEVER", "x"), "output.value": whole[:100]}, "agent")]
    assert reasons(read(tmp_path, spans)) == [("truncated", '"a" lacks output.value, which is cut off')]
    spans = [agent(), span("a", {**kind("RETRIEVER", "x"), "output.value": whole}, "agent")]
    assert len(read(tmp_path, spans).sessions[0].calls[0].ranking) == len(TEXTS)


@pytest.mark.parametrize(
    "attributes",
    [{}, {"retrieval.documents.0.document.content": "__REDACTED__"}, {"retrieval.documents.0.document.score": 0.5}],
)
def test_a_retriever_that_tells_no_documents_is_missed(tmp_path: Path, attributes: dict[str, Any]) -> None:
    imported = read(tmp_path, [agent(), span("a", {**kind("RETRIEVER", "x"), **attributes}, "agent")])
    assert reasons(imported)[0][0] == "no_documents"


def test_what_is_printed_says_how_many_were_joined_and_why_others_were_not(tmp_path: Path) -> None:
    imported = read(tmp_path, [*trace(1, QUESTION), *trace(2, "something else")])
    text = str(imported)
    assert "1 trace of 2 became sessions (1 by text): 1 of 4 questions, 1 call." in text
    assert "no such query" in text
    assert "something else" in text
    assert imported.to_frame()["reason"].tolist() == ["", "no_such_query"]


def test_arguments_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match='text_tools: found "search"; expected a list of names'):
        rl.read_traces(tmp_path, DATA, text_tools="search")
    with pytest.raises(ConfigurationError, match="expected a file or a folder"):
        rl.read_traces([3], DATA)  # type: ignore[list-item]
    with pytest.raises(DatasetError, match="a folder without traces"):
        rl.read_traces(tmp_path, DATA)
    with pytest.raises(DatasetError, match="no readable file"):
        rl.read_traces(tmp_path / "none.json", DATA)


def test_a_trace_in_which_nobody_asks_has_no_question(tmp_path: Path) -> None:
    found = {**kind("RETRIEVER"), **documents("retrieval.documents", "lamp")}
    silent = [span("agent", kind("AGENT")), span("a", found, "agent", at=1)]
    assert reasons(read(tmp_path, silent)) == [("no_question", "")]
