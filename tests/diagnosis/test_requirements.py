"""What a fact needs of a set of chunks, with and without the white space beside the covered parts."""

from __future__ import annotations

import pytest

from raglift.diagnosis import Alternative
from raglift.diagnosis.requirements import requirements_of
from raglift.matching import Direction, MatchRule, PassageMatch
from raglift.records import Fact, Passage, Query

WORDS = "four  words of  text"
QUERY = Query("q", "?", (Fact((Passage(WORDS), Passage(chunk_id="c"))),))


def part(start: int, end: int, *, relevant: bool = True) -> PassageMatch:
    return PassageMatch(Direction.OVERLAP, start, end, relevant)


def test_by_containment_each_relevant_chunk_is_enough() -> None:
    pieces = {(0, 0): [(7, part(0, 20)), (8, part(0, 4, relevant=False)), (7, part(0, 20))]}
    assert requirements_of(QUERY, pieces, MatchRule()) == [[Alternative.any_of([7]), Alternative.any_of([])]]


@pytest.mark.parametrize(("threshold", "needed"), [(0.5, 10), (0.51, 11), (1.0, 20), (0.01, 1)])
def test_by_coverage_the_threshold_says_how_many_characters(threshold: float, needed: int) -> None:
    pieces = {(0, 0): [(1, part(0, 4, relevant=False))], (0, 1): [(2, PassageMatch(Direction.SAME_ID, 0, 0, True))]}
    (by_text, by_id), *others = requirements_of(QUERY, pieces, MatchRule("coverage", threshold=threshold))
    assert others == []
    assert by_text == Alternative(needed, ((1, 0, 6),))
    assert by_id == Alternative.any_of([2])


def test_parts_take_the_white_space_beside_them_along_or_not() -> None:
    pieces = {(0, 0): [(1, part(6, 11)), (2, part(16, 20))]}
    rule = MatchRule("coverage")
    wide, narrow = (requirements_of(QUERY, pieces, rule, widened=widened)[0][0].covers for widened in (True, False))
    assert wide == ((1, 4, 12), (2, 14, 20))
    assert narrow == ((1, 6, 11), (2, 16, 20))
