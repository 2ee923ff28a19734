"""What a system returned is cleared of secrets and of what cannot be saved, before it is matched, saved or shown."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raglift.types.rankings import Call, Hit, Ranking
from raglift.utilities.plain_values import plain_metadata
from raglift.utilities.secrets import KnownSecrets, secrets_of_environment

if TYPE_CHECKING:
    from raglift.types.documents import Chunk
    from raglift.types.sessions import Session


_DEEPEST = 60


class Clearing:
    """Clears what a system returns of the secrets of the environment, and of those that its parts say they were given.

    In messages every secret is hidden; out of documents are taken only those that no document contains by chance, since
    a changed text may no longer match its labels.

    Args:
        *parts: retrievers and rerankers; one that was given secrets by variables has them as `secrets`.
        shared: a clearing of the same parts.
    """

    def __init__(self, *parts: object, shared: Clearing | None = None) -> None:
        self.changed = 0
        """How many hits contained a secret."""
        self._parts = parts
        self._shared = shared

    def of_a_stage(self) -> Clearing:
        """Return a clearing that counts the changed hits of one stage."""
        return Clearing(shared=self)

    @cached_property
    def secrets(self) -> KnownSecrets:
        """What is hidden in messages."""
        if self._shared is not None:
            return self._shared.secrets
        values = secrets_of_environment()
        for part in self._parts:
            given = getattr(part, "secrets", None)
            values |= given.values if isinstance(given, KnownSecrets) else set()
        return KnownSecrets(values)

    @cached_property
    def _distinctive(self) -> KnownSecrets:
        return KnownSecrets(self.secrets.values, distinctive=True)

    def message(self, text: str) -> str:
        """Return a text about the system without secrets."""
        return self.secrets.cleared(text)

    def ranking(self, ranking: Ranking) -> Ranking:
        """Return a ranking without secrets in its chunks, whose metadata can be saved."""
        ranking = _with_plain_metadata(ranking)
        cleared = [self.chunk(hit.chunk) for hit in ranking.hits]
        changed = sum(chunk is not hit.chunk for chunk, hit in zip(cleared, ranking.hits, strict=True))
        if not changed:
            return ranking
        self.changed += changed
        hits = zip(cleared, ranking.hits, strict=True)
        return replace(ranking, hits=tuple(Hit(chunk, hit.rank, hit.score) for chunk, hit in hits))

    def chunk(self, chunk: Chunk) -> Chunk:
        """Return a chunk without secrets in its text, ids and metadata."""
        secrets = self._distinctive
        if not secrets.values:
            return chunk
        parts = {name: getattr(chunk, name) for name in ("text", "id", "doc_id", "metadata")}
        cleared = {name: new for name, old in parts.items() if (new := _cleared(old, secrets)) is not old}
        if not cleared:
            return chunk
        if "text" in cleared:  # its offsets are those of another text
            cleared |= {"start": None, "end": None}
        return replace(chunk, **cleared)

    def answer(self, answer: Ranking | Session) -> Ranking | Session:
        """Return what a system answered to a query without secrets."""
        return self.ranking(answer) if isinstance(answer, Ranking) else self.session(answer)

    def session(self, session: Session) -> Session:
        """Return a session without secrets in its calls, its context and its error."""
        context = session.context if isinstance(session.context, Ranking) else None
        return replace(
            session,
            calls=tuple(map(self._call, session.calls)),
            context=None if context is None else self.ranking(context),
            error=None if session.error is None else self.message(session.error),
        )

    def _call(self, call: Call) -> Call:
        texts: dict[str, Any] = {name: getattr(call, name) for name in ("query", "tool", "error")}
        texts["arguments"] = plain_metadata(call.arguments)
        stages = tuple(replace(stage, ranking=self.ranking(stage.ranking)) for stage in call.stages)
        return replace(
            call, stages=stages, **{name: _cleared(value, self._distinctive) for name, value in texts.items()}
        )


def _with_plain_metadata(ranking: Ranking) -> Ranking:
    if all(plain_metadata(hit.chunk.metadata) is hit.chunk.metadata for hit in ranking.hits):
        return ranking
    chunks = (replace(hit.chunk, metadata=plain_metadata(hit.chunk.metadata)) for hit in ranking.hits)
    return replace(ranking, hits=tuple(replace(hit, chunk=one) for one, hit in zip(chunks, ranking.hits, strict=True)))


def _cleared(value: Any, secrets: KnownSecrets, depth: int = 0) -> Any:
    """Return a value of JSON with its texts cleared; itself where no secret is in it."""
    if value is None or isinstance(value, (int, float)) or depth >= _DEEPEST:
        return value
    if isinstance(value, (list, tuple)):
        parts = [_cleared(part, secrets, depth + 1) for part in value]
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    if isinstance(value, dict):
        items = list(value.items())
        pairs = [(_cleared(key, secrets), _cleared(part, secrets, depth + 1)) for key, part in items]
        same = all(key is old[0] and part is old[1] for (key, part), old in zip(pairs, items, strict=True))
        return value if same else dict(pairs)
    text = value if isinstance(value, str) else _text_of(value)
    return secrets.cleared(text) if secrets.may_be_in(text) else value


def _text_of(value: Any) -> str:
    """Return the text that a saved run has of a value that JSON does not know; "" for arrays of numbers."""
    if getattr(getattr(value, "dtype", None), "kind", "O") not in "OUS":
        return ""
    try:
        return str(value.tolist() if hasattr(value, "tolist") else value)
    except Exception:  # noqa: BLE001 — an object of a user's; saving it says what is the matter
        return ""
