from __future__ import annotations

import numpy as np

from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.rule import MatchRule
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

TEXT = "".join(np.random.default_rng(0).choice(list("abcdefghijklmnopqrstuvwxyz"), 400))
"""No white space, and nothing occurs twice."""


def overlap(start: int, end: int) -> Chunk:
    return Chunk(TEXT[start:end], doc_id="d", start=start, end=end)


def span(start: int, end: int, grade: int = 1) -> Passage:
    return Passage(TEXT[start:end], "d", start, end, grade=grade)


def judged(facts: list[list[Passage]], chunks: list[Chunk], threshold: float = 0.5) -> MatchTable:
    query = Query("q", "?", tuple(Fact(tuple(passages)) for passages in facts))
    (found,) = match_rankings(
        [query], [[Ranking.of((chunk, None) for chunk in chunks)]], MatchRule("coverage", threshold=threshold)
    )
    return found


def satisfied(facts: list[list[Passage]], chunks: list[Chunk], threshold: float = 0.5) -> list[tuple[int, int, int]]:
    """(fact, rank, grade) of each satisfaction."""
    found = judged(facts, chunks, threshold).satisfied
    return list(zip(found.fact.tolist(), found.rank.tolist(), found.grade.tolist(), strict=True))


def test_half_is_enough_and_less_is_not() -> None:
    assert satisfied([[span(100, 200)]], [overlap(0, 149)]) == []
    assert satisfied([[span(100, 200)]], [overlap(0, 150)]) == [(0, 1, 1)]


def test_hits_together_cover() -> None:
    parts = [overlap(80, 130), overlap(300, 400), overlap(170, 220)]
    assert satisfied([[span(100, 200)]], parts) == [(0, 3, 1)]


def test_what_two_hits_share_counts_once() -> None:
    assert satisfied([[span(100, 200)]], [overlap(90, 140), overlap(110, 145), overlap(120, 149)]) == []
    assert satisfied([[span(100, 200)]], [overlap(90, 140), overlap(110, 145), overlap(120, 150)]) == [(0, 3, 1)]


def test_alternatives_are_never_mixed() -> None:
    assert satisfied([[span(100, 200), span(200, 300)]], [overlap(160, 240)]) == []


def test_a_better_alternative_counts_when_it_is_covered_itself() -> None:
    fact = [span(100, 140, grade=1), span(200, 300, grade=3)]
    assert satisfied([fact], [overlap(90, 150), overlap(190, 240), overlap(240, 260)]) == [(0, 1, 1), (0, 3, 3)]


def test_a_hit_is_relevant_from_twenty_characters_on() -> None:
    found = judged([[span(100, 200)]], [overlap(90, 119), overlap(90, 120), overlap(300, 330)])
    assert found.matches.rank.tolist() == [2]
    assert found.overlaps.rank.tolist() == [1, 2]
    # What is not relevant by itself still covers
    assert satisfied([[span(100, 130)]], [overlap(90, 115)]) == [(0, 1, 1)]


def test_a_chunk_id_is_satisfied_by_its_chunk() -> None:
    assert satisfied([[Passage(chunk_id="c")]], [overlap(0, 9), Chunk("anything", id="c")]) == [(0, 2, 1)]


def test_white_space_that_a_splitter_strips_is_no_loss() -> None:
    words = "the first paragraph of it\n\n  the second paragraph\n"
    first, second = Chunk("the first paragraph of it"), Chunk("the second paragraph")
    assert satisfied([[Passage(words)]], [first, second], threshold=1) == [(0, 2, 1)]
    assert satisfied([[Passage(words)]], [second, first], threshold=1) == [(0, 2, 1)]


def test_text_and_offsets_cover_together() -> None:
    unknown = Chunk(TEXT[150:260])
    assert satisfied([[span(100, 200)]], [overlap(90, 120), unknown], threshold=0.7) == [(0, 2, 1)]
