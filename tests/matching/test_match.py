from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.matching.match import match_rankings
from raglift.matching.matches import Direction, MatchTable
from raglift.matching.overlap import PassageMatch, cover_passage, match_passage
from raglift.matching.rule import MatchRule, Text
from raglift.text.normalization import normalize
from raglift.types.checking import trusted
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

PARAGRAPH = (
    "“Well, Prince, so Genoa and Lucca are now just family estates of the Buonapartes. But I warn you, if you\r\n"
    "don’t tell me that this means war, I really believe he is Antichrist.”\r\n\r\n"
    "It was in July, 1805, and the speaker was the well-known Anna Pávlovna Schérer."
)


def match(chunk: str | Chunk, passage: str | Passage, rule: MatchRule | None = None) -> PassageMatch | None:
    rule = rule or MatchRule()
    return match_passage(
        Chunk(chunk) if isinstance(chunk, str) else chunk,
        # as in a run of an older raglift, the text may be empty
        trusted(Passage, {"text": passage}) if isinstance(passage, str) else passage,
        rule,
        Text(rule),
    )


def direction(chunk: str, passage: str, rule: MatchRule | None = None) -> int | None:
    found = match(chunk, passage, rule)
    return None if found is None else found.direction


def judged(query: Query, *chunks: Chunk) -> MatchTable:
    (match_table,) = match_rankings([query], [[Ranking.of((chunk, None) for chunk in chunks)]], MatchRule())
    return match_table


def test_a_chunk_that_contains_the_passage_covers_all_of_it() -> None:
    assert match(PARAGRAPH, "It was in\nJULY, 1805") == PassageMatch(
        Direction.CHUNK_CONTAINS_PASSAGE, 0, 20, 0, 20, relevant=True
    )


def test_a_chunk_inside_the_passage_covers_a_part_of_it() -> None:
    chunk = "the speaker was the well-known Anna Pa\u0301vlovna"
    found = match(chunk, PARAGRAPH)
    assert found is not None
    assert found.direction == Direction.PASSAGE_CONTAINS_CHUNK
    assert normalize(PARAGRAPH[found.start : found.end]) == normalize(chunk)


def test_equal_texts_match_whatever_their_length() -> None:
    assert direction("war", "War ") == Direction.CHUNK_CONTAINS_PASSAGE


@pytest.mark.parametrize(("chunk", "passage"), [("", "war"), ("war", ""), (" \n", PARAGRAPH), ("", "")])
@pytest.mark.parametrize("minimum_length", [0, 20])
def test_an_empty_text_never_matches(chunk: str, passage: str, minimum_length: int) -> None:
    rule = MatchRule(minimum_length=minimum_length)
    assert match(chunk, passage, rule) is None
    assert match(Chunk(chunk), trusted(Passage, {}), rule) is None


def test_a_short_passage_inside_a_chunk_matches() -> None:
    assert direction(PARAGRAPH, "1805") == Direction.CHUNK_CONTAINS_PASSAGE


@pytest.mark.parametrize(
    ("chunk", "found"),
    [
        ("it was in july, 180", None),  # 19 characters
        ("it was in july, 1805", Direction.PASSAGE_CONTAINS_CHUNK),  # 20
        ("it  was  in  july, ", None),  # 19 as written, 16 normalized
        ("\n it was in july, 180 \n", None),
    ],
)
def test_a_chunk_inside_a_passage_needs_twenty_normalized_characters(chunk: str, found: int | None) -> None:
    assert direction(chunk, PARAGRAPH) == found


def test_the_length_guard_can_be_set() -> None:
    assert direction("1805", PARAGRAPH, MatchRule(minimum_length=4)) == Direction.PASSAGE_CONTAINS_CHUNK
    assert direction("1805", PARAGRAPH, MatchRule(minimum_length=5)) is None
    assert direction("I", PARAGRAPH, MatchRule(minimum_length=0)) == Direction.PASSAGE_CONTAINS_CHUNK


def test_quotes_and_dashes_are_the_same_only_with_unicode_folding() -> None:
    chunk = "if you don't tell me that this means war"
    assert direction(chunk, PARAGRAPH) is None
    assert direction(chunk, PARAGRAPH, MatchRule(unicode_folding=True)) == Direction.PASSAGE_CONTAINS_CHUNK
    assert direction("STRASSE", "Straße") is None
    assert direction("STRASSE", "Straße", MatchRule(unicode_folding=True)) == Direction.CHUNK_CONTAINS_PASSAGE


@given(st.data())
def test_pieces_of_one_text_match_exactly_when_one_contains_the_other(data: st.DataObject) -> None:
    def overlap() -> str:
        start = data.draw(st.integers(0, len(PARAGRAPH)))
        return PARAGRAPH[start : start + data.draw(st.integers(0, 60))]

    chunk, passage, minimum_length = overlap(), overlap(), data.draw(st.integers(0, 30))
    found = match(chunk, passage, MatchRule(minimum_length=minimum_length))
    inner, outer = normalize(passage), normalize(chunk)
    if inner and outer and inner in outer:
        assert found is not None
        assert found.direction == Direction.CHUNK_CONTAINS_PASSAGE
        assert normalize(passage[found.start : found.end]) == inner
    elif inner and outer and outer in inner and len(outer) >= minimum_length:
        assert found is not None
        assert found.direction == Direction.PASSAGE_CONTAINS_CHUNK
        assert normalize(passage[found.start : found.end]) == outer
    else:
        assert found is None


