"""`raglift tools`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from raglift.base.display import counted
from raglift.base.limits import is_there, user_path
from raglift.base.replacing import replacing_file
from raglift.components.http.mapping import variables_of
from raglift.components.mcp.listing import listed_tools
from raglift.components.mcp.mapping import McpMapping, load_mcp_mapping
from raglift.datasets.tool_lists import documents_of_tools
from raglift.errors import ConfigurationError
from raglift.llm.dot_env import load_dot_env

if TYPE_CHECKING:
    from raglift.cli.pipeline import Tools


def run(request: Tools) -> None:
    """Ask a server for its tools, and write or print them.

    Raises:
        ConfigurationError: the server cannot be asked, or the file is there already.
    """
    mapping = McpMapping() if request.mapping is None else load_mcp_mapping(request.mapping)
    load_dot_env(variables_of([request.server, mapping.env, mapping.headers]))
    tools = listed_tools(request.server, mapping)
    documents_of_tools(tools, request.server)  # raises where they could not be read again
    text = json.dumps({"tools": tools}, ensure_ascii=request.output is None, indent=2) + "\n"
    if request.output is None:
        sys.stdout.write(text)
        return
    if is_there(request.output) and not request.overwrite:
        raise ConfigurationError(f"{request.output}: found something there; expected a free name, or --overwrite")
    with replacing_file(user_path(request.output)) as file:
        file.write(text)
    sys.stderr.write(f"{counted(len(tools), 'tool')} written to {request.output}\n")
