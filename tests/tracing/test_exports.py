"""What is exported of one agent gives the same sessions, whichever form it has."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.tracing import TraceImport

from . import agents

FIXTURES = Path(__file__).parent / "fixtures"
EXPORTS = ("otlp_file_exporter.jsonl.gz", "phoenix_api.json", "langsmith_runs.jsonl")
RUNS = {"span": "id", "parent": "parent_run_id", "kind": "run_type", "input": "inputs", "output": "outputs"}
"""The columns of runs of LangSmith."""


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


def read(name: str, dataset: rl.Dataset, **settings: Any) -> TraceImport:
    columns = RUNS if name.startswith("langsmith") else None
    return rl.read_traces(FIXTURES / name, dataset, columns=columns, **settings)


def searches_in(sessions: Any) -> Any:
    return {
        (session.query_id, call.query): [[hit.chunk.id for hit in stage.ranking] for stage in call.stages]
        for session in sessions
        for call in session.calls
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTS)
def test_each_export_gives_the_searches_of_the_agent(lighthouse: rl.Dataset, searched: Any, name: str) -> None:
    imported = read(name, lighthouse)
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
def test_metadata_given_to_the_framework_is_in_the_export(lighthouse: rl.Dataset, name: str) -> None:
    join_by = "extra.metadata.query_id" if name.startswith("langsmith") else "query_id"
    imported = read(name, lighthouse, join_by=join_by)
    assert [trace.joined_by for trace in imported.traces] == ["id", "id"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [({"spam": "id"}, "found 'spam'; expected parts of a span: trace, span"), ({"span": ""}, "span: found ''")],
)
def test_columns_that_no_span_has_are_refused(lighthouse: rl.Dataset, columns: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        rl.read_traces(FIXTURES / EXPORTS[0], lighthouse, columns=columns)


# Forms of files.


def unpacked() -> list[dict[str, Any]]:
    with gzip.open(FIXTURES / EXPORTS[0], "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def spans(requests: Any) -> list[Any]:
    return [
        span for request in requests for resource in request["resourceSpans"] for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]  # fmt: skip


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_folder_and_a_file_given_twice_count_once(lighthouse: rl.Dataset, tmp_path: Path) -> None:
    for number, request in enumerate(unpacked()):
        (tmp_path / f"{number}.json").write_text(json.dumps(request), encoding="utf-8")
    imported = rl.read_traces([tmp_path, str(FIXTURES / EXPORTS[0])], lighthouse)
    assert len(imported.sessions) == len(imported.traces) == 2
    assert not imported.faults
