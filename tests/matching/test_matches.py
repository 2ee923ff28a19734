from __future__ import annotations

import numpy as np
import pytest

from raglift.matching.match import match_rankings
from raglift.matching.matches import FactTable, Matches, MatchTable, satisfactions_of
from raglift.matching.rule import MatchRule
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking


def table(*rows: tuple[int, int, int]) -> Matches:
    """Matches of (fact, rank, grade), all of one query."""
    fact, rank, grade = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Matches(
        nothing,
        rank,
        fact,
        nothing,
        grade,
        nothing.astype(np.int8),
        nothing,
        nothing,
        nothing,
        nothing,
        nothing.astype(np.bool_),
        ~nothing.astype(np.bool_),
    )


def facts(*ideal_grades: int) -> FactTable:
    ideal = np.array(ideal_grades, dtype=np.int64)
    return FactTable(np.zeros_like(ideal), ideal, np.ones_like(ideal))


@pytest.mark.parametrize(
    ("ideal_grades", "matches", "satisfied"),
    [
        ((), [], []),
        ((1,), [], []),
        ((1,), [(0, 3, 1)], [(0, 3, 1)]),
        ((1,), [(0, 3, 1), (0, 5, 1)], [(0, 3, 1)]),
        ((3,), [(0, 1, 1), (0, 2, 3)], [(0, 1, 1), (0, 2, 3)]),
        ((3,), [(0, 1, 3), (0, 2, 1)], [(0, 1, 3)]),
        ((3,), [(0, 2, 1), (0, 2, 3)], [(0, 2, 3)]),
        ((2, 1), [(0, 4, 2), (1, 1, 1)], [(0, 4, 2), (1, 1, 1)]),
        (
            (4, 1, 4),
            [(2, 1, 2), (0, 1, 4), (2, 6, 4), (1, 2, 1)],
            [(0, 1, 4), (1, 2, 1), (2, 1, 2), (2, 6, 4)],
        ),
    ],
)
def test_a_fact_is_satisfied_at_its_first_match_and_at_each_better_one(
    ideal_grades: tuple[int, ...], matches: list[tuple[int, int, int]], satisfied: list[tuple[int, int, int]]
) -> None:
    found = satisfactions_of(facts(*ideal_grades), table(*matches))
    assert list(zip(found.fact, found.rank, found.grade, strict=True)) == satisfied


def judged(queries: list[Query], *stages: list[list[str]]) -> list[MatchTable]:
    rankings = [
        [Ranking.of((Chunk(f"text of {name}", id=name), None) for name in ids) for ids in of_stage]
        for of_stage in stages
    ]
    return match_rankings(queries, rankings, MatchRule())


def by_id(*ids: str) -> Fact:
    return Fact(tuple(Passage(chunk_id=name) for name in ids))


def test_the_tables_cover_all_queries_and_number_facts_across_them() -> None:
    queries = [
        Query("q1", "?", (by_id("a"), by_id("b", "c"))),
        Query("q2", "?"),
        Query("q3", "?", (by_id("a"),), answerable=False),
        Query("q4", "?", (Fact((Passage(chunk_id="a", grade=2), Passage(chunk_id="d", grade=4))),)),
    ]
    (match_table,) = judged(queries, [["c", "a", "x"], ["a"], ["a"], []])
    assert match_table.queries == 4
    assert match_table.hits.tolist() == [3, 1, 1, 0]
    assert match_table.facts.query.tolist() == [0, 0, 3]
    assert match_table.facts.ideal_grade.tolist() == [1, 1, 4]
    assert match_table.facts.passages.tolist() == [1, 2, 2]
    matches = match_table.matches
    assert list(zip(matches.query, matches.rank, matches.fact, matches.passage, strict=True)) == [
        (0, 1, 1, 1),
        (0, 2, 0, 0),
    ]


def test_each_stage_is_judged_by_itself() -> None:
    query = Query("q", "?", (by_id("a"),))
    before, after = judged([query], [["x", "a"]], [["a"]])
    assert (before.matches.rank.tolist(), before.hits.tolist()) == ([2], [2])
    assert (after.matches.rank.tolist(), after.hits.tolist()) == ([1], [1])


def test_a_hit_that_comes_back_again_is_marked() -> None:
    query = Query("q", "?", (by_id("a"), by_id("a", "b")))
    before, after = judged([query], [["a", "b", "x", "a"]], [["b", "b"]])
    assert list(zip(before.matches.rank, before.matches.repeated, strict=True)) == [
        (1, False),
        (1, False),
        (2, False),
        (4, True),
        (4, True),
    ]
    assert after.matches.repeated.tolist() == [False, True]


def ranking_of(*names: str) -> Ranking:
    return Ranking.of((Chunk(f"the text of {name}", id=name), None) for name in names)


def test_hits_whose_id_came_back_before_are_told_whether_they_match_or_not() -> None:
    queries = [Query("q", "?", (Fact((Passage(chunk_id="a"),)),)), Query("r", "?", (Fact((Passage(chunk_id="b"),)),))]
    rankings = [ranking_of("x", "a", "x", "a", "a"), ranking_of("a", "b", "b")]
    (judged,) = match_rankings(queries, [rankings], MatchRule())
    found = list(zip(judged.repeats.query.tolist(), judged.repeats.rank.tolist(), strict=True))
    assert found == [(0, 3), (0, 4), (0, 5), (1, 3)]
    cut = judged.cut(np.array([3, 2])).repeats
    assert list(zip(cut.query.tolist(), cut.rank.tolist(), strict=True)) == [(0, 3)]


def test_the_same_label_in_two_facts_of_a_query_is_told() -> None:
    lamp = Passage("the lamp", doc_id="d", start=3, end=11, grade=2)
    elsewhere = Passage("the lamp", doc_id="d", start=30, end=38)
    facts = (Fact((Passage(chunk_id="a"), lamp)), Fact((elsewhere, Passage(chunk_id="a", grade=3))), Fact((lamp,)))
    unlabelled = Query("no", "?", facts, answerable=False)
    queries = [Query("q", "?", facts), unlabelled, Query("r", "?", (Fact((lamp,)),))]
    (judged,) = match_rankings(queries, [[Ranking()] * 3], MatchRule())
    assert judged.passages.same_as.tolist() == [0, 1, 2, 0, 1, 5]
    assert judged.passages.grades.tolist() == [1, 2, 1, 3, 2, 2]
