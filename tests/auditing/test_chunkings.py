"""How passages lie in chunks, and what can be reached with them."""

from __future__ import annotations

import pytest

from raglift.auditing.dataset_audit import audit
from raglift.auditing.records import Audit, ChunkingAudit
from raglift.matching.rule import MatchRule
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query

pytestmark = pytest.mark.slow

TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book. He slept until dawn."
DOCUMENT = Document("tower", TEXT)


def chunk(start: int, end: int) -> Chunk:
    return Chunk(TEXT[start:end], id=f"{start}-{end}", doc_id="tower", start=start, end=end)


def span(start: int, end: int) -> Passage:
    return Passage(TEXT[start:end], "tower", start, end)


def audited(chunks: list[Chunk], *facts: Passage, **settings: object) -> Audit:
    query = Query("q", "?", tuple(Fact((passage,)) for passage in facts))
    return audit(Dataset((query,), (DOCUMENT,)), chunks=chunks, **settings)  # type: ignore[arg-type]


def chunking(*arguments: object, **settings: object) -> ChunkingAudit:
    return audited(*arguments, **settings).chunkings[0]  # type: ignore[arg-type]


HALVES = [chunk(0, 50), chunk(50, len(TEXT))]


@pytest.mark.parametrize("literal", [False, True], ids=["span", "literal text"])
@pytest.mark.parametrize(
    ("start", "end", "placement"),
    [(4, 30, "inside"), (30, 70, "straddling"), (42, 58, "straddling"), (0, 90, "in pieces")],
)
def test_a_passage_lies_so_in_the_chunks(start: int, end: int, placement: str, literal: bool) -> None:
    passage = Passage(TEXT[start:end]) if literal else span(start, end)
    assert chunking(HALVES, passage).placements == (placement,)


def test_a_passage_that_was_not_chunked_is_missing() -> None:
    assert chunking(HALVES[:1], span(60, 90)).placements == ("missing",)
    assert chunking([], span(60, 90)).placements == ("missing",)


def test_chunks_without_places_are_told_by_their_texts() -> None:
    bare = [Chunk(each.text) for each in HALVES]
    assert chunking(bare, span(4, 30), span(20, 80)).placements == ("inside", "straddling")


def test_attainable_recall_is_that_of_the_best_choice() -> None:
    quarters = [chunk(at, at + 25) for at in range(0, 100, 25)]
    by_coverage = chunking(quarters, span(0, 20), span(5, 24), span(80, 99), span(25, 75), ks=(1, 2, 3, 4))
    assert [(each.recall, each.exact) for each in by_coverage.attainable] == [
        (0.5, True),  # two facts in the first quarter
        (0.75, True),
        (1.0, True),  # half of the last fact is enough
        (1.0, True),
    ]
    whole = MatchRule("coverage", threshold=1.0)
    assert chunking(quarters, span(25, 75), ks=(1, 2), match=whole).attainable[0].recall == 0
    assert chunking(quarters, span(20, 30), ks=(4,), match="containment").attainable[0].recall == 0


def test_queries_that_are_not_scored_do_not_count() -> None:
    facts = (Fact((span(4, 30),)),)
    queries = (
        Query("unanswerable", "?", facts, answerable=False),
        Query("unlabelled", "?"),
        Query("lost", "?", (Fact((span(60, 90),)), Fact((span(0, 20),)))),
        Query("found", "?", facts),
    )
    found = audit(Dataset(queries, (DOCUMENT,)), chunks=HALVES[:1], ks=(1,)).chunkings[0]
    assert found.placements == ("missing", "inside", "inside")
    assert found.attainable[0].recall == pytest.approx(0.75)
    nothing = audit(Dataset(queries[:2], (DOCUMENT,)), chunks=HALVES, ks=(1,)).chunkings[0]
    assert nothing.attainable[0].recall != nothing.attainable[0].recall


def test_chunks_that_the_model_truncates_are_counted() -> None:
    document = Document("d", "one two three four five six seven eight nine ten " * 60)
    dataset = Dataset((Query("q", "?", (Fact((Passage("one two three four five"),)),)),), (document,))
    found = audit(dataset, chunkers=["recursive:200/0", "recursive:3000/0"])
    assert [each.read_in_part for each in found.chunkings] == [0, 1]
    assert audit(dataset, chunkers=["recursive:200/0"], embedding="some/model").chunkings[0].read_in_part is None
