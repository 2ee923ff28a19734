"""What tracing tools export of one agent gives the same sessions, whichever tool recorded it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import raglift as rl
from raglift.tracing.decoding.files import spans_in
from raglift.tracing.options import Options

from . import agents

FIXTURES = Path(__file__).parent / "fixtures"
EXPORTS = (
    "otlp_file_exporter.jsonl.gz",
    "phoenix_frame.jsonl",
    "phoenix_api.json",
    "mlflow_traces.jsonl",
    "langfuse_otlp.jsonl",
    "langsmith_runs.jsonl",
)


@pytest.fixture(scope="module")
def lighthouse() -> rl.Dataset:
    return rl.load_dataset("lighthouse")


@pytest.fixture(scope="module")
def searched(lighthouse: rl.Dataset) -> Any:
    """What the retriever returns for the texts that the scripted model searches for, before and after reranking."""
    retriever = agents.langchain_reranked(lighthouse.documents, k=4, top_n=2)
    found = {}
    for query in lighthouse.queries[:2]:
        for text in agents.searches_for(query.text, 2):
            before, after = retriever.base_retriever.invoke(text), retriever.invoke(text)
            found[query.id, text] = [[document.id for document in stage] for stage in (before, after)]
    return found


def searches_in(sessions: Any) -> Any:
    return {
        (session.query_id, call.query): [[hit.chunk.id for hit in stage.ranking] for stage in call.stages]
        for session in sessions
        for call in session.calls
    }


@pytest.mark.parametrize("name", EXPORTS)
def test_each_export_gives_the_searches_of_the_agent(lighthouse: rl.Dataset, searched: Any, name: str) -> None:
    imported = rl.read_traces(FIXTURES / name, lighthouse)
    assert not imported.faults
    assert not imported.not_joined
    assert searches_in(imported.sessions) == searched
    for session in imported.sessions:
        assert session.error is None
        assert [call.tool for call in session.calls] == ["search", "search"]
        assert all(call.error is None and call.seconds is not None for call in session.calls)
        assert session.context is not None
        kept = {hit.chunk.id for hit in session.context}
        assert kept == {hit.chunk.id for call in session.calls for hit in call.ranking}
        for call in session.calls:
            for hit in call.ranking:
                document = lighthouse.document_by_id[hit.chunk.doc_id or ""]
                assert document.text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    assert [trace.model_calls for trace in imported.traces] == [3, 3]


@pytest.mark.parametrize("name", EXPORTS)
def test_all_exports_give_the_same_figures(lighthouse: rl.Dataset, name: str) -> None:
    def means(file: str) -> list[float]:
        imported = rl.read_traces(FIXTURES / file, lighthouse)
        return rl.evaluate_sessions(imported.sessions, lighthouse).scores.values.tolist()

    assert repr(means(name)) == repr(means(EXPORTS[0]))  # NaN equals itself so


@pytest.mark.parametrize("name", [name for name in EXPORTS if not name.startswith("mlflow")])
def test_metadata_given_to_the_framework_is_in_the_export(lighthouse: rl.Dataset, name: str) -> None:
    imported = rl.read_traces(FIXTURES / name, lighthouse, join_by="query_id")
    assert [trace.joined_by for trace in imported.traces] == ["id", "id"]


def test_data_frames_of_clients_are_read_as_they_are(lighthouse: rl.Dataset, searched: Any) -> None:
    lines = (FIXTURES / "phoenix_frame.jsonl").read_text(encoding="utf-8").splitlines()
    frame = pd.DataFrame([json.loads(line) for line in lines])
    for name in ("start_time", "end_time"):
        frame[name] = pd.to_datetime(frame[name], unit="ms", utc=True)
    for given in (frame, frame.set_index("context.span_id"), [frame, FIXTURES / "phoenix_frame.jsonl"]):
        imported = rl.read_traces(given, lighthouse)  # type: ignore[arg-type]
        assert not imported.faults
        assert searches_in(imported.sessions) == searched


def test_rows_of_mlflow_hold_a_trace_each(lighthouse: rl.Dataset, searched: Any) -> None:
    lines = (FIXTURES / "mlflow_traces.jsonl").read_text(encoding="utf-8").splitlines()
    frame = pd.DataFrame({"trace_id": range(len(lines)), "trace": lines})
    assert searches_in(rl.read_traces(frame, lighthouse).sessions) == searched


# Langfuse's exports, made of what its SDK sent: its server is no Python package.


def observations() -> list[dict[str, Any]]:
    found = []
    for raw in spans_in(FIXTURES / "langfuse_otlp.jsonl", [], Options()):
        given = {name.removeprefix("langfuse.observation."): value for name, value in raw.attributes.items()}
        found.append(
            {
                "id": raw.span_id,
                "traceId": raw.trace_id,
                "type": given["type"].upper(),
                "name": raw.name,
                "startTime": pd.Timestamp(raw.start, tz="UTC").isoformat(),
                "endTime": pd.Timestamp(raw.end, tz="UTC").isoformat(),
                "parentObservationId": raw.parent_id,
                "input": given.get("input"),
                "output": given.get("output"),
                "metadata": {"resourceAttributes": {}},
                "level": "DEFAULT",
                "statusMessage": None,
                "usageDetails": {"input": 100, "output": 10} if given["type"] == "generation" else {},
            }
        )
    return found


def snake(entry: dict[str, Any]) -> dict[str, Any]:
    """With the names that its exports to storage have."""
    return {"".join(f"_{each.lower()}" if each.isupper() else each for each in name): entry[name] for name in entry}


def as_lines(entries: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def as_traces(entries: list[dict[str, Any]]) -> str:
    by_trace: dict[str, list[Any]] = {}
    for entry in entries:
        by_trace.setdefault(entry["traceId"], []).append(entry)
    return json.dumps({"data": [{"id": name, "observations": found} for name, found in by_trace.items()]})


@pytest.mark.parametrize(
    "written",
    [
        as_lines,
        lambda entries: as_lines([snake(entry) for entry in entries]),
        json.dumps,
        lambda entries: json.dumps({"data": entries, "meta": {"page": 1}}, indent=2),
        as_traces,
    ],
    ids=["lines", "storage", "list", "api", "traces"],
)
def test_observations_of_langfuse_are_read(
    lighthouse: rl.Dataset, searched: Any, tmp_path: Path, written: Callable[[Any], str]
) -> None:
    file = tmp_path / "observations.json"
    file.write_text(written(observations()), encoding="utf-8")
    imported = rl.read_traces(file, lighthouse)
    assert not imported.faults
    assert searches_in(imported.sessions) == searched
    assert imported.traces[0].prompt_tokens == 300


# Forms of files.


def unpacked() -> list[dict[str, Any]]:
    with gzip.open(FIXTURES / EXPORTS[0], "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def spans(requests: Any) -> list[Any]:
    return [
        span for request in requests for resource in request["resourceSpans"] for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("requests.json", lambda found: "".join(json.dumps(each) + "\n" for each in found)),
        ("one.json", lambda found: json.dumps({"resourceSpans": [r for each in found for r in each["resourceSpans"]]})),
        ("pretty.json", lambda found: json.dumps(found, indent=1)),
        ("spans.ndjson", lambda found: "\n".join(json.dumps(span) for span in reversed(spans(found)))),
        ("crlf.jsonl", lambda found: "\ufeff" + "\r\n".join(json.dumps(each) for each in found) + "\r\n\r\n"),
        ("tempo.json", lambda found: json.dumps({"batches": [r for each in found for r in each["resourceSpans"]]})),
        (
            "snake.json",
            lambda found: json.dumps({"resource_spans": [r for each in found for r in each["resourceSpans"]]}),
        ),
    ],
)
def test_otlp_is_read_however_it_is_laid_out(
    lighthouse: rl.Dataset, searched: Any, tmp_path: Path, name: str, written: Callable[[Any], str]
) -> None:
    text = written(unpacked())
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    assert searches_in(rl.read_traces(tmp_path / name, lighthouse).sessions) == searched
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert searches_in(rl.read_traces(packed, lighthouse).sessions) == searched


def test_a_folder_and_a_file_given_twice_count_once(lighthouse: rl.Dataset, tmp_path: Path) -> None:
    for number, request in enumerate(unpacked()):
        (tmp_path / f"{number}.json").write_text(json.dumps(request), encoding="utf-8")
    imported = rl.read_traces([tmp_path, str(FIXTURES / EXPORTS[0])], lighthouse)
    assert len(imported.sessions) == len(imported.traces) == 2
    assert not imported.faults
