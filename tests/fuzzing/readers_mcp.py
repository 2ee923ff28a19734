"""MCP servers: the mapping, what a tool returns, and the folder that an agent sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from raglift.apps.mcp_server.workspace import Workspace
from raglift.base.display import Secrets
from raglift.components.services.mapping import ResponseFields, load_mapping
from raglift.components.services.mcp_results import ResultReader
from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable

from .reader import Reader

__all__ = ["READERS"]

_MAPPING: dict[str, Any] = {
    "tool": "search",
    "arguments": {"query": "{query}", "size": "{k}", "filters": [{"lang": "en"}]},
    "env": {"NOTES_KEY": "x"},
    "headers": {"X-Team": "search"},
    "response": {"hits": "found.rows", "text": "text", "id": "id"},
    "separator": "\n---\n",
    "timeout": 2.5,
}
_HITS = [{"text": "The cat sat.", "id": "c1", "doc_id": "cat", "score": 0.9}, {"text": "Ünten am Fluß", "id": 2}]
_RESULT = {
    "content": [
        {"type": "text", "text": json.dumps(_HITS)},
        {"type": "resource_link", "name": "cat", "uri": "file:///cat", "description": "A cat."},
        {"type": "resource", "resource": {"uri": "file:///dog", "text": "A dog."}},
    ],
    "structuredContent": {"result": _HITS},
}
_QUERY = {"id": "q1", "query": "Where?", "relevant": ["The cat sat."]}


def _read_result(folder: Path) -> object:
    from mcp_types import CallToolResult

    try:
        result = CallToolResult.model_validate_json((folder / "result.json").read_bytes(), by_name=False)
    except (ValueError, OSError, RecursionError):  # as the SDK refuses it
        raise ServiceUnusable("no result") from None
    return ResultReader(ResponseFields(), "\n", "No", Secrets(())).read(result, "search")


def _listed(folder: Path) -> object:
    workspace = Workspace(folder)
    try:
        return workspace.datasets(), workspace.runs()
    finally:
        workspace.close()


def _texts(hits: Any) -> None:
    for chunk, _ in hits:
        assert isinstance(chunk.text, str)


READERS: tuple[Reader, ...] = (
    Reader(
        "MCP mapping",
        lambda folder: (folder / "mapping.yaml").write_text(json.dumps(_MAPPING)),
        lambda folder: load_mapping(folder / "mapping.yaml"),
        (ConfigurationError,),
        repr,
    ),
    Reader(
        "result of an MCP tool",
        lambda folder: (folder / "result.json").write_text(json.dumps(_RESULT)),
        _read_result,
        (ServiceFailed, ServiceUnusable),
        _texts,
    ),
    Reader(
        "folder of an agent",
        lambda folder: (folder / "mine.jsonl").write_text(json.dumps(_QUERY)),
        _listed,
        (),
    ),
)
"""All of the readers here."""
