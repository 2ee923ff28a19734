"""How much of a prompt is read until each fact is satisfied: its position, in characters.

The prompt is the texts of the hits in order, with the white space that splitters strip between two hits that follow
each other in the source. A hit's position depends on what is before it alone, so cutting the same text finer moves no
position, where coverage is told by offsets.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.matching.coverage import Interval, characters_needed, covered_length, covered_matches, trimmed
from raglift.matching.overlap import characters_until
from raglift.matching.rule import MatchRule, Text
from raglift.types.labels import Passage

if TYPE_CHECKING:
    from raglift.matching.matches import Matches, MatchTable, PassageTable
    from raglift.types.documents import Chunk


def positions_of_facts(match_table: MatchTable, rule: MatchRule | None = None) -> NDArray[np.float64]:
    """Return how many characters are read until each fact is satisfied; infinity for one that never is.

    All hits before it are read whole, repeated text again. In the hit that satisfies it: by coverage, up to the point
    at which the threshold of a passage is reached; by containment, to the end of the passage, or to that of the hit
    where it lies inside the passage; by id, to the end of the hit. Of alternatives the first to be satisfied counts.

    Returns:
        Shape (facts,).
    """
    rule = rule or match_table.rule or MatchRule()
    if rule not in match_table.positions:
        match_table.positions[rule] = _positions(match_table, rule)
    return match_table.positions[rule]


def _positions(match_table: MatchTable, rule: MatchRule) -> NDArray[np.float64]:
    text = Text(rule)
    positions = np.full(len(match_table.facts.query), np.inf)
    starts = _starts_of_hits(match_table)
    first_hit = np.cumsum(match_table.hits) - match_table.hits
    overlaps = match_table.overlaps
    if rule.by_coverage:
        enough = covered_matches(match_table.passages, overlaps, rule, text)
        found, earlier = overlaps.take(enough), _Earlier(match_table.passages, overlaps)
    else:
        found, earlier = match_table.matches, None
    rows = match_table.passages.rows(found.fact, found.passage)
    columns = (found.query, found.rank, found.fact, rows)
    order = np.lexsort((found.rank, found.fact))
    for place, (query, rank, fact, row) in zip(order.tolist(), np.stack(columns, axis=1)[order].tolist(), strict=True):
        start = starts[first_hit[query] + rank - 1]
        if start >= positions[fact]:  # satisfied in an earlier hit
            continue
        passage = _passage(match_table.passages, row)
        passage_text = text(passage.text or "")
        reached = len(passage_text)
        if earlier is not None and passage.text is not None:
            interval = int(found.normalized_start[place]), int(found.normalized_end[place])
            needed = characters_needed(passage_text, rule)
            reached = _threshold_reached(earlier.of(row, rank), interval, passage_text, needed)
        chunk = match_table.rankings[query].hits[rank - 1].chunk
        position = start + characters_until(chunk, passage, reached, rule, text)
        positions[fact] = min(positions[fact], position)
    return positions


def characters_sent(match_table: MatchTable, k: int | None = None) -> NDArray[np.float64]:
    """Return how many characters the first k hits of each query have together; of all hits for None."""
    query = np.repeat(np.arange(match_table.queries), match_table.hits)
    first = np.cumsum(match_table.hits) - match_table.hits
    early = slice(None) if k is None else np.arange(len(query)) - first[query] < k
    sums = np.bincount(query[early], weights=match_table.lengths[early], minlength=match_table.queries)
    return sums.astype(np.float64)


_LONGEST_STRIPPED = 10
"""What lies between two hits is taken for stripped white space up to this length."""


def _starts_of_hits(match_table: MatchTable) -> NDArray[np.int64]:
    """Return for each hit, query after query, how many characters are read before it."""
    between = [
        0 if before is None else _stripped_between(before.chunk, hit.chunk)
        for ranking in match_table.rankings
        for before, hit in zip((None, *ranking.hits), ranking.hits, strict=False)
    ]
    lengths = match_table.lengths
    ends = np.concatenate(([0], np.cumsum(lengths + np.array(between, dtype=np.int64))))
    first = np.repeat(np.cumsum(match_table.hits) - match_table.hits, match_table.hits)
    return np.asarray(ends[1:] - lengths - ends[first], dtype=np.int64)


def _stripped_between(before: Chunk, after: Chunk) -> int:
    """Return the length of the white space that was stripped between two hits; 0 unless one follows the other."""
    if before.doc_id is None or before.doc_id != after.doc_id or before.end is None or after.start is None:
        return 0
    between = after.start - before.end
    return between if 0 < between <= _LONGEST_STRIPPED else 0


def _passage(passages: PassageTable, row: int) -> Passage:
    """Return the label of a row, as far as positions depend on it."""
    text, place = passages.texts[row], passages.places[row]
    if text is None:
        return Passage(chunk_id="" if passages.ids is None else passages.ids[row] or "")
    if place is None:
        return Passage(text)
    return Passage(text, place[0], place[1], place[1] + len(text))


class _Earlier:
    """What the hits above a rank cover of each passage."""

    def __init__(self, passages: PassageTable, overlaps: Matches) -> None:
        row = passages.rows(overlaps.fact, overlaps.passage)
        order = np.lexsort((overlaps.rank, row))
        self._row = row[order]
        self._rank = overlaps.rank[order].tolist()
        self._start, self._end = overlaps.normalized_start[order].tolist(), overlaps.normalized_end[order].tolist()

    def of(self, row: int, rank: int) -> list[Interval]:
        first, last = np.searchsorted(self._row, (row, row + 1)).tolist()
        last = bisect_left(self._rank, rank, first, last)
        return list(zip(self._start[first:last], self._end[first:last], strict=True))


def _threshold_reached(earlier: list[Interval], interval: Interval, passage_text: str, needed: int) -> int:
    """Return up to which character a passage must be read in a hit for enough of it to be covered.

    Returns:
        One past the last character: `“the lamp is lit”`, 9 of 15 characters needed, is read up to the i of is, because
        a blank counts with the character behind it.
    """
    start, end = interval

    def covered(reached: int) -> int:
        return covered_length([*earlier, trimmed(start, reached, passage_text)], passage_text)

    return start + 1 + bisect_left(range(start, end - 1), needed, key=lambda last: covered(last + 1))
