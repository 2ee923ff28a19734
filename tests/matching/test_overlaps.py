from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raglift.matching.matches import Direction
from raglift.matching.overlap import cover_passage, match_passage
from raglift.matching.rule import MatchRule, Text
from raglift.types.documents import Chunk
from raglift.types.labels import Passage

SOURCE = (
    "“Well, Prince, so Genoa and Lucca are now just family estates of the Buonapartes. But I warn you, if you don’t\n"
    "tell me that this means war, I really believe he is Antichrist.”\n\n"
    "It was in July, 1805, and the speaker was the well-known Anna Pávlovna Schérer."
)
COVERAGE = MatchRule("coverage")


class Part(NamedTuple):
    """What these tests look at of a match: locations in the passage's own text."""

    direction: int
    start: int
    end: int
    relevant: bool


def cover(chunk: Chunk | str, passage: Passage | str, rule: MatchRule = COVERAGE) -> Part | None:
    found = cover_passage(
        Chunk(chunk) if isinstance(chunk, str) else chunk,
        Passage(passage) if isinstance(passage, str) else passage,
        rule,
        Text(rule),
    )
    return None if found is None else Part(found.direction, found.start, found.end, found.relevant)


def piece_of_source(start: int, end: int) -> Chunk:
    return Chunk(SOURCE[start:end], doc_id="wp", start=start, end=end)


def span(start: int, end: int) -> Passage:
    return Passage(SOURCE[start:end], "wp", start, end)


class TestByOffsets:
    """Both have a location in one document."""

    def test_a_chunk_that_ends_inside_the_passage(self) -> None:
        assert cover(piece_of_source(0, 60), span(30, 130)) == (Direction.OVERLAP, 0, 30, True)

    def test_a_chunk_that_begins_inside_the_passage(self) -> None:
        assert cover(piece_of_source(90, 200), span(30, 130)) == (Direction.OVERLAP, 60, 100, True)

    def test_a_chunk_inside_and_a_chunk_around(self) -> None:
        assert cover(piece_of_source(40, 90), span(30, 130)) == (Direction.PASSAGE_CONTAINS_CHUNK, 10, 60, True)
        assert cover(piece_of_source(0, 150), span(30, 130)) == (Direction.CHUNK_CONTAINS_PASSAGE, 0, 100, True)

    def test_chunks_that_do_not_meet_it(self) -> None:
        assert cover(piece_of_source(0, 30), span(30, 130)) is None
        assert cover(piece_of_source(130, 150), span(30, 130)) is None

    @pytest.mark.parametrize(("start", "end", "relevant"), [(30, 49, False), (30, 50, True), (60, 65, False)])
    def test_less_than_twenty_characters_are_covered_but_not_relevant(
        self, start: int, end: int, relevant: bool
    ) -> None:
        found = cover(piece_of_source(start, end), span(30, 130))
        assert found is not None
        assert (found.start, found.end, found.relevant) == (start - 30, end - 30, relevant)

    def test_all_of_a_short_passage_is_relevant(self) -> None:
        found = cover(piece_of_source(0, 60), span(18, 23))
        assert found == (Direction.CHUNK_CONTAINS_PASSAGE, 0, 5, True)

    def test_the_same_words_at_another_place_are_another_passage(self) -> None:
        twice = "said he, and went out of the room. " * 2
        passage = Passage(twice[:34], "wp", 0, 34)
        assert cover(Chunk(twice[35:69], doc_id="wp", start=35, end=69), passage) is None
        assert cover(Chunk(twice[35:69], doc_id="wp"), passage) is not None

    def test_where_offsets_and_texts_disagree_the_texts_decide(self) -> None:
        moved = Chunk(SOURCE[30:130], doc_id="wp", start=0, end=100)
        assert cover(moved, span(30, 130)) == (Direction.CHUNK_CONTAINS_PASSAGE, 0, 100, True)

    def test_white_space_alone_covers_nothing(self) -> None:
        assert cover(Chunk("\n\n", doc_id="wp", start=176, end=178), span(100, 200)) is None

    def test_another_document_covers_nothing(self) -> None:
        assert cover(Chunk(SOURCE, doc_id="ak"), span(30, 130)) is None