class TestAnchoredPassages:
    """A passage of the document “wp” against the same text from somewhere."""

    PASSAGE = Passage("It was in July, 1805", doc_id="wp")

    @pytest.mark.parametrize(("doc_id", "matches", "by_text_alone"), [("wp", 1, 0), ("ak", 0, 0), (None, 1, 1)])
    def test_only_a_hit_of_another_document_is_refused(
        self, doc_id: str | None, matches: int, by_text_alone: int
    ) -> None:
        query = Query("q", "When?", (Fact((self.PASSAGE,)),))
        match_table = judged(query, Chunk(PARAGRAPH, doc_id=doc_id))
        assert len(match_table.matches.rank) == matches
        assert match_table.by_text_alone == by_text_alone

    def test_a_passage_without_a_document_matches_any(self) -> None:
        query = Query("q", "When?", (Fact((Passage("It was in July, 1805"),)),))
        match_table = judged(query, Chunk(PARAGRAPH, doc_id="ak"), Chunk(PARAGRAPH))
        assert match_table.matches.rank.tolist() == [1, 2]
        assert match_table.by_text_alone == 0

    def test_matches_by_text_alone_are_counted_for_each_stage(self) -> None:
        query = Query("q", "When?", (Fact((self.PASSAGE,)),))
        unknown, known = Chunk(PARAGRAPH), Chunk(PARAGRAPH, doc_id="wp")
        rankings = [[Ranking.of((chunk, None) for chunk in chunks)] for chunks in ([unknown, known], [known])]
        assert [judged.by_text_alone for judged in match_rankings([query], rankings, MatchRule())] == [1, 0]


class TestChunkIds:
    """Labels that name chunks match by id alone."""

    def test_the_id_counts_and_the_text_does_not(self) -> None:
        passage = Passage(chunk_id="c7")
        assert match(Chunk("anything", id="c7"), passage) == PassageMatch(Direction.SAME_ID, 0, 0, 0, 0, relevant=True)
        assert match(Chunk("", id="c7"), passage) == PassageMatch(Direction.SAME_ID, 0, 0, 0, 0, relevant=True)
        assert match(Chunk("c7", id="c8"), passage) is None

    def test_ids_and_texts_in_one_fact(self) -> None:
        fact = Fact((Passage(chunk_id="c7", grade=3), Passage("It was in July, 1805")))
        match_table = judged(
            Query("q", "When?", (fact,)), Chunk(PARAGRAPH, id="c1"), Chunk("x", id="c2"), Chunk("y", id="c7")
        )
        matches = match_table.matches
        assert matches.rank.tolist() == [1, 3]
        assert matches.passage.tolist() == [1, 0]
        assert matches.grade.tolist() == [1, 3]
        assert matches.direction.tolist() == [Direction.CHUNK_CONTAINS_PASSAGE, Direction.SAME_ID]


@pytest.mark.parametrize("mode", ["containment", "coverage"])
def test_judging_finds_what_each_hit_and_passage_share_by_themselves(mode: str) -> None:
    """Hits of documents that no passage is from are passed over: nothing is lost with them."""
    rule, names = MatchRule(mode), ("wp", "ak", None)  # type: ignore[arg-type]
    chunks = [Chunk(PARAGRAPH[at : at + 90], id=f"c{at % 3}", doc_id=name) for at in (0, 40, 130) for name in names]
    labels = [Passage(PARAGRAPH[10:60], "wp"), Passage(PARAGRAPH[50:150], None), Passage(chunk_id="c1")]
    for passages in (labels, labels[:1], labels[2:], labels[::2]):
        query = Query("q", "?", tuple(Fact((passage,)) for passage in passages))
        (found,) = match_rankings([query], [[Ranking.of((chunk, None) for chunk in chunks)]], rule)
        pairs = set(zip(found.overlaps.rank.tolist(), found.overlaps.fact.tolist(), strict=True))
        assert pairs == {
            (rank, fact)
            for rank, chunk in enumerate(chunks, start=1)
            for fact, passage in enumerate(passages)
            if cover_passage(chunk, passage, rule, Text(rule)) is not None
        }
        assert pairs


def test_every_direction_has_a_name() -> None:
    assert Direction.NAMES[Direction.CHUNK_CONTAINS_PASSAGE] == "chunk contains passage"
    assert Direction.NAMES[Direction.PASSAGE_CONTAINS_CHUNK] == "passage contains chunk"
    assert Direction.NAMES[Direction.SAME_ID] == "same id"
    assert Direction.NAMES[Direction.OVERLAP] == "chunk overlaps passage"
