"""What others answer: an HTTP service, and what the cache keeps of a language model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import httpx

from raglift.cache import Cache
from raglift.errors import ServiceFailed, ServiceUnusable
from raglift.judging.asking.kept import DatedAnswer, kept_answers
from raglift.judging.grading.rubrics import Judgement
from raglift.records import Chunk
from raglift.retrieval.http.answers import AnswerReader
from raglift.retrieval.http.exchange import Exchange
from raglift.retrieval.http.mapping import ResponseFields

from .reader import Reader

__all__ = ["READERS"]

_ANSWER = {
    "took": 3,
    "results": [
        {"id": "c1", "text": "It was a bright day.", "doc_id": "d", "start": 0, "end": 20, "score": 1.5},
        {
            "id": 2,
            "text": "It was warm.",
            "document_id": "d",
            "score": "0.5",
            "metadata": {"page": 3, "tags": ["a", None]},
        },
        {"text": "Rain.", "score": None},
    ],
}
_KEY = b"k" * 16


def _service(folder: Path) -> None:
    (folder / "answer.json").write_text(json.dumps(_ANSWER), encoding="utf-8")


def _hits(folder: Path) -> list[tuple[Chunk, float | None]]:
    """Ask a service that answers with the file."""
    path = folder / "answer.json"
    body = path.read_bytes() if path.exists() else b""

    async def ask() -> object:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=httpx.ByteStream(body)))
        async with httpx.AsyncClient(transport=transport) as client:
            exchange = Exchange(client, seconds=60.0, most_bytes=1_000_000, secrets=())
            return await exchange.json(client.build_request("GET", "http://localhost/search"))

    return AnswerReader(ResponseFields()).read(asyncio.run(ask()))


def _check_hits(hits: list[tuple[Chunk, float | None]]) -> None:
    """Assert that hits hold what their types say."""
    for chunk, score in hits:
        assert isinstance(chunk.text, str)
        assert isinstance(chunk.id, str)
        assert chunk.doc_id is None or isinstance(chunk.doc_id, str)
        assert all(place is None or (type(place) is int and abs(place) < 10**18) for place in (chunk.start, chunk.end))
        assert isinstance(chunk.metadata, dict)
        assert score is None or abs(score) < float("inf")


def _kept(folder: Path) -> None:
    answer = DatedAnswer(Judgement(reason="It says so.", grade=2), "2026-11-21")
    (folder / "answer.bin").write_bytes(answer.to_bytes())


def _found(folder: Path) -> object:
    """Look a damaged answer up: it is there as it was, or forgotten."""
    path = folder / "answer.bin"
    with closing(Cache(None)) as cache:
        cache.put_many({_KEY: path.read_bytes() if path.exists() else b""})
        found = kept_answers([_KEY], Judgement, cache)
        assert bool(found) == bool(cache.get_many([_KEY]))
        return [(answer.value.grade, answer.value.reason, answer.day) for answer in found.values()]


READERS: Sequence[Reader] = (
    Reader("http answer", _service, _hits, (ServiceFailed, ServiceUnusable), _check_hits),
    Reader("kept answer", _kept, _found),
)
"""All of the readers here."""
