"""Which candidate each hit of a reranker is, and whether it is as the reranker was given it.

A reranker orders candidates. Objects of a framework may do more: add neighbours, replace a text by its window, split
it, extract a part, return a hit twice. Here each hit is traced to the candidate that it comes from:

- `KEPT`: the text of a candidate, whatever else was noted on it;
- `EXCERPT`: each sentence or line of it is in the text of one candidate (short ones, next to each other there too);
- `CHANGED`: a candidate, by its id, that says something that it did not say, or names another document or location;
- `REPEATED`: a candidate that came before, or a part of one that came before for the most part;
- `ADDED`: anything else.

What the first two prove was among the candidates. The other three are scored as the system returns them, but what they
alone bring earns no lift (docs/reference/decisions/0039-hits-that-were-no-candidates-earn-no-lift.md).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from raglift.text.normalization import normalize
from raglift.text.words import is_as_long_as
from raglift.types.documents import Chunk
from raglift.types.rankings import CANDIDATES, ChangedHits, Hit, Ranking, Run, StageTrace
from raglift.utilities.display import excerpt

KEPT, EXCERPT, CHANGED, REPEATED, ADDED = "kept", "excerpt", "changed", "repeated", "added"
_NOT_CANDIDATES = (CHANGED, REPEATED, ADDED)
_MOST = 0.5
"""A part of which more than this came before repeats it; chunks that a splitter makes overlap by less."""
# Also at the full stops of Chinese and Japanese
_ENDS = re.compile(r"\n+|(?<=[.!?…。！？])\s+")
_STATEMENT = 20
"""So many normalized characters at least has a part among several, as a hit that lies inside a passage."""
_SHOWN = 60


@dataclass(frozen=True)
class Origin:
    """Where a hit of a reranker comes from."""

    kind: str
    """`KEPT`, `EXCERPT`, `CHANGED`, `REPEATED` or `ADDED`."""
    candidate: int | None
    """The place of its candidate in the ranking that the reranker was given; None for a hit that was added."""


def origins(candidates: Ranking, returned: Ranking) -> list[Origin]:
    """Return the origin of each hit that a reranker returned, in its order."""
    matched = _Candidates(candidates.chunks)
    return [matched.origin_of(hit.chunk) for hit in returned]


class _Candidates:
    """The candidates of one query, and how much of each has come back."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._by_text: dict[str, list[int]] = defaultdict(list)
        self._by_id: dict[str, list[int]] = defaultdict(list)
        for place, chunk in enumerate(chunks):
            self._by_text[chunk.text].append(place)
            self._by_id[chunk.id].append(place)
        self._whole: set[int] = set()
        self._parts: dict[int, list[tuple[int, int]]] = defaultdict(list)

    @cached_property
    def _normalized(self) -> list[str]:
        return [normalize(chunk.text) for chunk in self._chunks]

    def origin_of(self, chunk: Chunk) -> Origin:
        """Return where a hit comes from, and note that it came."""
        same_text = [at for at in self._by_text.get(chunk.text, ()) if _agrees(chunk, self._chunks[at])]
        if same_text:
            same_text.sort(key=lambda at: self._chunks[at].id != chunk.id)  # stable: of equal ones the first
            return self._come(KEPT, same_text)
        same_id = self._by_id.get(chunk.id, [])
        found = self._excerpt(chunk, same_id or range(len(self._chunks)))
        if found is not None:
            return found
        return self._come(CHANGED, same_id) if same_id else Origin(ADDED, None)

    def _come(self, kind: str, places: Sequence[int]) -> Origin:
        """Take the first of some candidates of which not most came before; without one, the first comes again."""
        for at in places:
            if at not in self._whole and not self._came(at, [(0, len(self._normalized[at]))] if self._parts else []):
                self._whole.add(at)
                return Origin(kind, at)
        return Origin(REPEATED, places[0])

    def _excerpt(self, chunk: Chunk, places: Sequence[int]) -> Origin | None:
        """Return the candidate that a hit is a part of, if any: the first of which this part has not come yet."""
        pieces = [piece for part in _ENDS.split(chunk.text) if (piece := normalize(part))]
        again = None
        for at in places:
            spans = _spans(pieces, self._normalized[at]) if _lies_in(chunk, self._chunks[at]) else None
            if spans is None:
                continue
            if at not in self._whole and not self._came(at, spans):
                self._parts[at] += spans
                return Origin(EXCERPT, at)
            again = Origin(REPEATED, at) if again is None else again
        return again

    def _came(self, at: int, spans: Sequence[tuple[int, int]]) -> bool:
        """Whether most of some parts of a candidate came before."""
        length = sum(end - start for start, end in spans)
        before = self._parts.get(at, ())
        shared = sum(max(0, min(end, last) - max(start, first)) for start, end in spans for first, last in before)
        return shared > _MOST * length if length else False


