"""`raglift labels review`."""

from __future__ import annotations

import sys
import threading
import webbrowser
from typing import TYPE_CHECKING

from raglift.apps.review.page import check_installed
from raglift.apps.review.requests import listen
from raglift.apps.review.server import Asked, open_next, open_review, open_suspects, serve
from raglift.base.display import counted, printable
from raglift.cli.evaluate import numbers_of_hits
from raglift.cli.saved_runs import load_runs
from raglift.datasets.loading import load_documents
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

    from raglift.apps.review.page import Desk
    from raglift.cli.judging import Review
    from raglift.records.documents import Document


def run(request: Review) -> None:
    """Open the file, serve the page until Ctrl-C, say what was saved."""
    check_installed()
    if not request.runs and not request.suspects:
        raise ConfigurationError(
            "labels review: found no run; expected folders of saved evaluations whose hits are graded, or --suspects"
        )
    _check_options(request)
    documents = load_documents(request.documents, encoding=request.encoding, include=request.include)
    if request.suspects:
        _review_suspects(request, documents)
        return
    if request.next_pairs:
        _review_next(request, documents)
        return
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
        _serve(request, desk, documents, listener)


_OF_NEXT = ("metric", "system", "versus", "width", "journal", "seed")


def _check_options(request: Review) -> None:
    """Raise a ConfigurationError for options that do not go together."""
    if request.suspects and request.next_pairs:
        raise ConfigurationError("labels review: found --suspects with --next; expected one of the two")
    given = [f"--{name}" for name in _OF_NEXT if getattr(request, name)]
    if given and not request.next_pairs:
        raise ConfigurationError(f"labels review: found {given[0]} without --next; expected both, or neither")
    if request.next_pairs and tuple(request.k) != ("10",):
        raise ConfigurationError(
            "labels review: found -k with --next; expected none: the depth is the metric's, as in --metric precision@5"
        )


def _review_next(request: Review, documents: Sequence[Document]) -> None:
    beside = request.labels.with_name(f"{request.labels.stem}.next.jsonl")
    asked = Asked(
        journal=request.journal or beside,
        metric=request.metric or "precision@10",
        system=request.system,
        versus=request.versus,
        width=request.width,
        seed=request.seed,
    )
    opened = open_next(
        request.labels,
        load_runs(request.runs),
        asked,
        documents=documents,
        judged=request.judged,
        scale=request.scale,
    )
    with listen(request.port) as listener, opened as (desk, added):
        if added:
            _say(f"{request.labels}: added {added:,} queries with the labels of the runs")
        _say(f"what is drawn is in {asked.journal}; Ctrl-C stops")
        _serve(request, desk, documents, listener)
        said = desk.next()
        if said is not None:
            _say(f"{said['figure']} after {counted(said['graded'], 'grade')}. {said['verdict']}")


def _review_suspects(request: Review, documents: Sequence[Document]) -> None:
    if not documents:
        raise ConfigurationError("labels review: found --suspects without documents; expected --documents as well")
    if request.judged is not None:
        raise ConfigurationError("labels review: found --judged with --suspects; expected one of the two")
    runs = load_runs(request.runs) if request.runs else None
    with listen(request.port) as listener, open_suspects(request.labels, runs, documents=documents) as desk:
        suspected = sum(len(desk.cases(index)) for index in range(len(desk.session)))
        _say(f"{len(desk.session):,} queries, {suspected:,} suspected labels; Ctrl-C stops")
        _serve(request, desk, documents, listener)


def _serve(request: Review, desk: Desk, documents: Sequence[Document], listener: socket) -> None:
    def announce(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        if request.browser:  # in a thread: some browsers return only when they are closed
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    try:
        serve(desk, {document.id: document for document in documents}, listener, announce)
    finally:
        _say(f"stopped: {desk.session.rescue()}")


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")
