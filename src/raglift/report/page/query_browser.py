"""The query browser of a page."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from raglift.report.page.rendering import packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from raglift.records.labels import Passage


# The query browser: the facts of each query, the hits of each stage, and their matches.


@dataclass(frozen=True)
class View:
    """A ranking that every query has: one stage of one system."""

    system: str
    """The system's name; empty if there is only one."""
    stage: str
    """The stage's name."""
    title: str
    """What to call it: `before (retrieve)`, or the system's name."""


class ShownMatch(NamedTuple):
    """How a hit bears on a passage of a fact."""

    fact: int
    """Which fact of the query, from 0."""
    passage: int
    """Which alternative of the fact, from 0."""
    direction: int
    """One of the values of `raglift.matching.matches.Direction`."""
    counts: bool
    """Whether the match rule calls it a match; else it only covers a part."""
    satisfies: bool
    """Whether with this hit the fact is satisfied for the first time, or with a better grade."""
    covered: float | None
    """The share of the passage's characters that the hit covers; None for a chunk-id label."""
    start: int
    """The first matched character of the chunk's shown text; …"""
    end: int
    """… one past the last; both 0 where none is shown."""


class ShownHit(NamedTuple):
    """A hit of a view: its rank, its chunk by number, its score and its matches."""

    rank: int
    chunk: int
    score: float | None
    matches: tuple[ShownMatch, ...]


class ShownChunk(NamedTuple):
    """A distinct chunk, told once."""

    document: str
    """The id of its document; empty when not known."""
    start: int | None
    end: int | None
    text: str
    """Its text, shortened to the size budget."""
    left_out: int
    """How many characters at the end are not shown."""
    skipped: int = 0
    """How many at the beginning are not shown; `ShownMatch` counts from the first that is."""


@dataclass(frozen=True)
class ViewDetail:
    """What one view has of one query."""

    hits: tuple[ShownHit, ...]
    """Those that are shown, by rank: the first ones, all that match anything, and all of the chunks that are shown in
    another view of the query. So a chunk that is shown there and not here was not returned here."""
    returned: int
    """How many hits there were."""
    values: tuple[float, ...]
    """For each metric; NaN if the query is left out of the mean."""
    facts: tuple[int | None, ...]
    """For each fact, the rank at which it is satisfied; None for never."""
    error: str | None = None
    """Why the query failed, if it did."""
    calls: tuple[int, ...] = ()
    """Of a session, how many hits each call returned: `hits` has them one call after the other."""
    found_by: tuple[int | None, ...] = ()
    """Of a session, for each fact the number of the call that first found it; None for none. Its rank in `facts` is
    among the hits of one call."""


class ShownCall(NamedTuple):
    """One search of a session."""

    query: str
    """The text that was searched for."""
    tool: str
    """The name of the tool; empty where it is not known."""
    arguments: tuple[tuple[str, str], ...]
    """What else the tool was given, as names and texts."""
    tokens: int
    """The tokens of what came back."""
    is_reported: bool
    """Whether the agent's framework counted them; else they are those of the texts of hits."""
    seconds: float | None
    """How long it took; None if unknown."""
    error: str | None
    """Why it failed; None if it did not."""
    new: tuple[int, ...]
    """The facts that it found first, from 0."""
    again: tuple[int, ...]
    """The facts that it found and an earlier call had found."""
    seen: float | None
    """The share of its characters that the session had returned before; None without hits."""


@dataclass(frozen=True)
class ShownSession:
    """One run of a query by an agent."""

    calls: tuple[ShownCall, ...]
    context: tuple[ShownHit, ...] | None
    """The hits that reached the prompt of the answer; None where they are not known."""
    outcomes: tuple[str, ...]
    """For each fact what became of it: an outcome of `SessionAnalysis`."""
    tokens: tuple[int | None, ...]
    """For each fact, the tokens of all hits up to and with the one that found it; None where none did."""
    all_tokens: int
    """The tokens of the texts of all hits."""
    value: float
    """The metric that decides, of this run alone."""
    views: tuple[ViewDetail, ...] = ()
    """What each stage returned; none for the first run, of which the query has them."""
    error: str | None = None
    """Why the agent stopped before it was done; None if it did not."""