class TestByText:
    """One of them has no place."""

    @pytest.mark.parametrize("name", ["wp", None])
    def test_the_overlap_is_inferred(self, name: str | None) -> None:
        assert cover(Chunk(SOURCE[:60], doc_id=name), span(30, 130)) == (Direction.OVERLAP, 0, 30, True)
        assert cover(Chunk(SOURCE[90:], doc_id=name), span(30, 130)) == (Direction.OVERLAP, 60, 100, True)

    def test_white_space_and_letter_case_do_not_matter(self) -> None:
        chunk = SOURCE[90:150].replace("\n", "   ").upper()
        found = cover(chunk, span(30, 130))
        assert found is not None
        assert (found.start, found.end) == (60, 100)

    def test_fewer_than_twenty_characters_are_not_told(self) -> None:
        assert cover(SOURCE[:49], span(30, 130)) is None
        assert cover(SOURCE[:50], span(30, 130)) is not None

    def test_the_longer_of_two_overlaps_counts(self) -> None:
        edge = "a very long time ago indeed, "
        assert cover(f"{edge}there was a king in a castle", f"there was a king in a castle {edge}") == (
            Direction.OVERLAP,
            0,
            28,
            True,
        )


@pytest.mark.slow
@given(st.data())
def test_offsets_and_texts_agree_up_to_twenty_characters(data: st.DataObject) -> None:
    def place() -> tuple[int, int]:
        start = data.draw(st.integers(0, len(SOURCE) - 1))
        return start, data.draw(st.integers(start + 1, len(SOURCE)))

    (start, end), (first, last) = place(), place()
    assume(SOURCE[first:last].strip())
    passage = span(first, last)
    by_offsets = cover(piece_of_source(start, end), passage)
    by_text = cover(Chunk(SOURCE[start:end], doc_id="wp"), passage)
    covered, inferred = (found.end - found.start if found else 0 for found in (by_offsets, by_text))
    assert abs(covered - inferred) < 22  # 19 normalized characters, and white space beside them


class TestContainment:
    """A piece of a passage is known, but is not a match."""

    def test_a_straddling_chunk_is_no_match(self) -> None:
        rule = MatchRule()
        for chunk in (piece_of_source(0, 100), Chunk(SOURCE[:100])):
            found = cover(chunk, span(30, 130), rule)
            assert found == (Direction.OVERLAP, 0, 70, False)
            assert match_passage(chunk, span(30, 130), rule, Text(rule)) is None

    def test_a_scrap_inside_is_a_piece_but_no_match(self) -> None:
        found = cover(piece_of_source(40, 50), span(30, 130), MatchRule())
        assert found == (Direction.PASSAGE_CONTAINS_CHUNK, 10, 20, False)

    @pytest.mark.parametrize("mode", ["containment", "coverage", "fuzzy"])
    def test_what_a_chunk_covers_is_where_it_is_not_where_its_words_stand_first(self, mode: str) -> None:
        words = "the lamp is lit at dusk. "
        passage = Passage(words * 3, "log", 0, 3 * len(words))
        chunk = Chunk(words, doc_id="log", start=len(words), end=2 * len(words))
        rule = MatchRule(mode)  # type: ignore[arg-type]
        expected = (Direction.PASSAGE_CONTAINS_CHUNK, len(words), 2 * len(words), True)
        assert cover(chunk, passage, rule) == expected


class TestFuzzy:
    """Texts that were scanned or cleaned on the way in."""

    RULE = MatchRule("fuzzy")
    SCANNED = SOURCE.replace("Genoa", "Gen0a").replace("rn", "m").replace("“", "").replace("family", "farnily")

    def test_a_scanned_chunk_holds_the_passage(self) -> None:
        assert cover(self.SCANNED, SOURCE[:80], MatchRule()) is None
        assert cover(self.SCANNED, SOURCE[:80], self.RULE) == (Direction.CHUNK_CONTAINS_PASSAGE, 0, 80, True)

    def test_a_scanned_chunk_inside_the_passage(self) -> None:
        found = cover(self.SCANNED[:60], SOURCE, self.RULE)
        assert found is not None
        assert found.direction == Direction.PASSAGE_CONTAINS_CHUNK
        assert found.relevant
        assert (found.start, found.end) == pytest.approx((0, 60), abs=3)

    def test_other_words_do_not_match(self) -> None:
        assert cover("“Well, Prince, so Moscow and Kiev were never a family estate of the Kuragins.", SOURCE) is None

    def test_the_threshold_can_be_raised(self) -> None:
        strict = MatchRule("fuzzy", threshold=1)
        assert cover(self.SCANNED, SOURCE[:80], strict) is None
        assert cover(SOURCE.upper(), SOURCE[:80], strict) is not None

    def test_a_scrap_never_matches_by_lying_inside(self) -> None:
        assert cover("so Gen0a and", SOURCE, self.RULE) is None
