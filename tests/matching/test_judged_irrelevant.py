"""Which hits were judged irrelevant: those that are, or lie inside, what was judged so, by the rule of matching."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.matching.match import grade_by_labels, match_rankings
from raglift.matching.rule import MatchRule, Text
from raglift.metrics.budgets import tokens
from raglift.metrics.computing import compute
from raglift.metrics.graded_measures import Judged
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

WANTED = "the answer is long enough to be found"
UNWANTED = "this was looked at and does not help at all"


def query(*irrelevant, labelled=True):
    facts = (Fact((Passage(WANTED),)),) if labelled else ()
    return Query("q", "?", facts, judged_irrelevant=irrelevant)


def found(asked, *chunks, rule=None):
    (judged,) = match_rankings([asked], [[Ranking.of((chunk, None) for chunk in chunks)]], rule or MatchRule())
    return judged


def ranks(judged):
    return judged.irrelevant.rank.tolist()


def test_a_hit_that_is_the_passage_or_lies_in_it():
    same, inside = Chunk(f" {UNWANTED.upper()}\n"), Chunk(UNWANTED[:25])
    judged = found(query(Passage(UNWANTED, grade=0)), Chunk(WANTED), same, Chunk("other words"), inside)
    assert ranks(judged) == [2, 4]
    assert judged.irrelevant.query.tolist() == [0, 0]
    assert compute(judged, Judged @ 4).tolist() == [3 / 4]


@pytest.mark.parametrize("mode", ["containment", "coverage", "fuzzy"])
def test_a_hit_that_contains_more_is_not_judged_by_a_part_of_it(mode):
    around = Chunk(f"Nobody has read these words yet. {UNWANTED}. Nor these, which may be the answer.")
    judged = found(query(Passage(UNWANTED, grade=0)), around, rule=MatchRule(mode))
    assert ranks(judged) == []
    assert compute(judged, Judged @ 1).tolist() == [0]


def test_nothing_else_changes():
    chunks = [Chunk(UNWANTED), Chunk(WANTED), Chunk(f"{UNWANTED} {WANTED}")]
    without, judged = found(query(), *chunks), found(query(Passage(UNWANTED, grade=0)), *chunks)
    assert ranks(without) == []
    assert ranks(judged) == [1]
    for of in ("matches", "overlaps", "satisfied"):
        for column in ("rank", "fact"):
            np.testing.assert_array_equal(getattr(getattr(without, of), column), getattr(getattr(judged, of), column))


def test_a_hit_that_was_judged_both_ways_counts_once():
    both = f"{UNWANTED} {WANTED}"
    judged = found(query(Passage(both, grade=0), Passage(f"{both} and more", grade=0)), Chunk(both))
    assert ranks(judged) == [1]
    assert compute(judged, Judged @ 1).tolist() == [1]


@pytest.mark.parametrize("mode", ["containment", "coverage", "fuzzy"])
def test_a_hit_that_begins_before_the_passage_is_not_judged(mode):
    half = Chunk(f"Other words before it. {UNWANTED[:25]}")  # its end is the beginning of the passage
    assert ranks(found(query(Passage(UNWANTED, grade=0)), half, rule=MatchRule(mode))) == []


def test_nearly_the_same_words_are_the_same_where_the_rule_is_fuzzy():
    scanned = UNWANTED.replace("looked", "lookcd")
    chunks = [Chunk(scanned), Chunk(f"{scanned}."), Chunk(scanned[:30]), Chunk(f"{scanned} {WANTED}")]
    for mode, expected in (("containment", []), ("fuzzy", [1, 2, 3])):
        assert ranks(found(query(Passage(UNWANTED, grade=0)), *chunks, rule=MatchRule(mode))) == expected


def test_spans_tell_by_their_places_where_coverage_is_asked_for():
    text = f"{'c' * 45}{'aaaa bbbb ' * 6}{'d' * 5}{'aaaa bbbb ' * 4}"
    bounds = [(50, 100), (60, 90), (40, 110), (80, 120), (110, 140)]
    chunks = [Chunk(text[start:end], doc_id="d", start=start, end=end) for start, end in bounds]
    for rule, expected in ((MatchRule("coverage"), [1, 2]), (MatchRule(), [1, 2, 5])):
        judged = found(query(Passage(text[50:100], "d", 50, 100, grade=0)), *chunks, rule=rule)
        assert ranks(judged) == expected, rule  # the last one has words of the passage elsewhere


@pytest.mark.slow
@given(st.data())
@settings(max_examples=300, deadline=None)
def test_it_is_what_lies_between_the_ends_whatever_the_chunks(data):
    words = [f"w{number:03}" for number in range(40)]  # each once: what lies where is told by words alone
    bounds = st.tuples(st.integers(0, 39), st.integers(0, 39)).map(sorted)
    cuts = data.draw(st.lists(bounds, min_size=1, max_size=6))
    irrelevant = data.draw(st.lists(bounds, max_size=4))
    facts = data.draw(st.lists(bounds, min_size=1, max_size=3))
    said = [" ".join(words[first : last + 1]) for first, last in (*cuts, *irrelevant, *facts)]
    chunks = said[: len(cuts)]
    unwanted, wanted = said[len(cuts) : len(cuts) + len(irrelevant)], said[len(cuts) + len(irrelevant) :]
    asked = Query(
        "q",
        "?",
        tuple(Fact((Passage(text, grade=1 + number),)) for number, text in enumerate(wanted)),
        judged_irrelevant=tuple(Passage(text, grade=0) for text in unwanted),
    )
    rule = MatchRule(minimum_length=0)
    expected = []
    for first, last in cuts:
        hit = [
            1 + number
            for number, (low, high) in enumerate(facts)
            if (first <= low and high <= last) or (low <= first and last <= high)
        ]
        inside = any(low <= first and last <= high for low, high in irrelevant)
        expected.append(max(hit) if hit else 0 if inside else None)
    text = Text(rule)
    assert [grade_by_labels(asked, Chunk(chunk), rule, text) for chunk in chunks] == expected
    judged = found(asked, *(Chunk(chunk) for chunk in chunks), rule=rule)
    for k in (1, 3, 10):
        known = [grade is not None for grade in expected[:k]]
        assert compute(judged, Judged @ k).tolist() == [sum(known) / len(known)]


def test_a_cut_ranking_forgets_what_is_cut():
    judged = found(query(Passage(UNWANTED, grade=0)), Chunk(WANTED), Chunk(UNWANTED), Chunk("nothing"))
    assert ranks(judged.cut(np.array([1]))) == []
    assert ranks(judged.cut(np.array([2]))) == [2]
    assert compute(judged, Judged @ tokens(1000)).tolist() == [2 / 3]
    budget = int(judged.tokens[:2].sum())
    assert compute(judged, Judged @ tokens(budget)).tolist() == [1]
    assert compute(judged, Judged @ tokens(1)).tolist() == [0]
