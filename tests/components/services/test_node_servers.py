"""Servers of the protocol's own project, which run on Node.

They are looked for in the folder `node_modules` that RAGLIFT_TEST_NODE_MODULES names (`npm install
@modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory` makes one), and never fetched from here.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import raglift as rl
from raglift.components.services import McpRetriever

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def node_server() -> Callable[[str], str]:
    """Returns the command of a server by its name."""
    folder = os.environ.get("RAGLIFT_TEST_NODE_MODULES", "")

    def command(name: str) -> str:
        script = Path(folder) / "@modelcontextprotocol" / name / "dist" / "index.js"
        if shutil.which("node") is None or not folder or not script.is_file():
            pytest.skip(f"needs node, and {name} in the folder that RAGLIFT_TEST_NODE_MODULES names")
        return f"mcp:node '{script}'"

    return command


def test_a_search_for_files_equals_a_search_in_process(node_server: Callable[[str], str], tmp_path: Path) -> None:
    server = f"{node_server('server-filesystem')} '{tmp_path}'#search_files"
    for name in ("lamp_oil.md", "lamp_room.md", "horn.md"):
        (tmp_path / name).write_text(name)

    def found(pattern: str) -> list[str]:
        return sorted(map(str, tmp_path.glob(pattern)))

    labels = {"lamp*": [str(tmp_path / "lamp_room.md")], "*.md": [str(tmp_path / "horn.md")], "keeper*": ["nobody"]}
    dataset = rl.Dataset.from_dict(labels)
    mapping = {
        "arguments": {"path": str(tmp_path), "pattern": "{query}"},
        "separator": "\n",
        "empty": "No matches found",
    }
    options = {"ks": [1, 3], "progress": False}
    asked = rl.evaluate(McpRetriever(server, mapping), dataset, **options)
    here = rl.evaluate(found, dataset, **options)
    rankings = [
        [sorted(hit.chunk.text for hit in trace.stages[0].ranking.hits) for trace in each.run.traces]
        for each in (asked, here)
    ]
    assert rankings[0] == rankings[1]  # the order of files is the file system's
    assert asked.scores.mean("retrieve", "recall@3") == here.scores.mean("retrieve", "recall@3") == 2 / 3


def test_nodes_of_a_graph_are_found(node_server: Callable[[str], str], tmp_path: Path) -> None:
    notes = {"lamp": "The lamp is lit at dusk.", "horn": "The horn sounds in fog."}
    graph = tmp_path / "memory.jsonl"
    lines = [
        json.dumps({"type": "entity", "name": name, "entityType": "note", "observations": [text]})
        for name, text in notes.items()
    ]
    graph.write_text("\n".join(lines))
    mapping = {
        "env": {"MEMORY_FILE_PATH": str(graph)},
        "response": {"hits": "entities", "text": "observations.0", "id": "name"},
    }
    with McpRetriever(node_server("server-memory"), mapping) as retriever:  # search_nodes is its only search
        (hit,) = retriever.retrieve_one("dusk", 3).hits
    assert (hit.chunk.id, hit.chunk.text) == ("lamp", notes["lamp"])
