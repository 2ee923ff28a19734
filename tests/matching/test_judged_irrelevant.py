"""Which hits match what was judged irrelevant: by the rule that matches facts."""

import numpy as np
import pytest

from raglift.matching import MatchRule, judge
from raglift.metrics import Judged, compute, tokens
from raglift.records import Chunk, Fact, Passage, Query, Ranking

WANTED = "the answer is long enough to be found"
UNWANTED = "this was looked at and does not help at all"


def query(*irrelevant, labelled=True):
    facts = (Fact((Passage(WANTED),)),) if labelled else ()
    return Query("q", "?", facts, judged_irrelevant=irrelevant)


def found(asked, *chunks, rule=None):
    (judged,) = judge([asked], [[Ranking.of((chunk, None) for chunk in chunks)]], rule or MatchRule())
    return judged


def ranks(judged):
    return judged.irrelevant.rank.tolist()


def test_a_hit_that_contains_the_passage_or_lies_in_it():
    around, inside = Chunk(f"Before. {UNWANTED.upper()}. After."), Chunk(UNWANTED[:25])
    judged = found(query(Passage(UNWANTED, grade=0)), Chunk(WANTED), around, Chunk("other words"), inside)
    assert ranks(judged) == [2, 4]
    assert judged.irrelevant.query.tolist() == [0, 0]
    assert compute(judged, Judged @ 4).tolist() == [3 / 4]


def test_nothing_else_changes():
    chunks = [Chunk(UNWANTED), Chunk(WANTED), Chunk(f"{UNWANTED} {WANTED}")]
    without, judged = found(query(), *chunks), found(query(Passage(UNWANTED, grade=0)), *chunks)
    assert ranks(without) == []
    assert ranks(judged) == [1, 3]
    for of in ("matches", "pieces", "satisfied"):
        for column in ("rank", "fact"):
            np.testing.assert_array_equal(getattr(getattr(without, of), column), getattr(getattr(judged, of), column))


def test_a_hit_that_matches_both_counts_once():
    judged = found(
        query(Passage(UNWANTED, grade=0), Passage("not help at all", grade=0)), Chunk(f"{UNWANTED} {WANTED}")
    )
    assert ranks(judged) == [1]
    assert compute(judged, Judged @ 1).tolist() == [1]


def test_a_passage_of_another_document_does_not_match():
    judged = found(
        query(Passage(UNWANTED, "a.md", grade=0)), *(Chunk(UNWANTED, doc_id=name) for name in ("b.md", "a.md"))
    )
    assert ranks(judged) == [2]


def test_ids_match_by_id():
    judged = found(query(Passage(chunk_id="c7", grade=0)), Chunk("x", id="c1"), Chunk("x", id="c7"))
    assert ranks(judged) == [2]


@pytest.mark.parametrize(("mode", "expected"), [("containment", []), ("coverage", [1]), ("fuzzy", [])])
def test_the_rule_decides(mode, expected):
    half = Chunk(f"Other words before it. {UNWANTED[:25]}")  # its end is the beginning of the passage
    judged = found(query(Passage(UNWANTED, grade=0)), half, rule=MatchRule(mode))
    assert ranks(judged) == expected


def test_a_query_without_facts_is_not_looked_at():
    assert ranks(found(query(Passage(UNWANTED, grade=0), labelled=False), Chunk(UNWANTED))) == []


def test_a_cut_ranking_forgets_what_is_cut():
    judged = found(query(Passage(UNWANTED, grade=0)), Chunk(WANTED), Chunk(UNWANTED), Chunk("nothing"))
    assert ranks(judged.cut(np.array([1]))) == []
    assert ranks(judged.cut(np.array([2]))) == [2]
    assert compute(judged, Judged @ tokens(1000)).tolist() == [2 / 3]
    budget = int(judged.tokens[:2].sum())
    assert compute(judged, Judged @ tokens(budget)).tolist() == [1]
    assert compute(judged, Judged @ tokens(1)).tolist() == [0]
