"""The tools of a server as documents: which of 400 tools answers a question is a retrieval task too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.base.event_loops import result_of
from raglift.components.mcp.retriever import McpRetriever
from raglift.datasets.tool_lists import documents_of_tools

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from raglift.components.mcp.mapping import McpMapping
    from raglift.records.documents import Document


def listed_tools(
    reference: str, mapping: McpMapping | Mapping[str, Any] | str | os.PathLike[str] | None = None
) -> tuple[dict[str, Any], ...]:
    """Return the tools of an MCP server as it lists them, all pages, as JSON has them.

    Args:
        reference: the server, as `mcp:python server.py` or `mcp+http://127.0.0.1:8000/mcp`.
        mapping: its environment or headers, as for `McpRetriever`.

    Raises:
        ServiceUnusable: the server cannot be started, or is not there.
    """
    with McpRetriever(reference, mapping) as server:
        return result_of(server.listed_tools())


def tool_documents(
    reference: str, mapping: McpMapping | Mapping[str, Any] | str | os.PathLike[str] | None = None
) -> tuple[Document, ...]:
    """Return the tools of an MCP server as documents: the id is the name, the text also describes the arguments.

    Args:
        reference: the server, as `mcp:python server.py` or `mcp+http://127.0.0.1:8000/mcp`.
        mapping: its environment or headers, as for `McpRetriever`.

    Raises:
        ServiceUnusable: the server cannot be started, or is not there, or lists no tools.
        DatasetError: a tool is not described as it must be.
    """
    return documents_of_tools(listed_tools(reference, mapping), reference)
