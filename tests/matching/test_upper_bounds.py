"""What is kept of all chunks, and what retrieving exactly those that overlap a passage would give."""

from __future__ import annotations

from raglift.matching.match import inventory_of, span_upper_bound_of
from raglift.matching.rule import MatchRule
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Inventory

TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book. "
TOWER = Document("tower", TEXT)
COVERAGE = MatchRule("coverage")


def cut(size: int, *, step: int | None = None, placed: bool = True) -> list[Chunk]:
    spans = [(start, min(start + size, len(TEXT))) for start in range(0, len(TEXT), step or size)]
    return [
        Chunk(TEXT[a:b], doc_id="tower", start=a, end=b) if placed else Chunk(TEXT[a:b], id=f"{a}") for a, b in spans
    ]


def passage(start: int, end: int) -> Passage:
    return Passage(TEXT[start:end], "tower", start, end)


def query(*facts: Passage | tuple[Passage, ...]) -> Query:
    return Query("q", "?", tuple(Fact(fact if isinstance(fact, tuple) else (fact,)) for fact in facts))


def reach(chunks: list[Chunk], *queries: Query) -> list[tuple[int, int, int]]:
    found = span_upper_bound_of(queries, inventory_of(queries, chunks, (TOWER,), COVERAGE), COVERAGE)
    columns = (found.covered.tolist(), found.passages.tolist(), found.chunks.tolist())
    return list(zip(*columns, strict=True))


def test_only_the_chunks_that_overlap_a_passage_are_kept_each_once() -> None:
    chunks = cut(20)
    kept = inventory_of([query(passage(25, 45), passage(35, 50))], chunks, (TOWER,), COVERAGE)
    assert (kept.chunks, kept.touching) == (len(chunks), tuple(chunks[1:3]))
    assert kept.touches == ((0, 0, 0, 0), (0, 0, 0, 1), (0, 1, 0, 0), (0, 1, 0, 1))
    assert repr(kept) == "Inventory(5 chunks, 2 of them touch a passage)"


def test_it_remembers_what_was_looked_for() -> None:
    kept = inventory_of([], cut(20), (TOWER,), MatchRule(minimum_length=5, unicode_folding=True))
    assert kept == Inventory(5, (), (), minimum_length=5, unicode_folding=True)


def test_whole_chunks_come_with_what_is_wanted() -> None:
    assert reach(cut(20), query(passage(25, 45))) == [(20, 20, 40)]
    assert reach(cut(10), query(passage(25, 45))) == [(20, 20, 30)]


def test_what_overlapping_chunks_share_counts_once() -> None:
    # Characters 0 to 50: the first and the last of these chunks abut the passage
    assert reach(cut(20, step=10), query(passage(20, 30))) == [(10, 10, 50)]


def test_chunks_without_a_place_share_nothing() -> None:
    chunks = cut(60, step=28, placed=False)
    assert reach(chunks, query(passage(0, 88))) == [(88, 88, sum(len(chunk.text) for chunk in chunks[:3]))]


def test_the_alternative_that_can_be_covered_best_counts_with_its_own_chunks() -> None:
    chunks = cut(10)[:4]  # the text ends at 40
    assert reach(chunks, query((passage(30, 60), passage(0, 10)))) == [(10, 10, 20)]  # the second chunk abuts it


def test_nothing_overlaps_a_query_without_labels_or_with_chunk_ids_alone() -> None:
    by_id = query(Passage(chunk_id="0"))
    assert reach(cut(60, placed=False), by_id, Query("unlabelled", "?"), query(passage(0, 59))) == [
        (0, 0, 0),
        (0, 0, 0),
        (59, 59, 60),
    ]