@dataclass(frozen=True)
class QueryDetail:
    """One query."""

    id: str
    text: str
    tags: tuple[str, ...]
    answerable: bool
    facts: tuple[tuple[Passage, ...], ...]
    """For each fact, its alternatives."""
    views: tuple[ViewDetail, ...]
    """In the order of the drill-down's views."""
    all_outcomes: tuple[tuple[str, ...], ...]
    """For each system, the outcome of each fact: an outcome of `FailureAnalysis`, as `found` or `not_retrieved`, or
    where it has sessions of `SessionAnalysis`."""
    sessions: tuple[tuple[ShownSession, ...], ...] = ()
    """For each system its runs of the query; none of one that is asked once."""

    def all_views(self) -> Iterator[ViewDetail]:
        """Yield what each stage of each system returned, in all runs."""
        yield from self.views
        for runs in self.sessions:
            for run in runs:
                yield from run.views

    def all_hits(self) -> Iterator[ShownHit]:
        """Yield every hit that is shown of the query."""
        for view in self.all_views():
            yield from view.hits
        for runs in self.sessions:
            for run in runs:
                yield from run.context or ()

    def with_hits(self, change: Callable[[tuple[ShownHit, ...]], tuple[ShownHit, ...]]) -> QueryDetail:
        """Return the query with the hits of each view and each final context as a function makes them."""

        def changed(views: tuple[ViewDetail, ...]) -> tuple[ViewDetail, ...]:
            return tuple(replace(view, hits=change(view.hits)) for view in views)

        sessions = tuple(
            tuple(
                replace(run, views=changed(run.views), context=None if run.context is None else change(run.context))
                for run in runs
            )
            for runs in self.sessions
        )
        return replace(self, views=changed(self.views), sessions=sessions)


@dataclass(frozen=True)
class DrillDown:
    """All queries, with everything that the page shows of them."""

    views: tuple[View, ...]
    systems: tuple[str, ...]
    """The systems' names, in the order of `QueryDetail.all_outcomes`."""
    left: int
    """The view that is shown at first as `before`."""
    right: int
    """The view that is shown at first as `after`; the same as `left` where there is only one."""
    metrics: tuple[str, ...]
    """The metrics as they are written: `NDCG@10`."""
    primary: int
    """Which of them decides."""
    k: int
    """The depth at which a fact counts as found."""
    match: str
    """The match rule, in words."""
    chunks: tuple[ShownChunk, ...]
    queries: tuple[QueryDetail, ...]
    notes: tuple[str, ...] = ()
    """What was left out to keep the page small."""
    neutral: tuple[int, ...] = ()
    """The metrics of which neither more nor less is better, as tokens."""


# The size budget of the query browser: what is left out first if the page would be too large.


CAPABILITIES = 3_800_000
"""How many bytes the queries may take in a page by default: with the scripts it is under 5 MB."""


class _Lengths(NamedTuple):
    """How many characters of a chunk are shown; None for all."""

    others: int | None
    """Of one that matches nothing."""
    matching: int | None
    """Of one that matches."""


_LENGTHS = (
    _Lengths(None, None),
    *(_Lengths(length, 5 * length) for length in (4000, 2000, 1000, 800, 600, 450, 300, 200)),
    _Lengths(100, 500),
    _Lengths(100, 300),
)
_SAMPLED_QUERIES, _SAMPLED_CHARACTERS, _RUN = 40, 300_000, 20_000
"""How much is packed to tell how well all packs: queries, and characters of chunks, so many of neighbours at a time."""


