"""How many characters of passages are covered: each character of the source once, the best of alternatives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raglift.matching.coverage import covered_length
from raglift.matching.match import fact_table, passage_table
from raglift.matching.overlap import best_covered, covered_characters
from raglift.types.labels import Fact, Passage, Query

TEXT = "abcdefghijklmnopqrstuvwxyz" * 4
Overlaps = dict[int, list[tuple[int, int]]]


def passage(start: int, end: int, doc_id: str = "d") -> Passage:
    return Passage(TEXT[start:end], doc_id, start, end)


def totals(queries: list[Query], overlaps: Overlaps) -> list[list[int]]:
    covered, wanted = covered_characters(len(queries), fact_table(queries), passage_table(queries), overlaps)
    return [covered.tolist(), wanted.tolist()]


def query(*facts: Passage | tuple[Passage, ...]) -> Query:
    return Query("q", "?", tuple(Fact(fact if isinstance(fact, tuple) else (fact,)) for fact in facts))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12))))
def test_the_union_counts_each_character_once(sizes: list[tuple[int, int]]) -> None:
    intervals = [(start, start + length) for start, length in sizes]
    assert covered_length(intervals) == len({at for start, end in intervals for at in range(start, end)})


def test_passages_that_share_characters_of_a_document_share_them_here() -> None:
    overlapping = query(passage(0, 30), passage(20, 50))
    assert totals([overlapping], {0: [(0, 30)], 1: [(0, 10)]}) == [[30], [50]]
    elsewhere = query(passage(0, 30), passage(20, 50, "e"))
    assert totals([elsewhere], {0: [(0, 30)], 1: [(0, 10)]}) == [[40], [60]]


def test_literal_texts_share_characters_only_when_they_are_equal() -> None:
    same, other = Passage("some words"), Passage("other words")
    assert totals([query(same, same, other)], {0: [(0, 4)], 1: [(2, 6)]}) == [[6], [21]]


def test_the_alternative_that_is_covered_best_counts_in_both() -> None:
    alternatives = query((passage(0, 40), passage(50, 60), passage(70, 80)))
    table = fact_table([alternatives]), passage_table([alternatives])
    assert totals([alternatives], {0: [(0, 10)], 1: [(0, 9)]}) == [[9], [10]]
    assert best_covered(*table, {0: [(0, 10)], 1: [(0, 9)]}) == [1]
    assert best_covered(*table, {}) == [0]
    assert best_covered(*table, {1: [(0, 5)], 2: [(5, 10)]}) == [1]


def test_chunk_id_labels_have_no_characters() -> None:
    by_id = Passage(chunk_id="c")
    queries = [query(by_id), query((by_id, passage(0, 10))), Query("unlabelled", "?")]
    assert totals(queries, {0: [(0, 0)], 1: [(0, 0)]}) == [[0, 0, 0], [0, 10, 0]]
    assert best_covered(fact_table(queries), passage_table(queries), {}) == [None, 2]
