"""How much of a prompt is read until each fact is satisfied."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.reading import characters_sent, positions_of_facts
from raglift.matching.rule import MatchRule
from raglift.text.normalization import normalize
from raglift.types.checking import has_words
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

SOURCE = "".join(chr(ord("a") + (number * number + number // 26) % 26) for number in range(400))
"""No white space; no twenty characters of it occur twice."""
WORDS = "the lamp is lit at dusk, and the wick is trimmed at eight."
COVERAGE = MatchRule("coverage")
WHOLE = MatchRule("coverage", threshold=1.0)
CONTAINMENT = MatchRule()
NEVER = math.inf


def piece(start: int, end: int, source: str = SOURCE) -> Chunk:
    return Chunk(source[start:end], doc_id="d", start=start, end=end)


def span(start: int, end: int, source: str = SOURCE) -> Passage:
    return Passage(source[start:end], "d", start, end)


def read(hits: list[Chunk], *facts: Passage | list[Passage], rule: MatchRule = COVERAGE) -> MatchTable:
    alternatives = [tuple(fact) if isinstance(fact, list) else (fact,) for fact in facts]
    query = Query("q", "?", tuple(map(Fact, alternatives)))
    (found,) = match_rankings([query], [[Ranking.of((hit, None) for hit in hits)]], rule)
    return found


def positions(hits: list[Chunk], *facts: Passage | list[Passage], rule: MatchRule = COVERAGE) -> list[float]:
    return [float(position) for position in positions_of_facts(read(hits, *facts, rule=rule))]


# By hand.


def test_by_coverage_it_is_where_the_threshold_is_reached() -> None:
    # 70 characters, then 20 before the passage, then half of its 100
    assert positions([piece(300, 370), piece(80, 250)], span(100, 200)) == [70 + 20 + 50]
    assert positions([piece(300, 370), piece(80, 250)], span(100, 200), rule=WHOLE) == [70 + 20 + 100]
    assert positions([piece(120, 149)], span(100, 200)) == [NEVER]


def test_several_hits_reach_it_together_in_any_order() -> None:
    # 30 are read at the end of the passage; 20 more are enough, 10 of which are missing before them
    assert positions([piece(170, 230), piece(90, 180)], span(100, 200)) == [60 + 10 + 20]


def test_text_that_an_overlap_repeats_is_read_twice_and_covers_once() -> None:
    apart, overlapping = [piece(100, 130), piece(130, 200)], [piece(100, 130), piece(110, 200)]
    assert positions(apart, span(100, 200)) == [30 + 20]
    assert positions(overlapping, span(100, 200)) == [30 + 20 + 20]
    assert positions([piece(100, 130)] * 3, span(100, 200)) == [NEVER]


def test_a_blank_counts_with_the_character_behind_it() -> None:
    # 10 of 20 characters: "the lamp", the blank, and one letter
    passage = span(0, 20, WORDS)
    assert WORDS[:10] == "the lamp i"
    assert positions([piece(0, 20, WORDS)], passage) == [10]
    # cut at the blank, which is in neither piece and is read all the same
    assert positions([piece(0, 8, WORDS), piece(9, 20, WORDS)], passage) == [10]
    # the tenth from the i is a blank, so one more is read
    assert positions([piece(9, 20, WORDS), piece(0, 8, WORDS)], passage) == [11]


def test_white_space_of_the_source_is_read_as_it_is_written() -> None:
    source = "So:\r\n\r\n  the   lamp\r\nis lit"
    start = source.index("the")
    (position,) = positions([piece(0, len(source), source)], span(start, len(source), source), rule=WHOLE)
    assert position == len(source)
    (position,) = positions([piece(0, len(source), source)], span(start, len(source), source))
    assert source[start : int(position)] == "the   lamp"[: int(position) - start]
    assert len(normalize(source[start : int(position)])) == math.ceil(len("the lamp is lit") / 2)


def test_without_offsets_the_texts_tell_it() -> None:
    half = len(WORDS) // 2 + 1  # a blank is in the middle
    assert positions([Chunk(f"So: {WORDS} Then")], Passage(WORDS)) == [4 + half]
    assert positions([Chunk(f"So: {WORDS[:40]}")], Passage(WORDS)) == [4 + half]
    assert positions([Chunk(WORDS[10:])], Passage(WORDS), rule=WHOLE) == [NEVER]


def test_a_header_before_a_chunk_is_read() -> None:
    assert positions([Chunk(f"Keeper's log\n\n{WORDS}")], Passage(WORDS), rule=CONTAINMENT) == [14 + len(WORDS)]
    assert positions([Chunk(f"Keeper's log\n\n{WORDS}")], Passage(WORDS), rule=WHOLE) == [14 + len(WORDS)]


def test_by_containment_it_is_the_end_of_the_passage_or_of_a_hit_inside_it() -> None:
    assert positions([Chunk("x" * 9), Chunk(f"So: {WORDS} Then")], Passage(WORDS), rule=CONTAINMENT) == [
        9 + 4 + len(WORDS)
    ]
    assert positions([Chunk("x" * 9), Chunk(WORDS[10:40])], Passage(WORDS), rule=CONTAINMENT) == [9 + 30]
    # neither half holds it, nor lies inside
    assert positions([Chunk(f"So: {WORDS[:30]}")], Passage(WORDS), rule=CONTAINMENT) == [NEVER]


def test_by_id_it_is_the_end_of_the_hit() -> None:
    hits = [Chunk("x" * 9, id="a"), Chunk("y" * 7, id="b")]
    for rule in (CONTAINMENT, COVERAGE):
        assert positions(hits, Passage(chunk_id="b"), Passage(chunk_id="c"), rule=rule) == [16, NEVER]


def test_by_likeness_it_is_the_end_of_what_is_alike() -> None:
    scanned = WORDS.replace("lamp", "1amp")
    assert positions([Chunk(f"So: {scanned} Then")], Passage(WORDS), rule=MatchRule("fuzzy")) == [4 + len(WORDS)]


def test_of_alternatives_the_first_to_be_satisfied_counts() -> None:
    hits = [piece(80, 140), piece(200, 260)]
    assert positions(hits, [span(200, 240), span(100, 160)]) == [20 + 30]
    assert positions(hits, [span(300, 340), span(200, 240)]) == [60 + 20]
    # half of each is not half of one
    assert positions([piece(150, 250)], [span(50, 200), span(200, 350)]) == [NEVER]


def test_another_threshold_is_asked_of_the_same_table() -> None:
    table = read([piece(90, 250)], span(100, 200))
    assert positions_of_facts(table).tolist() == [60]
    assert positions_of_facts(table, WHOLE).tolist() == [110]
    assert positions_of_facts(table).tolist() == [60]


def test_characters_sent_are_those_of_the_first_hits() -> None:
    query = Query("q", "?", (Fact((Passage(WORDS),)),))
    stage = [Ranking.of((Chunk("x" * size), None) for size in sizes) for sizes in ([3, 5, 7], [], [2])]
    (table,) = match_rankings([query, replace(query, id="r"), replace(query, id="s")], [stage], COVERAGE)
    assert characters_sent(table).tolist() == [15, 0, 2]
    assert characters_sent(table, 2).tolist() == [8, 0, 2]


# The same text, cut finer.

parts = st.sampled_from(
    [
        "the lamp is lit",
        "  \r\n\r\n",
        " ",
        "\t \t",
        "e\u0301te\u0301 a\u0300 l'i\u0302le",
        "ﬁn İ",
        "—",
        "\u00a0",
        "wick",
    ]
)
sources = st.lists(parts, min_size=2, max_size=14).map("".join).filter(has_words)
bounds = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)


def drawn_spans(data: st.DataObject, source: str, most: int) -> list[tuple[int, int]]:
    found = data.draw(st.lists(bounds, min_size=1, max_size=most))
    spans = [(int(low * len(source)), math.ceil(high * len(source))) for low, high in found]
    return [(start, end) for start, end in spans if start < end]


def stripped(start: int, end: int, source: str) -> tuple[int, int]:
    text = source[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())


@pytest.mark.slow
@given(sources, st.sampled_from([0.07, 0.5, 0.8, 1.0]), st.booleans(), st.booleans(), st.data())
def test_cutting_hits_finer_moves_no_position(
    source: str, threshold: float, folding: bool, strips: bool, data: st.DataObject
) -> None:
    """Whether or not the splitter strips the white space at its cuts."""
    assume(not re.search(r"\s{11}", source))
    rule = MatchRule("coverage", 20, folding, threshold)
    facts = [span(*bound, source) for bound in drawn_spans(data, source, 3) if has_words(source[slice(*bound)])]
    assume(facts)
    coarse, fine = [], []
    for start, end in drawn_spans(data, source, 4):
        cuts = sorted({start, end, *data.draw(st.sets(st.integers(start, end), max_size=6))})
        pieces = [(start, end), *itertools.pairwise(cuts)]
        pieces = [stripped(*bound, source) for bound in pieces] if strips else pieces
        first, *others = [piece(*bound, source) for bound in pieces]
        coarse.append(first)
        fine += [one for one in others if one.text]
    assert positions(fine, *facts, rule=rule) == positions([one for one in coarse if one.text], *facts, rule=rule)


# Against reading character by character.


def brute(hits: list[Chunk], fact: Passage, rule: MatchRule) -> float:
    """Return the shortest beginning of the prompt that satisfies a fact, by matching each beginning."""
    before: list[Chunk] = []
    for hit in hits:
        for length in range(1, len(hit.text) + 1):
            end = None if hit.start is None else hit.start + length
            beginning = Chunk(hit.text[:length], doc_id=hit.doc_id, start=hit.start, end=end)
            if len(read([*before, beginning], fact, rule=rule).satisfied.fact):
                return sum(len(one.text) for one in before) + length
        before.append(hit)
    return NEVER


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([(0, 30), (10, 58), (20, 60), (44, 70), (58, 90), (0, 90)]), max_size=4),
    st.sampled_from([(0, 25), (12, 57), (21, 60), (40, 90), (2, 88)]),
    st.sampled_from([0.3, 0.5, 0.9, 1.0]),
)
def test_it_is_the_shortest_beginning_that_satisfies_the_fact(
    found: list[tuple[int, int]], wanted: tuple[int, int], threshold: float
) -> None:
    source = "At dusk the  lamp is lit;\n\nat eight\tthe wick is trimmed, and at four it is put out by the keeper."
    hits = [piece(*bound, source) for bound in found]
    rule = MatchRule("coverage", threshold=threshold)
    assert positions(hits, span(*wanted, source), rule=rule) == [brute(hits, span(*wanted, source), rule)]