def within(drill_down: DrillDown, shown: int | None, room: int) -> DrillDown:
    """Return the queries, reduced to the size budget.

    What matches nothing goes first: hits below a depth, then the ends of texts. Then the texts around what matched are
    cut. A hit that matches anything is always there, and so is every hit of a chunk that is shown in another view, so
    that its rank can be told.

    Args:
        drill_down: everything.
        shown: down to which rank hits that match nothing are shown; None for as far as the size budget allows.
        room: its maximum size in the page, in bytes.
    """
    selections: dict[int | None, _Selection] = {}
    low_by = 1.0
    for depth, lengths in _steps(drill_down.k, shown):
        if depth not in selections:
            selections[depth] = _Selection.of(drill_down, depth)
        selection = selections[depth]
        chunks = selection.cut(lengths)
        estimate = selection.estimated_rest + _estimate(chunks)
        # To pack everything takes a second: what is too much by its estimate is not tried
        if estimate * low_by <= room:
            left = selection.drill_down(chunks, lengths)
            size = _size(left)
            if size <= room:
                return left
            low_by = size / estimate
    return selection.drill_down(chunks, lengths)


def _steps(k: int, shown: int | None) -> Iterator[tuple[int | None, _Lengths]]:
    """Yield what could be shown, most first: down to which rank, and how much of each text."""
    depths = (shown,) if shown is not None else tuple(dict.fromkeys((None, max(20, k), k)))
    for lengths in _LENGTHS:
        yield from ((depth, lengths) for depth in depths)
    if shown is None:
        yield from ((depth, _Lengths(100, 300)) for depth in (min(k, 3), 0))


