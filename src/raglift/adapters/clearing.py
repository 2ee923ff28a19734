"""What a system returned is cleared of secrets and of what cannot be saved, before it is kept, matched or shown."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raglift.base.plain_values import plain_metadata
from raglift.base.secret_holders import Clearance, is_in
from raglift.base.secrets import HIDDEN
from raglift.records.rankings import Hit, Ranking

if TYPE_CHECKING:
    from raglift.records.documents import Chunk
    from raglift.records.rankings import Call, Trace
    from raglift.records.sessions import Session


_REMEMBERED = 100_000


class Clearing:
    """Clears chunks of the secrets of a system and of the environment.

    Args:
        *parts: what is asked, and what gets its hits: the secrets of each are taken out of the hits of all.
        known: a clearing of the same parts, whose work is not done again.
    """

    def __init__(self, *parts: object, known: Clearing | None = None) -> None:
        self.changed = 0
        """How many hits held a secret."""
        self._parts = parts
        self._known: Clearing | None = known
        self._chunks: dict[int, tuple[Chunk, Chunk]] = {}
        """By its identity, each chunk, kept alive so that no other one is taken for it, and it without secrets."""
        self._clean: set[str] = set()
        """Texts without secrets: systems return the same ones again and again."""
        self._metadata: dict[int, object] = {}
        """Metadata without secrets, by its identity, kept alive as chunks are."""

    def of_a_stage(self) -> Clearing:
        """Return a clearing that counts the changed hits of one stage, and shares everything else."""
        return Clearing(known=self)

    @cached_property
    def clearance(self) -> Clearance:
        """What is known to be secret: looked for once, when it is first asked for."""
        return Clearance(*self._parts) if self._known is None else self._known.clearance

    def ranking(self, ranking: Ranking) -> Ranking:
        """Return a ranking without secrets in its chunks, whose metadata can be saved."""
        ranking = _with_plain_metadata(ranking)
        if not self.clearance.has_any:
            return ranking
        cleared = [self.chunk(hit.chunk) for hit in ranking.hits]
        changed = sum(chunk is not hit.chunk for chunk, hit in zip(cleared, ranking.hits, strict=True))
        if not changed:
            return ranking
        self.changed += changed
        hits = zip(cleared, ranking.hits, strict=True)
        return replace(ranking, hits=tuple(Hit(chunk, hit.rank, hit.score) for chunk, hit in hits))

    def chunk(self, chunk: Chunk) -> Chunk:
        """Return a chunk without secrets in its text, ids and metadata."""
        if self._known is not None:
            return self._known.chunk(chunk)
        if not self.clearance.has_any:
            return chunk
        found = self._chunks.get(id(chunk))
        if found is not None and found[0] is chunk:
            return found[1]
        cleared = chunk if self._is_clean(chunk) else self._without_secrets(chunk)
        if len(self._chunks) >= _REMEMBERED:
            self._chunks.clear()
        self._chunks[id(chunk)] = (chunk, cleared)
        return cleared

    def _is_clean(self, chunk: Chunk) -> bool:
        may_be_in = self.clearance.may_be_in
        if chunk.text not in self._clean:
            if may_be_in(chunk.text):
                return False
            if len(self._clean) >= _REMEMBERED:
                self._clean.clear()
            self._clean.add(chunk.text)
        if id(chunk.metadata) not in self._metadata:
            if may_be_in(chunk.metadata):
                return False
            if len(self._metadata) >= _REMEMBERED:
                self._metadata.clear()
            self._metadata[id(chunk.metadata)] = chunk.metadata
        return not may_be_in(chunk.id, chunk.doc_id)

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
        said: dict[str, Any] = {name: getattr(call, name) for name in ("query", "tool", "error")}
        said["arguments"] = plain_metadata(call.arguments)
        stages = tuple(replace(stage, ranking=self.ranking(stage.ranking)) for stage in call.stages)
        return replace(call, stages=stages, **{name: self.clearance.value(value) for name, value in said.items()})

    def message(self, text: str) -> str:
        """Return a text about the system without secrets."""
        return self.clearance.message(text)

    def _without_secrets(self, chunk: Chunk) -> Chunk:
        given = {name: getattr(chunk, name) for name in ("text", "id", "doc_id", "metadata")}
        kept = {name: self.clearance.value(value) for name, value in given.items()}
        changed = {name: value for name, value in kept.items() if value is not given[name]}
        if not changed or not any(_differ(value, given[name]) for name, value in changed.items()):
            return chunk
        if "text" in changed:  # its offsets are those of another text
            changed |= {"start": None, "end": None}
        return replace(chunk, **changed)


def _with_plain_metadata(ranking: Ranking) -> Ranking:
    if all(plain_metadata(hit.chunk.metadata) is hit.chunk.metadata for hit in ranking.hits):
        return ranking
    chunks = (replace(hit.chunk, metadata=plain_metadata(hit.chunk.metadata)) for hit in ranking.hits)
    return replace(ranking, hits=tuple(replace(hit, chunk=one) for one, hit in zip(chunks, ranking.hits, strict=True)))


def without_uncleared_origins(trace: Trace) -> Trace:
    """Return a trace whose chunks that were cleared have no framework's object any more: it is as it was retrieved.

    Rerankers that are tried on a run later do not know the secrets of the system that it is of.
    """
    return replace(
        trace, stages=tuple(replace(stage, ranking=_without_origins(stage.ranking)) for stage in trace.stages)
    )


def _without_origins(ranking: Ranking) -> Ranking:
    if not any(_was_cleared(hit.chunk) for hit in ranking.hits):
        return ranking
    hits = (
        Hit(replace(hit.chunk, origin=None), hit.rank, hit.score) if _was_cleared(hit.chunk) else hit
        for hit in ranking.hits
    )
    return replace(ranking, hits=tuple(hits))


def _was_cleared(chunk: Chunk) -> bool:
    kept = [chunk.text, chunk.id, chunk.doc_id, chunk.metadata]
    return chunk.origin is not None and is_in(kept, lambda text: HIDDEN in text)


def _differ(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except Exception:  # noqa: BLE001 — arrays, and objects of users, may not say so
        return True
