"""Hits as a page shows them: their chunks by number, what each covers of which passage, and where in its text."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.matching.overlap import PassageMatch, covering_characters
from raglift.matching.rule import Text
from raglift.report.page.query_browser import ShownChunk, ShownHit, ShownMatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.matching.matches import MatchTable
    from raglift.matching.rule import MatchRule
    from raglift.types.documents import Chunk
    from raglift.types.labels import Passage, Query
    from raglift.types.rankings import Hit, Ranking

Match = tuple[int, int, PassageMatch, bool]
"""The fact of its query, the alternative, what of the passage is covered, and whether the fact is satisfied with it."""


def matches_by_rank(judged: MatchTable) -> Mapping[int, Mapping[int, Sequence[Match]]]:
    """Return everything that one stage's hits cover, by query and rank."""
    overlaps, satisfied = judged.overlaps, judged.satisfied
    news = set(zip(satisfied.fact.tolist(), satisfied.passage.tolist(), satisfied.rank.tolist(), strict=True))
    columns = [getattr(overlaps, name).tolist() for name in ("query", "rank", "fact", "passage", *PassageMatch._fields)]
    first_facts = judged.facts.first_of_query(overlaps.query).tolist()
    found: dict[int, dict[int, list[Match]]] = defaultdict(lambda: defaultdict(list))
    for query, rank, fact, passage, *match, first in zip(*columns, first_facts, strict=True):
        satisfies = (fact, passage, rank) in news
        found[query][rank].append((fact - first, passage, PassageMatch(*match), satisfies))
    return found


class Chunks:
    """Every distinct chunk once: those of a document together and in its order, so that overlaps are packed well."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        objects = {id(chunk): chunk for chunk in chunks}
        distinct = {(one.doc_id or "", one.start, one.end, one.text): one for one in objects.values()}
        self._chunks = [distinct[key] for key in sorted(distinct, key=_in_order)]
        numbers = {(one.doc_id or "", one.start, one.end, one.text): place for place, one in enumerate(self._chunks)}
        self._numbers = {name: numbers[one.doc_id or "", one.start, one.end, one.text] for name, one in objects.items()}

    def number(self, chunk: Chunk) -> int:
        """Return the number of a chunk, which must be one of those given, not an equal one."""
        return self._numbers[id(chunk)]

    def __getitem__(self, number: int) -> Chunk:
        return self._chunks[number]

    def shown(self) -> tuple[ShownChunk, ...]:
        """Return them all."""
        return tuple(ShownChunk(one.doc_id or "", one.start, one.end, one.text, 0) for one in self._chunks)


def _in_order(key: tuple[str, int | None, int | None, str]) -> tuple[str, int, int, str]:
    document, start, end, text = key
    return document, -1 if start is None else start, -1 if end is None else end, text


Spans = dict[tuple[int, "Passage"], tuple[float | None, int, int]]
"""For each chunk, by number, and passage that it covers a part of: what share of the passage it covers, None for a
chunk-id label, and the characters of the chunk that do."""


def spans_of(found: Iterable[tuple[Query, Chunk, Match]], chunks: Chunks, rule: MatchRule) -> Spans:
    """Return where in each chunk what matched is: chunk after chunk, so that each is normalized once."""
    wanted: dict[int, dict[Passage, PassageMatch]] = defaultdict(dict)
    for query, chunk, (fact, alternative, covered, _) in found:
        wanted[chunks.number(chunk)][query.facts[fact].passages[alternative]] = covered
    spans: Spans = {}
    for number, passages in wanted.items():
        text = Text(rule)
        for passage, covered in passages.items():
            length = None if passage.text is None else len(text(passage.text))
            share = (covered.normalized_end - covered.normalized_start) / length if length else None
            spans[number, passage] = share, *covering_characters(chunks[number], passage, covered, rule, text)
    return spans


@dataclass(frozen=True, eq=False)
class Matched:
    """The rankings of all queries at one place, as after a stage, and what their hits cover."""

    rankings: Sequence[Ranking]
    matches: Mapping[int, Mapping[int, Sequence[Match]]]
    """By query and rank."""

    @classmethod
    def of(cls, judged: MatchTable) -> Matched:
        """Return what matched at one stage, or in the final contexts of sessions."""
        return cls(judged.rankings, matches_by_rank(judged))

    def found(self, place: int) -> Iterator[tuple[Chunk, Match]]:
        """Yield each match of a query with the chunk of its hit."""
        hits = self.rankings[place].hits
        for rank, found in self.matches.get(place, {}).items():
            yield from ((hits[rank - 1].chunk, match) for match in found)

    def hits(self, place: int, query: Query, chunks: Chunks, spans: Spans) -> tuple[ShownHit, ...]:
        """Return the hits of a query as they are shown."""
        matches = self.matches.get(place, {})
        return tuple(
            _shown(hit, chunks.number(hit.chunk), query, matches.get(hit.rank, ()), spans)
            for hit in self.rankings[place].hits
        )


def _shown(hit: Hit, number: int, query: Query, found: Sequence[Match], spans: Spans) -> ShownHit:
    matches = []
    for fact, alternative, match, satisfies in found:
        share, *span = spans[number, query.facts[fact].passages[alternative]]
        matches.append(ShownMatch(fact, alternative, match.direction, match.relevant, satisfies, share, *span))
    return ShownHit(hit.rank, number, hit.score, tuple(matches))