@dataclass(frozen=True, eq=False)
class _Selection:
    """The hits that are shown at one depth."""

    whole: DrillDown
    depth: int | None
    queries: Sequence[QueryDetail]
    """With the hits that are left."""
    marks: Mapping[int, tuple[int, int] | None]
    """The chunks that are left, ascending: the first and last character that matched in any; None for no match."""
    estimated_rest: float
    """About how many bytes all but the texts of chunks take in the page."""

    @classmethod
    def of(cls, whole: DrillDown, depth: int | None) -> _Selection:
        queries = [_shortened(query, depth) for query in whole.queries]
        marks: dict[int, tuple[int, int] | None] = {}
        for hit in (hit for query in queries for hit in query.all_hits()):
            marks[hit.chunk] = _wider(marks.get(hit.chunk), hit.matches)
        sample = queries[:: max(1, len(queries) // _SAMPLED_QUERIES)]
        rest = _size(replace(whole, chunks=(), queries=tuple(sample))) * len(queries) / max(len(sample), 1)
        return cls(whole, depth, queries, dict(sorted(marks.items())), rest)

    def cut(self, lengths: _Lengths) -> list[ShownChunk]:
        """Return the chunks that are left, with as much of their texts as is shown."""
        return [
            _cut(self.whole.chunks[number], mark or (0, 0), lengths.others if mark is None else lengths.matching)
            for number, mark in self.marks.items()
        ]

    def drill_down(self, chunks: Sequence[ShownChunk], lengths: _Lengths) -> DrillDown:
        """Return what is left, with the chunks numbered anew, and what is not in the notes."""
        numbers = {number: place for place, number in enumerate(self.marks)}
        queries = tuple(_renumbered(query, numbers, chunks) for query in self.queries)
        notes = *self.whole.notes, *self._hits_left_out(), *_cut_texts(chunks, lengths)
        return replace(self.whole, chunks=tuple(chunks), queries=queries, notes=notes)

    def _hits_left_out(self) -> Iterator[str]:
        every, left = (
            sum(1 for query in queries for _ in query.all_hits()) for queries in (self.whole.queries, self.queries)
        )
        if left < every:
            place = f", ranked below {self.depth} in each of its rankings" if self.depth else ""
            yield (
                f"to keep the page small, {every - left:,} of {every:,} hits are left out: those of chunks that match "
                f"nothing of the query{place}"
            )


def _cut_texts(chunks: Sequence[ShownChunk], lengths: _Lengths) -> Iterator[str]:
    cut = sum(chunk.left_out > 0 or chunk.skipped > 0 for chunk in chunks)
    if cut:
        yield (
            f"to keep the page small, the texts of {cut:,} of {len(chunks):,} chunks are cut: to {lengths.others:,} "
            f"characters where nothing matched, to {lengths.matching:,} around what matched"
        )


def _wider(mark: tuple[int, int] | None, matches: Sequence[ShownMatch]) -> tuple[int, int] | None:
    """Return the characters from the first to the last that matched, with those of one more hit."""
    if not matches:
        return mark
    spans = [(match.start, match.end) for match in matches if match.end]
    spans += [mark] if mark and mark[1] else []
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else (0, 0)


def _shortened(query: QueryDetail, depth: int | None) -> QueryDetail:
    """Return a query with its first hits, those that match, and where the chunks of these stand in other views."""
    if depth is None:
        return query
    kept = {hit.chunk for hit in query.all_hits() if hit.matches}
    kept |= {hit.chunk for view in query.all_views() for hit in _first_hits(view, depth)}
    return query.with_hits(lambda hits: tuple(hit for hit in hits if hit.chunk in kept))


def _first_hits(view: ViewDetail, depth: int) -> Iterator[ShownHit]:
    """Yield the hits down to a rank, of a session those of each call."""
    ends = list(accumulate(view.calls))
    for hit in view.hits:
        place = bisect_left(ends, hit.rank)
        before = ends[place - 1] if 0 < place <= len(ends) else 0
        if hit.rank - before <= depth:
            yield hit


def _cut(chunk: ShownChunk, mark: tuple[int, int], length: int | None) -> ShownChunk:
    """Return a chunk with so many characters of its text: the first, or those around what matched."""
    size = len(chunk.text)
    if length is None or size <= length:
        return chunk
    before = max(length - (mark[1] - mark[0]), length // 4) // 2
    begin = min(max(mark[0] - before, 0), size - length)
    text = chunk.text[begin : begin + length]
    return chunk._replace(text=text, left_out=size - begin - length, skipped=begin)


def _renumbered(query: QueryDetail, numbers: Mapping[int, int], chunks: Sequence[ShownChunk]) -> QueryDetail:
    def moved(hit: ShownHit) -> ShownHit:
        number = numbers[hit.chunk]
        return ShownHit(hit.rank, number, hit.score, tuple(_moved(match, chunks[number]) for match in hit.matches))

    return query.with_hits(lambda hits: tuple(map(moved, hits)))


def _moved(match: ShownMatch, chunk: ShownChunk) -> ShownMatch:
    """Return a match with those of its characters that are shown."""
    start, end = max(match.start - chunk.skipped, 0), min(match.end - chunk.skipped, len(chunk.text))
    return match._replace(start=start, end=end) if start < end else match._replace(start=0, end=0)


def _size(drill_down: DrillDown) -> int:
    """Return the bytes in the page: base64 has four for three."""
    return -(-len(packed(drill_down)) // 3) * 4


def _estimate(chunks: Sequence[ShownChunk]) -> float:
    """Return about how many bytes the texts of chunks take in the page, from some runs of neighbours."""
    characters = sum(len(chunk.text) for chunk in chunks)
    together = max(1, _RUN * len(chunks) // max(characters, 1))
    runs = [chunks[start : start + together] for start in range(0, len(chunks), together)]
    step = max(1, round(characters / _SAMPLED_CHARACTERS))
    sample = "".join(chunk.text for run in runs[::step] for chunk in run)
    share = len(zlib.compress(sample.encode(errors="replace"))) / max(len(sample), 1)
    return share * characters * 4 / 3
