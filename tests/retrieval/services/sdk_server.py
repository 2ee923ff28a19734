"""An MCP server made with the SDK, whose tools return hits in every form that there is.

`python sdk_server.py` speaks over stdio; `app_of` serves the same tools over streamable HTTP.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

sys.path.insert(0, str(Path(__file__).parents[4] / "src"))  # a server gets no PYTHONPATH of its client's

from raglift.datasets.loading import load_dataset
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.chunkers import RecursiveChunker

server: MCPServer[Any] = MCPServer("lighthouse")
retriever = BM25Retriever(RecursiveChunker(400, 40).split(load_dataset("lighthouse").documents))


class Found(BaseModel):
    """A hit."""

    text: str
    id: str
    doc_id: str
    start: int
    end: int
    score: float


def ranked(query: str, k: int) -> list[Found]:
    """Return the hits of the retriever, as a tool returns them."""
    return [
        Found(**{name: getattr(hit.chunk, name) for name in ("text", "id", "doc_id", "start", "end")}, score=hit.score)
        for hit in retriever.retrieve([query], k)[0].hits
    ]


@server.tool()
def search(query: str, top_k: int = 5) -> list[Found]:
    """Search the keeper's notes: structured content."""
    return ranked(query, top_k)


@server.tool(structured_output=False)
def as_json(question: str, most: int) -> str:
    """The same as JSON in one text."""
    return json.dumps({"found": {"rows": [each.model_dump() for each in ranked(question, most)]}})


@server.tool(structured_output=False)
def as_texts(query: str, limit: int = 5) -> list[str]:
    """The same as one text each."""
    return [each.text for each in ranked(query, limit)]


@server.tool(structured_output=False)
def told(query: str, where: dict[str, Any] | None = None) -> str:
    """What it was told, as a hit."""
    return f"{query} where {json.dumps(where)}"


@server.tool()
def as_prose(query: str, limit: int = 5) -> str:
    """The same as one text with a line between, as the SDK wraps it."""
    return "\n---\n".join(each.text for each in ranked(query, limit)) if query else "Nothing found for this."


@server.tool(structured_output=False)
def as_resources(query: str, limit: int = 5) -> list[mcp_types.ContentBlock]:
    """A link, an embedded resource, and a picture."""
    (first, second) = ranked(query, 2)
    return [
        mcp_types.ResourceLink(name="notes", uri=f"file:///{first.doc_id}", description=first.text),
        mcp_types.ImageContent(data="", mime_type="image/png"),
        mcp_types.EmbeddedResource(
            resource=mcp_types.TextResourceContents(uri=f"file:///{second.doc_id}", text=second.text)
        ),
    ]


@server.tool()
def few(query: str, limit: int = Field(5, le=2)) -> list[Found]:
    """At most two."""
    return ranked(query, limit)


@server.tool()
def broken(query: str) -> list[Found]:
    """Always fails, and says what it knows."""
    raise ToolError(f"the index is gone, said with {os.environ.get('NOTES_KEY', 'no key')}")


if __name__ == "__main__":
    sys.stderr.write("the server has started\n")
    server.run()
