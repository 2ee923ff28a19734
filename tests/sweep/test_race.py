"""The course of a race, with stored values in place of cells, and the ranges that make many cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from raglift.errors import ConfigurationError, SweepError
from raglift.stats.racing import Race, stratified_batches
from raglift.sweep.race import BATCH, Course, Effort, Rung, first_batches, next_rung
from raglift.sweep.specification import Sweep

QUERIES = 62


# Effort


@pytest.mark.parametrize(
    ("written", "share", "minutes", "shown"),
    [(" 12.5 % ", 0.125, None, "12.5%"), ("30 minutes", None, 30.0, "30 minutes"), ("1minute", None, 1.0, "1 minute")],
)
def test_an_effort_is_a_share_or_minutes(written, share, minutes, shown):
    effort = Effort.parse(written)
    assert (effort.share, effort.minutes, str(effort)) == (share, minutes, shown)
    assert Effort.parse(str(effort)) == effort


@pytest.mark.parametrize("written", ["101%", "40", "-5%"])
def test_another_effort_is_refused(written):
    with pytest.raises(ConfigurationError, match=r"effort: found .*; expected a share of the questions such as 40%"):
        Effort.parse(written)


# What is decided


def test_all_cells_are_asked_the_first_queries_in_half_of_the_effort():
    sizes = [2, *[6] * 10]
    assert first_batches(20, sizes, 0.5 * 20 * 62) == 3  # 14 queries
    assert first_batches(20, sizes, 0.3 * 20 * 62) == 2  # 14 would take more than half
    assert first_batches(20, sizes, 20 * 8) == 2
    assert first_batches(20, sizes, 20 * 8 - 1) is None


def test_the_share_that_goes_on_is_the_largest_with_which_the_effort_lasts():
    assert next_rung(10, 2, 11, 1_000) == Rung(10, 3)
    fewer = next_rung(10, 2, 11, 40)
    assert fewer is not None
    assert 1 < fewer.keep < 10
    assert next_rung(10, 2, 11, 9) == Rung(1, 3)
    assert next_rung(10, 2, 11, 0.5) is None
    assert next_rung(10, 11, 11, 100) is None
    assert next_rung(10, 2, 11, 7, is_estimate=True) == Rung(5, 3)
    assert next_rung(10, 2, 11, float("inf"), is_estimate=True) == Rung(10, 3)


# The course


def values_of(chances: list[float], seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    easy, own = draw.random((QUERIES, 1)), draw.random((QUERIES, len(chances)))
    return (0.5 * easy + 0.5 * own < np.array(chances)).astype(float)


def course_over(values: np.ndarray, share: float, *, failing: dict[int, int] | None = None, **options: Any) -> Course:
    batches = stratified_batches(len(values), BATCH, seed=0)

    def ask(number: int, cells: Any, some: range) -> np.ndarray:
        table = values[np.ix_(np.concatenate([batches[each] for each in some]), list(cells))]
        for column, cell in enumerate(cells):
            if (failing or {}).get(cell) == number:
                table[:, column] = np.nan
        return table

    race = Race.of(values.shape[1], len(values))
    return Course(race, batches, ask, lambda asked: share * values.size - asked, **options)


def test_the_effort_is_kept_and_the_best_is_found():
    values = values_of([0.8, *[0.3] * 19])
    course = course_over(values, 0.4)
    race = course.run(2)
    assert course.questions <= 0.4 * values.size
    assert race.leader == 0
    assert course.rungs[0].cells == 20
    assert sum(rung.dropped for rung in course.rungs) == race.dropped.sum()
    for before, rung in zip(course.rungs, course.rungs[1:], strict=False):
        assert rung.cells == before.left - rung.set_aside
        assert rung.left == rung.cells - rung.dropped


@pytest.mark.slow
def test_a_quarter_of_the_questions_nearly_always_finds_a_cell_as_good_as_the_best():
    draw, close = np.random.default_rng(1), 0
    for _ in range(40):
        values = draw.random((200, 40)) * (0.5 + np.arange(40) / 80)
        batches = stratified_batches(200, BATCH, seed=int(draw.integers(1_000)))
        course = Course(
            Race.of(40, 200),
            batches,
            lambda _, cells, some, values=values, batches=batches: values[
                np.ix_(np.concatenate([batches[each] for each in some]), list(cells))
            ],
            lambda asked: 2_000 - asked,
        )
        leader = course.run(3).leader
        close += values.mean(axis=0).max() - values[:, leader].mean() < 0.02
    assert close >= 38


def test_a_cell_that_fails_is_asked_no_more_and_a_race_in_which_all_fail_ends():
    values = values_of([0.9, 0.5, 0.5])
    course = course_over(values, 1.0, failing={0: 1})
    assert course.run(2).leader != 0
    course = course_over(values, 1.0, failing=dict.fromkeys(range(3), 1))
    course.run(2)
    assert len(course.rungs) == 1
    course = course_over(values, 1.0, failing=dict.fromkeys(range(3), 0))
    course.run(2)
    assert course.rungs == []


def test_what_was_decided_before_is_done_again_and_written_numbers_out_of_range_are_cut():
    earlier = [Rung(4, 5), Rung(2, 500)]
    course = course_over(values_of([0.5] * 6), 1.0, decided=lambda number, _: earlier[number] if number < 2 else None)
    race = course.run(2)
    assert [rung.cells for rung in course.rungs] == [6, 4, 2]
    assert race.asked == QUERIES


# Ranges and choices


def test_a_range_stands_for_its_numbers_and_a_list_for_choices():
    chunkers = [
        "token:500/50",
        {"splitter": "recursive", "size": {"from": 200, "to": 600, "step": 200}, "overlap": [0, 200]},
    ]
    sweep = Sweep(dataset="lighthouse", chunkers=chunkers, retrievers="bm25")
    sizes = ["200/0", "400/0", "400/200", "600/0", "600/200"]  # no overlap is as long as its chunk
    assert sweep.chunkers == ("token:500/50", *(f"recursive:{size}" for size in sizes))
    weights = {"hybrid": {"dense": {"from": 0.2, "to": 0.6, "step": 0.2}, "bm25": 1}}
    found = Sweep(dataset="lighthouse", retrievers=["bm25", weights]).retrievers
    assert found is not None
    assert [str(each) for each in found] == [
        "bm25",
        *(f"hybrid(dense={weight:g},bm25=1)" for weight in (0.2, 0.4, 0.6)),
    ]


@pytest.mark.parametrize(
    ("size", "fault"),
    [
        ({"from": 200, "to": 600}, "chunkers[1].size: found an object with"),
        (
            {"from": 600, "to": 200, "step": 100},
            "chunkers[1].size: found from 600 to 200 by 100; expected a step above 0",
        ),
        ({"from": 1, "to": 9_999, "step": 1}, "chunkers[1].size: found 9,999 values; expected at most 1,000"),
        ([10, 20], "chunkers[1]: found overlaps that are all at least as long as their chunks"),
    ],
    ids=["ends", "order", "many", "overlap"],
)
def test_a_fault_of_a_range_is_located_where_it_is_written(size, fault):
    with pytest.raises(SweepError) as error:
        Sweep(
            dataset="lighthouse", chunkers=["recursive:500/0", {"splitter": "recursive", "size": size, "overlap": 50}]
        )
    assert fault in str(error.value)


def test_a_race_ends_where_its_effort_does():
    values = values_of([0.6, 0.6, 0.6])
    course = course_over(values, (3 * 2 + 0.5) / values.size)
    race = course.run(1)
    assert len(course.rungs) == 1
    assert len(race.running) == 3
