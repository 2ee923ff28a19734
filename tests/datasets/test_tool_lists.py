"""Tools as documents: which of many answers a question is a retrieval task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.components.bm25 import BM25Retriever
from raglift.components.chunkers import RecursiveChunker
from raglift.datasets.documents import read_documents
from raglift.errors import DatasetError

SEARCH = {
    "name": "search_notes",
    "title": "Search notes",
    "description": "Finds what the keeper wrote.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "order": {"enum": ["newest", "best"]},
            "filters": {"type": "array", "items": {"properties": {"year": {"type": "integer"}}}},
        },
        "required": ["query"],
    },
}
HORN = {"name": "sound_horn", "description": "Blows the fog horn once.", "inputSchema": {"type": "object"}}
TEXT = """search_notes
Search notes
Finds what the keeper wrote.
Arguments:
- query (string, required): What to look for.
- order (one of newest, best)
- filters (array)
  - year (integer)"""


def written(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    "value",
    [
        {"tools": [SEARCH, HORN]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [SEARCH, HORN]}},
        [SEARCH, HORN],
        [{"type": "function", "function": {**each, "parameters": each["inputSchema"]}} for each in (SEARCH, HORN)],
    ],
    ids=["result", "answer", "list", "functions"],
)
def test_each_tool_is_a_document_under_its_name(tmp_path: Path, value: Any) -> None:
    found = read_documents(written(tmp_path, value))
    assert [each.id for each in found] == ["search_notes", "sound_horn"]
    assert found[0].text == TEXT
    assert found[1].text == "sound_horn\nBlows the fog horn once."


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([HORN, HORN], 'tools[1]: found the name "sound_horn" for the second time'),
        ([HORN, {"name": " ", "inputSchema": {}}], "tools[1]"),
        ([HORN, *[{"name": f"t{n}", "inputSchema": {}} for n in range(5)], "no tool"], "tools[6]"),
    ],
)
def test_a_tool_that_is_none_is_a_fault_with_its_place(tmp_path: Path, tools: Any, message: str) -> None:
    with pytest.raises(DatasetError) as raised:
        read_documents(written(tmp_path, {"tools": tools}))
    assert message in str(raised.value)


def test_json_that_is_no_list_of_tools_is_read_as_before(tmp_path: Path) -> None:
    found = read_documents(written(tmp_path, {"notes": ["The lamp is lit."]}))
    assert found[0].id == "tools.json"


def test_labels_name_tools(tmp_path: Path) -> None:
    questions = {"How do I find an old entry?": "search_notes", "Blow the fog horn once": "sound_horn"}
    lines = [
        json.dumps({"id": str(number), "query": question, "relevant": [{"doc": tool}]})
        for number, (question, tool) in enumerate(questions.items())
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines))
    dataset = rl.load_dataset(tmp_path / "labels.jsonl", documents=written(tmp_path, {"tools": [SEARCH, HORN]}))
    retriever = BM25Retriever(RecursiveChunker(4000, 0).split(dataset.documents))
    evaluation = rl.evaluate(retriever, dataset, ks=[1], metrics=["recall"], progress=False)
    assert evaluation.scores.of("retrieve", "recall@1").tolist() == [1.0, 1.0]
    (tmp_path / "labels.jsonl").write_text(lines[0].replace("search_notes", "no_such_tool"))
    with pytest.raises(DatasetError, match="no_such_tool"):
        rl.load_dataset(tmp_path / "labels.jsonl", documents=tmp_path / "tools.json")
