"""The data of the query browser of a page: as records, as compressed JSON, and within a size budget."""

from __future__ import annotations

import gzip
import json
import math
from bisect import bisect_left
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from raglift.types.labels import Annotator
from raglift.utilities.display import encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raglift.types.labels import Passage


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
    """The first matched character of the chunk's text; …"""
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


@dataclass(frozen=True)
class ShownCall:
    """One search of a session."""

    query: str
    """The text that was searched for."""
    tokens: int
    """The tokens of the texts of its hits."""
    new: tuple[int, ...]
    """The facts that it found first, from 0."""
    again: tuple[int, ...] = ()
    """The facts that it found and an earlier call had found."""
    tool: str = ""
    """The name of the tool; empty where it is not known."""
    arguments: tuple[tuple[str, str], ...] = ()
    """What else the tool was given, as names and texts."""
    seconds: float | None = None
    """How long it took; None if unknown."""
    error: str | None = None
    """Why it failed; None if it did not."""
    repeated: float | None = None
    """The share of its characters that an earlier call had returned; None without hits."""


@dataclass(frozen=True)
class ShownSession:
    """One run of a query by an agent."""

    calls: tuple[ShownCall, ...]
    outcomes: tuple[str, ...]
    """For each fact what became of it: an outcome of `SessionAnalysis`."""
    tokens: tuple[int | None, ...]
    """For each fact, the tokens of all hits up to and with the one that found it; None where none did."""
    all_tokens: int
    """The tokens of the texts of all hits."""
    value: float
    """The metric that decides, of this run alone."""
    context: tuple[ShownHit, ...] | None = None
    """The hits that reached the prompt of the answer; None where they are not known."""
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
    """For each system its runs of the query, none of one that is asked once; empty if that is true of all."""

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


# The records as compressed JSON, which the scripts of the page read: few things as objects, many as arrays.


_DIGITS = 4
"""How many digits of a score or a value are kept."""
_LEVEL = 6
"""Of gzip: 9 takes twice as long for half a percent."""


def packed(drill_down: DrillDown) -> bytes:
    """Return the queries as JSON, packed by gzip: an object has the fields of its record that are not at their default.

    A number that is not finite is null. A lone surrogate is U+FFFD, one for one, so that offsets hold.
    """
    content = {field.name: _as_json(getattr(drill_down, field.name)) for field in fields(drill_down)}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(encodable(text).encode(), _LEVEL, mtime=0)


def _as_json(value: Any) -> Any:
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, Annotator):
        return value.name
    if is_dataclass(value):
        known = {field.name: (getattr(value, field.name), field.default) for field in fields(value)}
        return {name: _as_json(content) for name, (content, default) in known.items() if content != default}
    return value


def _rounded(value: float) -> float | None:
    """Return a number that JSON has, with as many digits as anyone reads."""
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


# The size budget of the query browser: what is left out first if the page would be too large.


MAX_BYTES = 3_800_000
"""How many bytes the queries may take in a page by default: with the scripts it is under 5 MB."""


_LENGTHS = (None, 4000, 2000, 1000, 800, 600, 450, 300, 200, 100)
"""To how many characters the texts that match nothing are cut, one after the other; None for not at all."""


def within(drill_down: DrillDown, max_bytes: int) -> DrillDown:
    """Return the queries, reduced to the size budget as far as that goes.

    What matches nothing goes first: hits below a depth, then the ends of texts. A hit that matches anything is always
    there with its whole text, and so is every hit of a chunk that is shown in another view, so that its rank can be
    told.
    """
    k = drill_down.k
    steps = [(None, None), (max(20, k), None), *((k, length) for length in _LENGTHS), (min(k, 3), 100), (0, 100)]
    # From one step to the next it gets smaller
    first = bisect_left(steps, True, key=lambda step: bytes_in_page(packed(_reduced(drill_down, *step))) <= max_bytes)
    return _reduced(drill_down, *steps[min(first, len(steps) - 1)])


def bytes_in_page(content: bytes) -> int:
    """Return how many bytes something takes in a page: base64 has four for three."""
    return -(-len(content) // 3) * 4


def _reduced(whole: DrillDown, depth: int | None, length: int | None) -> DrillDown:
    """Return the hits that are shown at a depth, with so much of their texts, and what is not in the notes."""
    if depth is None and length is None:
        return whole
    queries = [_shortened(query, depth) for query in whole.queries]
    matching: dict[int, bool] = {}
    for hit in (hit for query in queries for hit in query.all_hits()):
        matching[hit.chunk] = matching.get(hit.chunk, False) or bool(hit.matches)
    numbers = {number: place for place, number in enumerate(sorted(matching))}
    chunks = [
        whole.chunks[number] if matches else _cut(whole.chunks[number], length)
        for number, matches in sorted(matching.items())
    ]
    notes = *whole.notes, *_hits_left_out(whole.queries, queries, depth), *_cut_texts(chunks, length)
    renumbered = tuple(
        query.with_hits(lambda hits: tuple(hit._replace(chunk=numbers[hit.chunk]) for hit in hits)) for query in queries
    )
    return replace(whole, chunks=tuple(chunks), queries=renumbered, notes=notes)


def _hits_left_out(whole: Sequence[QueryDetail], left: Sequence[QueryDetail], depth: int | None) -> Iterator[str]:
    every, shown = (sum(1 for query in queries for _ in query.all_hits()) for queries in (whole, left))
    if shown < every:
        place = f", ranked below {depth} in each of its rankings" if depth else ""
        yield (
            f"to keep the page small, {every - shown:,} of {every:,} hits are left out: those of chunks that match "
            f"nothing of the question{place}"
        )


def _cut_texts(chunks: Sequence[ShownChunk], length: int | None) -> Iterator[str]:
    cut = sum(chunk.left_out > 0 for chunk in chunks)
    if cut:
        yield (
            f"to keep the page small, the texts of {cut:,} of {len(chunks):,} chunks, which match nothing, are cut to "
            f"{length:,} characters"
        )


def _shortened(query: QueryDetail, depth: int | None) -> QueryDetail:
    """Return a query with its first hits, those that match, and where the chunks of these stand in other views."""
    if depth is None:
        return query
    shown = {hit.chunk for hit in query.all_hits() if hit.matches}
    shown |= {hit.chunk for view in query.all_views() for hit in _first_hits(view, depth)}
    return query.with_hits(lambda hits: tuple(hit for hit in hits if hit.chunk in shown))


def _first_hits(view: ViewDetail, depth: int) -> Iterator[ShownHit]:
    """Yield the hits down to a rank, of a session those of each call."""
    ends = list(accumulate(view.calls))
    for hit in view.hits:
        place = bisect_left(ends, hit.rank)
        before = ends[place - 1] if 0 < place <= len(ends) else 0
        if hit.rank - before <= depth:
            yield hit


def _cut(chunk: ShownChunk, length: int | None) -> ShownChunk:
    """Return a chunk with the first characters of its text."""
    left_out = 0 if length is None else max(0, len(chunk.text) - length)
    return chunk._replace(text=chunk.text[:length], left_out=left_out) if left_out else chunk
