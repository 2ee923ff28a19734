"""What a system returned is cleared of its secrets before it is kept, matched or shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.base.secret_holders import Clearance
from raglift.records.rankings import Hit

if TYPE_CHECKING:
    from raglift.records.documents import Chunk
    from raglift.records.rankings import Ranking


_REMEMBERED = 100_000


class Clearing:
    """Clears chunks of the secrets of a system and of the environment.

    Args:
        system: what is asked: where it holds secrets, these are known.
    """

    def __init__(self, system: object) -> None:
        self.clearance = Clearance(system)
        self.changed = 0
        """How many hits held a secret."""
        self._clean: set[str] = set()
        """Texts without secrets: systems return the same ones again and again."""

    def ranking(self, ranking: Ranking) -> Ranking:
        """Return a ranking without secrets in its chunks."""
        cleared = [self.chunk(hit.chunk) for hit in ranking.hits]
        if all(chunk is hit.chunk for chunk, hit in zip(cleared, ranking.hits, strict=True)):
            return ranking
        hits = zip(cleared, ranking.hits, strict=True)
        return replace(ranking, hits=tuple(Hit(chunk, hit.rank, hit.score) for chunk, hit in hits))

    def chunk(self, chunk: Chunk) -> Chunk:
        """Return a chunk without secrets in its text, ids and metadata."""
        others = (chunk.id, chunk.doc_id, chunk.metadata)
        if chunk.text in self._clean:
            if not self.clearance.may_be_in(*others):
                return chunk
        elif not self.clearance.may_be_in(chunk.text, *others):
            if len(self._clean) >= _REMEMBERED:
                self._clean.clear()
            self._clean.add(chunk.text)
            return chunk
        return self._without_secrets(chunk)

    def message(self, text: str) -> str:
        """Return a text about the system without secrets."""
        return self.clearance.message(text)

    def _without_secrets(self, chunk: Chunk) -> Chunk:
        given = {name: getattr(chunk, name) for name in ("text", "id", "doc_id", "metadata")}
        kept = {name: self.clearance.value(value) for name, value in given.items()}
        changed = {name: value for name, value in kept.items() if value is not given[name]}
        if not changed or not any(_differ(value, given[name]) for name, value in changed.items()):
            return chunk
        self.changed += 1
        if "text" in changed:  # its offsets are those of another text
            changed |= {"start": None, "end": None}
        return replace(chunk, **changed)


def _differ(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except Exception:  # noqa: BLE001 — arrays, and objects of users, may not say so
        return True
