"""ERR and RBP: by hand, and what ERR's scale of grades is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.metrics.budgets import tokens
from raglift.metrics.computing import compute
from raglift.metrics.graded_measures import ERR, RBP
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

GRADES = {"a": 3, "b": 1, "c": 2}


def test_worked_values_of_err(value) -> None:
    # P = 7/8, 0, 1/8: stops at the first, else goes on to the third
    assert value("err@3", list(GRADES.items()), ["a", "x", "b"]) == pytest.approx(7 / 8 + 1 / 8 * 1 / 8 / 3)
    assert value("err@2", list(GRADES.items()), ["a", "x", "b"]) == 7 / 8
    assert value("err(gmax=4)@1", list(GRADES.items()), ["a"]) == 7 / 16
    assert value("err", ["a"], ["x", "a"]) == 1 / 4  # grades of 1 alone: P = 1/2


def test_err_takes_the_highest_grade_that_a_hit_matches(value) -> None:
    assert value("err", [("a", 1), ("a", 3)], ["a"]) == 7 / 8
    assert value("err", [[("a", 1), ("b", 3)]], ["a", "b"]) == pytest.approx(1 / 8 + 7 / 8 * 7 / 8 / 2)


def test_worked_values_of_rbp(value) -> None:
    assert value("rbp@3", ["a", "b"], ["a", "x", "b"]) == pytest.approx(0.2 * (1 + 0.8**2))
    assert value("rbp(p=0.5)", ["a", ("b", 3)], ["x", "a", "b"]) == 0.5 * (0.5 + 0.25)
    assert value("rbp(p=0.5)@2", ["a", "b"], ["a", "b", "x"]) == 1 - 0.5**2


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 30))
def test_rbp_is_at_most_1_minus_p_to_the_k(judged, p: float, k: int) -> None:
    names = [f"c{number}" for number in range(30)]
    assert compute(judged((names, names)), RBP(p=p) @ k)[0] == pytest.approx(1 - p**k, abs=1e-9)


def test_the_scale_is_that_of_all_queries(judged) -> None:
    both = judged(([("a", 3)], ["a"]), (["b"], ["b"]))
    assert compute(both, ERR).tolist() == [7 / 8, 1 / 8]
    assert compute(judged((["b"], ["b"])), ERR).tolist() == [1 / 2]
    assert compute(judged((["b"], ["b"])), ERR(gmax=3)).tolist() == [1 / 8]
    alone = dataclasses.replace(judged((["b"], ["b"])), highest_grade_of_dataset=3)
    assert compute(alone, ERR).tolist() == [1 / 8]


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8))
def test_err_of_any_grades_is_from_0_to_1(judged, grades: list[int]) -> None:
    names = [f"c{number}" for number in range(len(grades))]
    found = compute(judged((list(zip(names, grades, strict=True)), names)), ERR)[0]
    top = max(grades)
    expected, goes_on = 0.0, 1.0
    for rank, grade in enumerate(grades, start=1):
        stops = (2**grade - 1) / 2**top  # of integers: exact until it is divided
        expected, goes_on = expected + goes_on * stops / rank, goes_on * (1 - stops)
    assert found == pytest.approx(expected, abs=1e-12)
    assert 0 < found <= 1


def _query(name: str, grade: int, tag: str) -> Query:
    return Query(name, f"which is {name}?", (Fact((Passage(text=f"the words of {name}", grade=grade),)),), tags=(tag,))


DATA = rl.Dataset((_query("q1", 3, "hard"), _query("q2", 1, "easy"), _query("q3", 2, "easy")))


def _found(question: str) -> list[Chunk]:
    name = question.rpartition(" ")[2].rstrip("?")
    return [Chunk("nothing of it", id="x"), Chunk(f"the words of {name}", id=name)]


def test_the_scale_stays_in_slices_budgets_and_explanations() -> None:
    evaluation = rl.evaluate(_found, DATA, metrics=[ERR @ 5, ERR @ tokens(100)])
    for metric in evaluation.scores.metrics:
        assert evaluation.scores.of("retrieve", metric).tolist() == [7 / 16, 1 / 16, 3 / 16]
    easy = next(one for one in evaluation.by_tag(ERR @ 5).slices if one.tag == "easy")
    assert easy.mean == (1 / 16 + 3 / 16) / 2
    explained = evaluation.explain("q2")
    assert explained.values == (1 / 16, 1 / 16)
    assert np.sum([hit.earned for hit in explained.hits], axis=0).tolist() == [1 / 16, 1 / 16]


def test_a_scale_that_ends_below_a_grade_is_refused_before_anything_is_asked() -> None:
    def never(question: str) -> list[str]:
        raise AssertionError(question)

    with pytest.raises(
        ConfigurationError, match=r"err\(gmax=2\)@5: found a label of the grade 3; expected none above gmax, which is 2"
    ):
        rl.evaluate(never, DATA, metrics=[ERR(gmax=2) @ 5])
    with pytest.raises(ConfigurationError, match="choose gmax=3 or more"):
        rl.score_rankings({"q": ["a"]}, {"q": GRADES}, ["err(gmax=2)"])
