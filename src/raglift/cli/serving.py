"""`raglift mcp` and `raglift labels review`: servers, until they are stopped."""

from __future__ import annotations

import os
import signal
import sys
import threading
import webbrowser
from socket import socket

from raglift.apps.mcp_server.evaluating import end_evaluations
from raglift.apps.mcp_server.serving import make_server
from raglift.apps.mcp_server.workspace import Workspace
from raglift.apps.review.page import Desk, check_installed
from raglift.apps.review.server import listen, open_review, serve
from raglift.cli.evaluate import numbers_of_hits
from raglift.cli.exits import INTERRUPTED
from raglift.cli.labels import Review
from raglift.cli.pipeline import Mcp
from raglift.cli.saving import load_runs
from raglift.datasets.loading import load_documents
from raglift.utilities.display import printable


def serve_agents(request: Mcp) -> None:
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


def serve_review(request: Review) -> None:
    """Open the file, serve the page until Ctrl-C, say what was saved."""
    check_installed()
    documents = load_documents(request.documents, encoding=request.encoding, include=request.include)
    opened = open_review(
        request.labels,
        load_runs(request.runs),
        documents=documents,
        judged=request.judged,
        scale=request.scale,
        depth=max(numbers_of_hits(request.k)),
    )
    with listen(request.port) as listener, opened as (desk, added):
        if added:
            _say(f"{request.labels}: added {added:,} questions with the labels of the runs")
        _say(f"{len(desk.session):,} questions, {len(desk.pool):,} chunks to judge; Ctrl-C stops")
        _serve(request, desk, listener)


def _serve(request: Review, desk: Desk, listener: socket) -> None:
    def announce(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        if request.browser:  # in a thread: some browsers return only when they are closed
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    try:
        serve(desk, listener, announce)
    finally:
        _say(f"stopped: {desk.session.rescue()}")


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")
