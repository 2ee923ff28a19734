"""The answers of a system, kept one by one while it is asked, so that a run that was stopped goes on from there.

They are kept in a cache, as judgements of language models are: each in a transaction of its own, as JSON.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.errors import CacheError, RagliftError
from raglift.storage.layout import CHUNK_FIELDS
from raglift.types.documents import Chunk
from raglift.types.rankings import Call, Ranking, StageTrace
from raglift.types.sessions import Session
from raglift.utilities.display import printable
from raglift.utilities.plain_values import plain

if TYPE_CHECKING:
    from raglift.utilities.cache import Cache


_OF_CALLS = ("query", "tool", "arguments", "tokens", "seconds", "error")
"""What is kept of a call besides its stages."""


@dataclass(frozen=True)
class Answer:
    """What a stage answered to one query."""

    value: Ranking | Session
    """Its hits; of an agent, its session."""
    seconds: float
    """Of the call."""
    tries: int = 1
    """How often the call was made."""

    def to_bytes(self) -> bytes:
        """Return what is kept: JSON, with metadata as a saved evaluation has it."""
        value = self.value
        content = {"hits": hits_as_json(value)} if isinstance(value, Ranking) else {"session": _session_as_json(value)}
        return json.dumps({**content, "seconds": self.seconds, "tries": self.tries}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Answer:
        """Return what was kept.

        Raises:
            ValueError, TypeError, LookupError, RagliftError: it is not what is written now.
        """
        content = json.loads(data)
        value = _session(content["session"]) if "session" in content else _ranking(content["hits"])
        return cls(value, float(content["seconds"]), int(content.get("tries", 1)))


def hits_as_json(ranking: Ranking) -> list[list[Any]]:
    """Return the hits of a ranking as values that JSON can hold: the fields of each chunk, its metadata and score."""
    return [
        [*(plain(getattr(hit.chunk, name)) for name in CHUNK_FIELDS), plain(hit.chunk.metadata), _score(hit.score)]
        for hit in ranking
    ]


def _session_as_json(session: Session) -> dict[str, Any]:
    context = session.context
    return {
        "query": session.query_id,
        "repetition": session.repetition,
        "context": hits_as_json(context) if isinstance(context, Ranking) else None,
        "calls": [
            {
                **{name: plain(getattr(call, name)) for name in _OF_CALLS},
                "stages": [[stage.stage, stage.seconds, hits_as_json(stage.ranking)] for stage in call.stages],
            }
            for call in session.calls
        ],
    }


def _session(content: Any) -> Session:
    calls = [
        Call(
            stages=tuple(StageTrace(name, _ranking(hits), seconds) for name, seconds, hits in call["stages"]),
            **{name: call[name] for name in _OF_CALLS},
        )
        for call in content["calls"]
    ]
    context = None if content["context"] is None else _ranking(content["context"])
    return Session(content["query"], calls, context, content["repetition"])


def _ranking(hits: Any) -> Ranking:
    return Ranking.of((_chunk(values), score) for *values, score in hits)


def _score(score: Any) -> Any:
    """Return a score as a number, also where it is not finite: Python writes and reads these."""
    return float(score) if isinstance(score, float) and not math.isfinite(score) else plain(score)


def _chunk(values: Sequence[Any]) -> Chunk:
    *fields, metadata = values
    return Chunk(**dict(zip(CHUNK_FIELDS, fields, strict=True)), metadata=metadata)


class AnswerStore:
    """Answers by keys."""

    def __init__(self, answers: Cache) -> None:
        self._answers = answers
        self._added: set[bytes] = set()
        self._adding = threading.Lock()

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Answer]:
        """Return the answers that are there; one that cannot be read is as good as none.

        Raises:
            CacheError: the file cannot be read.
        """
        found = {}
        with _read_errors(self._answers):
            answers = self._answers.get_many(keys)
        for key, content in answers.items():
            try:
                found[key] = Answer.from_bytes(content)
            except (ValueError, TypeError, LookupError, RagliftError):
                continue
        return found

    def keep(self, key: bytes, answer: Answer) -> None:
        """Keep an answer.

        Raises:
            CacheError: the file cannot be written.
        """
        content = answer.to_bytes()
        with _read_errors(self._answers):
            self._answers.put_many({key: content})
        with self._adding:
            self._added.add(key)

    def is_of_earlier(self, key: bytes) -> bool:
        """Whether an answer that is there was there before this process asked."""
        return key not in self._added


@contextmanager
def _read_errors(cache: Cache) -> Iterator[None]:
    """Say what is wrong with the file in words that are true of answers: they cannot be made again for nothing."""
    try:
        yield
    except CacheError as error:
        reason = printable(str(error.__cause__ or error))
        raise CacheError(
            f"{cache.path}: the answers of the system cannot be kept or read there: {reason}; expected a place with "
            "room, and the right to write: those that it holds are used again when the run is resumed"
        ) from error