def _spans(pieces: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Return where the pieces are in a text, those that follow each other there as one; None if one is not in it.

    Of several, each must be long enough to be a statement: of single words any text can be put together.
    """
    if not all(piece in text for piece in pieces):  # which is soon known of most candidates
        return None
    joined: list[str] = []
    for piece in pieces:
        longer = f"{joined[-1]} {piece}" if joined else piece
        if joined and longer in text:
            joined[-1] = longer
        else:
            joined.append(piece)
    starts = [text.find(piece) for piece in joined]
    statements = len(joined) == 1 or all(is_as_long_as(piece, _STATEMENT) for piece in joined)
    if not starts or min(starts) < 0 or not statements:
        return None
    return [(start, start + len(piece)) for start, piece in zip(starts, joined, strict=True)]


def _agrees(chunk: Chunk, candidate: Chunk) -> bool:
    """Whether a hit with a candidate's text names no other document and no other location; it may name none."""
    pairs = (
        (chunk.doc_id, candidate.doc_id),
        (chunk.start, candidate.start),
        (chunk.end, candidate.end),
    )
    return all(value is None or value == known for value, known in pairs)


def _lies_in(chunk: Chunk, candidate: Chunk) -> bool:
    """Whether a part names no other document than its candidate, and no location outside it."""
    if chunk.doc_id not in (None, candidate.doc_id):
        return False
    before = chunk.start is not None and (candidate.start is None or chunk.start < candidate.start)
    behind = chunk.end is not None and (candidate.end is None or chunk.end > candidate.end)
    return not before and not behind


# The stages of a run.


def with_changed_hits(run: Run) -> Run:
    """Return a run whose stages say how many of their hits are not the candidates that they were given."""
    infos = [
        replace(info, changed_hits=_changed_hits(run, number)) if _reranks(run, number) else info
        for number, info in enumerate(run.stages)
    ]
    return replace(run, stages=tuple(infos))


def _changed_hits(run: Run, number: int) -> ChangedHits | None:
    counts = dict.fromkeys((KEPT, EXCERPT, *_NOT_CANDIDATES), 0)
    queries, example = 0, ""
    for trace in run.traces:
        if len(trace.stages) <= number or _same_hits(trace.stages, number):
            counts[KEPT] += len(trace.stages[number].ranking) if len(trace.stages) > number else 0
            continue
        returned = trace.stages[number].ranking
        kinds = [origin.kind for origin in origins(trace.stages[number - 1].ranking, returned)]
        for kind in kinds:
            counts[kind] += 1
        strange = [(hit, kind) for hit, kind in zip(returned, kinds, strict=True) if kind in _NOT_CANDIDATES]
        queries += bool(strange)
        if strange and not example:
            hit, kind = strange[0]
            example = f"query {trace.query_id}, rank {hit.rank}, {kind}: {excerpt(hit.chunk.text, _SHOWN)!r}"
    if counts[KEPT] == sum(counts.values()):
        return None
    return ChangedHits(
        sum(counts.values()), counts[ADDED], counts[CHANGED], counts[REPEATED], counts[EXCERPT], queries, example
    )


def _reranks(run: Run, number: int) -> bool:
    """Whether a stage is given the hits of the stage before it; `candidates` are retrieved."""
    return number > 0 and run.stages[number].name != CANDIDATES


def _same_hits(stages: Sequence[StageTrace], number: int) -> bool:
    """Whether a stage returned some of its candidates, each once: the usual case, seen by the chunks themselves."""
    earlier = {id(chunk) for chunk in stages[number - 1].ranking.chunks}
    returned = {id(chunk) for chunk in stages[number].ranking.chunks}
    return len(returned) == len(stages[number].ranking) and returned <= earlier


def candidates_alone(run: Run) -> list[Ranking]:
    """Return, for each query, the last stage's ranking with what was retrieved in the place of each hit.

    A hit that is a candidate, or a part of one, stands for itself, with the candidate's id and document; a changed one
    is the chunk that was retrieved; and where a hit was added or repeated there is an empty chunk, so that the ranks of
    the others stay. A query that failed before the last stage has no hits.
    """
    last = len(run.stages) - 1
    rankings = []
    for trace in run.traces:
        chunks: list[tuple[str, Chunk | None]] = []
        for number, stage in enumerate(trace.stages):
            if not _reranks(run, number):
                chunks = [(KEPT, chunk) for chunk in stage.ranking.chunks]
                continue
            found = origins(trace.stages[number - 1].ranking, stage.ranking)
            chunks = [_traced(hit, origin, chunks) for hit, origin in zip(stage.ranking, found, strict=True)]
        reached = chunks if len(trace.stages) > last else []
        rankings.append(
            Ranking(
                tuple(
                    Hit(Chunk("", id=f"\0{rank}") if chunk is None else chunk, rank)
                    for rank, (_, chunk) in enumerate(reached, start=1)
                )
            )
        )
    return rankings


def _traced(hit: Hit, origin: Origin, before: Sequence[tuple[str, Chunk | None]]) -> tuple[str, Chunk | None]:
    """Return what stands for a hit, given what stands for the hits of the stage before it, and whether it changed."""
    kind, chunk = (ADDED, None) if origin.candidate is None else before[origin.candidate]
    if chunk is None or origin.kind == REPEATED:
        return ADDED, None
    if origin.kind == EXCERPT and kind != CHANGED:
        return EXCERPT, replace(hit.chunk, id=chunk.id, doc_id=chunk.doc_id)
    return (CHANGED if origin.kind == CHANGED else kind), chunk
