"""`raglift labels review`."""

from __future__ import annotations

import sys
import threading
import webbrowser
from typing import TYPE_CHECKING

from raglift.apps.review.page import check_installed
from raglift.apps.review.server import listen, open_review, serve
from raglift.cli.evaluate import numbers_of_hits
from raglift.cli.saving import load_runs
from raglift.datasets.loading import load_documents
from raglift.utilities.display import printable

if TYPE_CHECKING:
    from socket import socket

    from raglift.apps.review.page import Desk
    from raglift.cli.labels import Review


def run(request: Review) -> None:
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
            _say(f"{request.labels}: added {added:,} queries with the labels of the runs")
        _say(f"{len(desk.session):,} queries, {len(desk.pool):,} chunks to judge; Ctrl-C stops")
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
