"""`raglift mcp`."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from raglift.apps.mcp_server.evaluating import end_evaluations
from raglift.apps.mcp_server.serving import make_server
from raglift.apps.mcp_server.workspace import Workspace
from raglift.cli.exits import INTERRUPTED

if TYPE_CHECKING:
    from raglift.cli.pipeline import Mcp


def run(request: Mcp) -> None:
    """Serve one client on stdin and stdout, until it closes them."""
    workspace = Workspace(request.folder, allow_write=request.allow_write, allow_code=request.allow_code)
    server = make_server(workspace)

    def stop(number: int, _frame: object) -> None:
        # The SDK reads stdin in a thread, which nothing can interrupt: its usual way would wait for another line
        end_evaluations()
        workspace.close()
        os._exit(INTERRUPTED if number == signal.SIGINT else 128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("raglift: speaks MCP on stdin and stdout, for a client that starts it; Ctrl-C stops\n")
    try:
        server.run("stdio")
    finally:
        end_evaluations()
        workspace.close()
