"""HTTP services: the mapping, and what a service answers, down to the bytes of the response."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from functools import cache
from pathlib import Path
from typing import Any

from raglift.components.services.http_retriever import HttpRetriever
from raglift.components.services.mapping import load_mapping
from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable
from raglift.records.rankings import Ranking

from .reader import Reader

__all__ = ["READERS"]

_MAPPING: dict[str, Any] = {
    "method": "POST",
    "headers": {"X-Team": "search"},
    "params": {"size": "{k}", "lang": "en"},
    "json": {"match": {"text": "{query}"}, "size": "{k}"},
    "response": {"hits": "hits.hits", "text": "_source.text", "id": "_id", "score": "_score", "metadata": "_source"},
    "timeout": 2.5,
}
_HITS = [
    {"id": "c1", "text": "The cat sat.", "doc_id": "cat", "start": 0, "end": 12, "score": 0.9, "metadata": {"n": 1}},
    {"id": 2, "text": "Ünten am Fluß", "score": 0.25},
]
_BODY = json.dumps({"took": 3, "hits": _HITS}).encode()
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"


class _Service(threading.Thread):
    """Answers every request on a port of its own with the same bytes, whatever they are."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/search"
        self.answer = b""
        self.start()

    def run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                connection.settimeout(2)
                try:
                    connection.recv(65_536)  # all of a request as short as this
                    connection.sendall(self.answer)
                    connection.shutdown(socket.SHUT_WR)
                    connection.recv(65_536)
                except OSError:
                    continue


@cache
def _asking() -> tuple[_Service, HttpRetriever, asyncio.AbstractEventLoop]:
    service = _Service()
    mapping = {"json": {"query": "{query}", "k": "{k}"}, "timeout": 3.0}
    return service, HttpRetriever(service.address, mapping), asyncio.new_event_loop()


def _asked(answer: bytes) -> Ranking:
    service, retriever, loop = _asking()
    service.answer = answer
    return loop.run_until_complete(retriever.aretrieve_one("where?", 10))


def _valid(ranking: Ranking) -> None:
    for hit in ranking.hits:
        assert isinstance(hit.chunk.text, str)
        assert hit.chunk.start is None or hit.chunk.start >= 0


READERS: tuple[Reader, ...] = (
    Reader(
        "HTTP mapping",
        lambda folder: (folder / "mapping.yaml").write_text(json.dumps(_MAPPING)),
        lambda folder: load_mapping(folder / "mapping.yaml"),
        (ConfigurationError,),
        repr,
    ),
    Reader(
        "answer of a service",
        lambda folder: (folder / "answer.json").write_bytes(_BODY),
        lambda folder: _asked(_HEAD % len(body := _bytes(folder / "answer.json")) + body),
        (ServiceFailed, ServiceUnusable),
        _valid,
    ),
    Reader(
        "response of a service",
        lambda folder: (folder / "response").write_bytes(_HEAD % len(_BODY) + _BODY),
        lambda folder: _asked(_bytes(folder / "response")),
        (ServiceFailed, ServiceUnusable),
        _valid,
    ),
)
"""All of the readers here."""


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
