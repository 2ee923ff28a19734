"""What the chunks of an index allow, whatever is retrieved."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.coverage import covered_length
from raglift.matching.inventory import touching_chunks
from raglift.matching.judgements import Reach
from raglift.matching.judging import fact_table, passage_table
from raglift.matching.pieces import cover_passage, shared_by_offsets
from raglift.matching.spans import best_covered, covered_characters
from raglift.matching.texts import Text
from raglift.records import Inventory

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from raglift.matching.coverage import Interval
    from raglift.matching.rule import MatchRule
    from raglift.records import Chunk, Document, Passage, Query

__all__ = ["inventory_of", "reach_of"]


def inventory_of(
    queries: Sequence[Query],
    chunks: Sequence[Chunk],
    documents: Sequence[Document],
    rule: MatchRule,
    *,
    progress: bool | None = None,
) -> Inventory:
    """Return what an evaluation needs to know of all chunks: how many there are, and those that touch a passage.

    Those that only abut a passage are among them: Chroma's precision omega counts them.

    Args:
        queries: the labels.
        chunks: all chunks of the index, with checked offsets.
        documents: the source texts; none when they are not at hand.
        rule: what counts as a match.
        progress: whether to show progress where there are many chunks; None decides by the terminal.
    """
    touches = touching_chunks(
        queries,
        chunks,
        documents,
        minimum_length=rule.minimum_length,
        unicode_folding=rule.unicode_folding,
        also_by_text=True,  # so that the run can be scored again by another rule
        abutting=True,
        progress=progress,
    )
    numbers, chunk = np.unique(touches.chunk, return_inverse=True)
    rows = zip(touches.query.tolist(), touches.fact.tolist(), touches.passage.tolist(), chunk.tolist(), strict=True)
    touching = tuple(chunks[number] for number in numbers.tolist())
    return Inventory(len(chunks), touching, tuple(rows), rule.minimum_length, rule.unicode_folding, abutting=True)


def reach_of(queries: Sequence[Query], inventory: Inventory, rule: MatchRule) -> Reach:
    """Return what retrieving exactly the chunks that touch a passage would give.

    Where the places of both are known they alone decide, and a chunk that only abuts the passage touches it, as in
    Chroma's code; otherwise a chunk touches a passage of which it covers a part. Of alternatives, the one that these
    chunks cover best counts, with the chunks that touch it.

    Args:
        queries: the labels.
        inventory: the chunks that touch a passage.
        rule: how texts are compared where places are not known.
    """
    facts, passages, text = fact_table(queries), passage_table(queries), Text(rule)
    flat = [passage for query in queries if query.is_labelled for fact in query.facts for passage in fact.passages]
    pieces: dict[int, list[tuple[int, int]]] = defaultdict(list)
    touching: dict[int, list[Chunk]] = defaultdict(list)
    for _, fact, alternative, number in inventory.touches:
        row, chunk = int(passages.first[fact]) + alternative, inventory.touching[number]
        part = _covered_part(chunk, flat[row], rule, text)
        # By text some abutting chunks are found in any case: all of them count, or none
        if part is not None and (inventory.abutting or part[0] < part[1]):
            pieces[row].append(part)
            touching[row].append(chunk)
    covered, wanted = covered_characters(len(queries), facts, passages, pieces)
    returned = np.zeros(len(queries), dtype=np.int64)
    of_query: dict[int, list[Chunk]] = defaultdict(list)
    for query, best in zip(facts.query.tolist(), best_covered(facts, passages, pieces), strict=True):
        of_query[query] += touching.get(-1 if best is None else best, [])
    for query, chunks in of_query.items():
        returned[query] = _source_characters(chunks)
    return Reach(covered=covered, passages=wanted, chunks=returned)


def _covered_part(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> Interval | None:
    """Return the characters of a passage's own text that a chunk covers, none or more; None if it does not touch it."""
    if passage.text is None:
        return None
    shared = shared_by_offsets(chunk, passage)
    if shared is not None:
        return shared if shared[0] <= shared[1] else None
    piece = cover_passage(chunk, passage, rule, text)
    return None if piece is None else (piece.start, piece.end)


def _source_characters(chunks: Sequence[Chunk]) -> int:
    """Return how many characters of the source chunks hold, each once; chunks without a place share none."""
    lines: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for chunk in chunks:
        if chunk.doc_id is None or chunk.start is None or chunk.end is None:
            lines["text", chunk.text].append((0, len(chunk.text)))
        else:
            lines[chunk.doc_id].append((chunk.start, chunk.end))
    return sum(covered_length(intervals) for intervals in lines.values())
