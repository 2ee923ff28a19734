"""How the queries one by one fit into a page: what is left out first when there is no room."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from raglift.report.page.packing import packed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.report.page.drill_down import DrillDown, QueryDetail, ShownChunk, ShownHit, ShownMatch

__all__ = ["ROOM", "within"]

ROOM = 3_800_000
"""How many bytes the queries may take in a page by default: with the scripts it is under 5 MB."""

_LENGTHS = (None, 4000, 2000, 1000, 600, 300, 150)
"""How many characters of a chunk that matches nothing are shown."""

_RUN, _RUNS = 32, 16
"""How many neighbours are packed to tell how well all pack, and how many such runs, at least."""
_FEWEST = 0.95
"""What is surely no less than that, as a share of the estimate."""


class _Cut(NamedTuple):
    """What is shown."""

    depth: int | None
    """Down to which rank hits that match nothing are shown; None for all."""
    others: int | None
    """How many characters of a chunk that matches nothing; None for all."""
    matching: int | None = None
    """How many characters of one that matches; None for all."""


def within(drill_down: DrillDown, shown: int | None, room: int) -> DrillDown:
    """Return as much of the queries as there is room for.

    Args:
        drill_down: everything.
        shown: down to which rank hits that match nothing are shown; None for as far as there is room.
        room: how many bytes it may take in the page.
    """
    rest: dict[int | None, int] = {}
    for cut in _cuts(drill_down, shown):
        if cut.depth not in rest:
            rest[cut.depth] = _size(_reduced(drill_down, _Cut(cut.depth, 0, 0)))
        reduced = _reduced(drill_down, cut)
        # To pack takes a second, so that what is clearly too much is not tried
        if rest[cut.depth] + _FEWEST * _estimate(reduced.chunks) <= room and _size(reduced) <= room:
            return reduced
    return reduced


def _estimate(chunks: Sequence[ShownChunk]) -> float:
    """Return about how many bytes the texts of chunks take in the page, from some runs of neighbours."""
    step = max(1, len(chunks) // (_RUN * _RUNS)) * _RUN
    runs = [[chunk.text for chunk in chunks[start : start + _RUN]] for start in range(0, len(chunks), step)]
    sample = "".join(text for run in runs for text in run)
    share = len(zlib.compress(sample.encode(errors="replace"), 9)) / max(len(sample), 1)
    return share * sum(len(chunk.text) for chunk in chunks) * 4 / 3


def _size(drill_down: DrillDown) -> int:
    """Return the bytes in the page: base64 has four for three."""
    return -(-len(packed(drill_down)) // 3) * 4


def _cuts(drill_down: DrillDown, shown: int | None) -> Iterator[_Cut]:
    """Yield what could be shown, most first."""
    k = drill_down.k
    depths: Sequence[int | None] = (shown,) if shown is not None else tuple(dict.fromkeys((None, max(20, k), k)))
    for length in _LENGTHS:
        yield from (_Cut(depth, length) for depth in depths)
    for matching in (2000, 600, 300):
        yield _Cut(depths[-1], min(matching, 150), matching)


def _reduced(drill_down: DrillDown, cut: _Cut) -> DrillDown:
    """Return what is left by one cut, with the chunks that are left numbered anew."""
    queries = [_shortened(query, cut.depth) for query in drill_down.queries]
    hits = [hit for query in queries for view in query.views for hit in view.hits]
    matching = {hit.chunk for hit in hits if hit.matches}
    kept = sorted({hit.chunk for hit in hits})
    chunks = [_cut(drill_down.chunks[number], cut.matching if number in matching else cut.others) for number in kept]
    numbers = {number: place for place, number in enumerate(kept)}
    return replace(
        drill_down,
        chunks=tuple(chunks),
        queries=tuple(_renumbered(query, numbers, chunks) for query in queries),
        notes=(*drill_down.notes, *_notes(drill_down, len(hits), chunks, cut)),
    )


def _cut(chunk: ShownChunk, length: int | None) -> ShownChunk:
    if length is None or len(chunk.text) <= length:
        return chunk
    return chunk._replace(text=chunk.text[:length], left_out=len(chunk.text) - length)


def _renumbered(query: QueryDetail, numbers: Mapping[int, int], chunks: Sequence[ShownChunk]) -> QueryDetail:
    def moved(hit: ShownHit) -> ShownHit:
        number = numbers[hit.chunk]
        length = len(chunks[number].text)
        return hit._replace(chunk=number, matches=tuple(_within(match, length) for match in hit.matches))

    return replace(query, views=tuple(replace(view, hits=tuple(map(moved, view.hits))) for view in query.views))


def _within(match: ShownMatch, length: int) -> ShownMatch:
    """Return a match with only the characters that are shown."""
    if match.end <= length:
        return match
    return match._replace(start=match.start, end=length) if match.start < length else match._replace(start=0, end=0)


def _notes(drill_down: DrillDown, hits: int, chunks: Sequence[ShownChunk], cut: _Cut) -> Iterator[str]:
    """Say what is left out."""
    every = sum(len(view.hits) for query in drill_down.queries for view in query.views)
    if hits < every:
        yield (
            f"{every - hits:,} of {every:,} hits are left out to keep the page small: those that match nothing and are "
            f"below rank {cut.depth} in every view of their query"
        )
    shortened = sum(chunk.left_out > 0 for chunk in chunks)
    if shortened:
        lengths = [f"{cut.others:,} characters of those that match nothing"] if cut.others is not None else []
        lengths += [f"{cut.matching:,} of the others"] if cut.matching is not None else []
        yield (
            f"the texts of {shortened:,} of {len(chunks):,} chunks are cut to keep the page small: shown are the first "
            f"{', and '.join(lengths)}"
        )


def _shortened(query: QueryDetail, depth: int | None) -> QueryDetail:
    """Return a query with its first hits, those that match, and where these stand in the other views."""
    if depth is None:
        return query
    kept = {hit.chunk for view in query.views for hit in view.hits if hit.rank <= depth or hit.matches}
    views = tuple(replace(view, hits=tuple(hit for hit in view.hits if hit.chunk in kept)) for view in query.views)
    return replace(query, views=views)
