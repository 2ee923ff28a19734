"""Asking the tools of real MCP servers: what is sent, and what becomes a hit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.datasets.loading import load_dataset
from raglift.errors import ServiceFailed, ServiceUnusable
from raglift.retrieval.services import McpRetriever
from raglift.retrieval.services.mapping import ResponseFields
from raglift.retrieval.services.mcp_tools import ResultReader, planned_call
from raglift.types.filters import Filter
from raglift.utilities.display import Secrets

pytestmark = pytest.mark.slow

SECRET = "hush-hush-4711"  # noqa: S105 — a key that nobody has
QUERY = "When is the lamp lit?"


@pytest.fixture(scope="module")
def server(http_address: str) -> Iterator[str]:
    return http_address


def texts(retriever: McpRetriever, k: int = 3) -> list[str]:
    return [hit.chunk.text for hit in retriever.retrieve_one(QUERY, k).hits]


def expected(sdk_module: Any, k: int = 3) -> list[str]:
    return [hit.chunk.text for hit in sdk_module.retriever.retrieve([QUERY], k)[0].hits]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_run_equals_that_of_the_same_retriever_in_process(
    transport: str, sdk_command: str, http_address: str, sdk_module: Any
) -> None:
    dataset = load_dataset("lighthouse").sample(8)
    reference = f"{sdk_command if transport == 'stdio' else http_address}#search"
    options: Any = {"ks": [1, 3], "progress": False}
    asked = rl.evaluate(reference, dataset, concurrency=4, **options)
    here = rl.evaluate(sdk_module.retriever, dataset, **options)
    assert [trace.stages[0].ranking for trace in asked.run.traces] == [
        trace.stages[0].ranking for trace in here.run.traces
    ]
    np.testing.assert_array_equal(asked.scores.values, here.scores.values)
    assert asked.run.stages[0].system == f"MCP {reference.split(':', 1)[1] if transport == 'stdio' else reference[4:]}"


def test_structured_content_has_hits_with_their_fields(server: str, sdk_module: Any) -> None:
    with McpRetriever(f"{server}#search") as retriever:
        found = retriever.retrieve_one(QUERY, 3)
    assert found.hits == sdk_module.retriever.retrieve([QUERY], 3)[0].hits
    assert found.hits[0].chunk.doc_id is not None
    assert found.hits[0].chunk.start is not None


@pytest.mark.parametrize(
    "mapping",
    [
        {
            "tool": "as_json",
            "arguments": {"question": "{query}", "most": "{k}"},
            "response": {"hits": "found.rows", "text": "text", "id": "id"},
        },
        {"tool": "as_texts"},
        {"tool": "as_prose", "separator": "\n---\n"},
    ],
    ids=["JSON in a text", "a text each", "one text with a separator"],
)
def test_hits_are_read_from_texts(server: str, sdk_module: Any, mapping: dict[str, Any]) -> None:
    with McpRetriever(server, mapping) as retriever:
        assert texts(retriever) == expected(sdk_module)


def test_a_tool_that_answers_every_query_with_one_text_is_told_of_the_separator(server: str) -> None:
    data = rl.Dataset.from_dict({QUERY: ["the lamp"], "when was the lamp lit?": ["the lamp"]})

    def said(mapping: dict[str, str]) -> list[str]:
        with McpRetriever(f"{server}#as_prose", mapping) as retriever:
            notes = rl.evaluate(retriever, data, ks=(3,), metrics=["recall"], progress=False).notes
        return [note for note in notes if "separator" in note]

    assert len(said({})) == 1
    assert said({"separator": "\n---\n"}) == []


def test_resources_and_links_are_hits_under_their_addresses_and_pictures_are_none(server: str, sdk_module: Any) -> None:
    first, second = (hit.chunk for hit in sdk_module.retriever.retrieve([QUERY], 2)[0].hits)
    with McpRetriever(f"{server}#as_resources") as retriever:
        found = [(hit.chunk.text, hit.chunk.doc_id) for hit in retriever.retrieve_one(QUERY, 5).hits]
    assert found == [(first.text, f"file:///{first.doc_id}"), (second.text, f"file:///{second.doc_id}")]


def test_no_more_are_asked_for_than_the_schema_of_the_tool_allows(server: str, sdk_module: Any) -> None:
    with McpRetriever(f"{server}#few") as retriever:
        assert texts(retriever, 10) == expected(sdk_module, 2)


def test_the_filter_of_a_query_is_an_argument_where_the_mapping_has_a_place_for_it(server: str) -> None:
    mapping = {"tool": "told", "arguments": {"query": "{query}", "where": "{filter}"}}
    year = Filter.of({"year": {"gte": 2023}})
    with McpRetriever(server, mapping) as retriever:
        assert retriever.takes_filters
        found = [retriever.retrieve_one("lamp", 1, given).hits[0].chunk.text for given in (year, None)]
    assert found == ['lamp where {"year": {"gte": 2023}}', "lamp where null"]
    with McpRetriever(f"{server}#told") as retriever:
        assert not retriever.takes_filters


def test_a_tool_that_reports_an_error_fails_the_query(server: str) -> None:
    with McpRetriever(f"{server}#broken") as retriever, pytest.raises(ServiceFailed, match="the index is gone"):
        retriever.retrieve_one(QUERY, 3)


def test_all_pages_of_the_list_of_tools_are_read(raw: Callable[..., str]) -> None:
    with McpRetriever(f"{raw('pages')}#search") as retriever:  # it is on the last page
        assert retriever.plan().name == "search"


def test_a_server_that_crashes_is_started_again_for_the_next_try(raw: Callable[..., str], tmp_path: Path) -> None:
    dataset = rl.Dataset.from_dict({"before": ["before 0"], "die": ["die 0"], "after": ["after 0"]})
    evaluation = rl.evaluate(raw("dies once", tmp_path / "mark"), dataset, ks=[1], metrics=["recall"], progress=False)
    assert not evaluation.failures()
    assert evaluation.scores.mean("retrieve", "recall@1") == 1.0


def test_one_process_serves_all_queries_and_is_gone_after_the_block(raw: Callable[..., str], tmp_path: Path) -> None:
    with McpRetriever(raw("stays", tmp_path / "pids")) as retriever:
        for query in ("a", "b"):
            retriever.retrieve_one(query, 1)
    (pid,) = (tmp_path / "pids").read_text().split()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)  # neither running nor a zombie


def test_what_a_server_may_know_is_named_and_kept_nowhere(
    raw: Callable[..., str], sdk_command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES_KEY", SECRET)
    dataset = rl.Dataset.from_dict({"good": ["good 0"]})
    system = McpRetriever(raw("", "${NOTES_KEY}"), {"env": {"NOTES_KEY": "${NOTES_KEY}"}})
    evaluation = rl.evaluate(system, dataset, ks=[1], progress=False)
    evaluation.save(tmp_path / "run")
    written = "".join(path.read_text(errors="replace") for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert "NOTES_KEY" in written
    for text in (written, repr(system), str(system), json.dumps(evaluation.run.spec, default=str)):
        assert SECRET not in text


@pytest.mark.parametrize(
    ("count", "most"),
    [
        ({"type": "integer", "maximum": 20}, 20),
        ({"anyOf": [{"type": "integer", "maximum": 20}, {"type": "null"}]}, 20),
        ({"maximum": float("inf")}, None),
        (True, None),
    ],
)
def test_the_largest_k_is_that_of_the_schema(count: dict[str, Any], most: int | None) -> None:
    tool = SimpleNamespace(name="search", input_schema={"properties": {"query": {"type": "string"}, "k": count}})
    assert planned_call([tool], None, None, "server").most == most


def test_the_only_argument_that_is_required_is_the_query() -> None:
    schema = {"properties": {"wanted": {"type": "string"}, "k": {}}, "required": ["wanted"]}
    tool = SimpleNamespace(name="search", input_schema=schema)
    assert planned_call([tool], None, None, "server").template == {"wanted": "{query}", "k": "{k}"}


def test_a_text_that_says_that_nothing_was_found_is_no_hit_where_the_mapping_says_how_it_begins(server: str) -> None:
    with McpRetriever(f"{server}#as_prose", {"empty": "Nothing found"}) as retriever:
        assert retriever.retrieve_one("", 3).hits == ()
        assert len(retriever.retrieve_one(QUERY, 3).hits) == 1


@pytest.mark.parametrize(
    ("structured", "texts", "found"),
    [
        (None, ["[1] The lamp."], ["[1] The lamp."]),
        (None, ['{"took": 3}', "The lamp."], ['{"took": 3}', "The lamp."]),
        (None, ['{"text": "The lamp."}', '{"text": "The horn."}'], ["The lamp.", "The horn."]),
        ({"took": 3}, ["The lamp."], ["The lamp."]),
    ],
)
def test_texts_that_are_no_hits_in_json_are_hits_themselves(
    structured: Any, texts: list[str], found: list[str]
) -> None:
    content = [SimpleNamespace(type="text", text=text) for text in texts]
    result = SimpleNamespace(is_error=False, content=content, structured_content=structured)
    reader = ResultReader(ResponseFields(), None, None, Secrets(()))
    assert [chunk.text for chunk, _ in reader.read(result, "search")] == found


def test_a_schema_of_another_form_names_no_argument() -> None:
    tool = SimpleNamespace(name="search", input_schema={"properties": [], "required": 5})
    with pytest.raises(ServiceUnusable, match="no argument that is the query"):
        planned_call([tool], None, None, "server")
