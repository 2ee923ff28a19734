"""The course of a race, with stored values in place of systems."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.search.course import BATCH, Course
from raglift.search.schedule import Rung
from raglift.stats.racing import Race, stratified_batches

QUERIES = 62


def values_of(chances: list[float], seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    easy = draw.random((QUERIES, 1))
    own = draw.random((QUERIES, len(chances)))
    return (0.5 * easy + 0.5 * own < np.array(chances)).astype(float)


def course_over(
    values: np.ndarray, share: float, *, failing: dict[int, str] | None = None, **options: object
) -> Course:
    batches = stratified_batches(len(values), BATCH, seed=0)
    work, failing, asked = share * values.size, failing or {}, []

    def ask(name: str, systems: list[int], some: range) -> np.ndarray:
        asked.append((name, list(systems)))
        table = values[np.ix_(np.concatenate([batches[each] for each in some]), systems)]
        for column, system in enumerate(systems):
            if failing.get(system) == name:
                table[:, column] = np.nan
        return table

    course = Course(Race.of(values.shape[1], len(values)), batches, ask, lambda done: work - done, **options)  # type: ignore[arg-type]
    course.asked_for = asked  # type: ignore[attr-defined]
    return course


def test_the_budget_is_kept_and_the_best_is_found():
    values = values_of([0.8, *[0.3] * 19])
    course = course_over(values, 0.4)
    course.begin(range(20), course.ask("0", range(20), range(2)), 2, explore=False)
    race = course.finish()
    assert course.questions <= 0.4 * values.size
    assert race.leader == 0
    assert course.rungs[0].systems == 20
    assert sum(rung.dropped for rung in course.rungs) == race.dropped.sum()
    for before, rung in zip(course.rungs, course.rungs[1:], strict=False):
        assert rung.systems == before.left - rung.set_aside
        assert rung.left == rung.systems - rung.dropped


def test_systems_that_join_have_their_own_totals_whatever_their_order():
    """The worse of two that go on has the lower number; its variant has the lower number, too."""
    values = np.zeros((QUERIES, 4))
    values[:, 0], values[:, 1], values[:, 2], values[:, 3] = 0.5, 0.6, 0.1, 0.9
    course = course_over(values, 1.0, joining={0: [2], 1: [3]})
    course.begin([0, 1], course.ask("0", [0, 1], range(2)), 2, explore=False)
    race = course.finish()
    assert race.leader == 3
    assert np.isclose(race.means, [0.5, 0.6, 0.1, 0.9]).all()
    assert course.rungs[1].joined == 2


def test_what_joins_is_left_out_where_the_budget_is_too_small_for_it():
    values = values_of([0.5] * 8)
    course = course_over(values, 0.3, joining={number: list(range(2, 8)) for number in (0, 1)})
    course.joining = {0: range(2, 8), 1: range(2, 8)}
    course.begin([0, 1], course.ask("0", [0, 1], range(8)), 8, explore=False)
    race = course.finish()
    assert (race.asked_of[2:] == 0).all()
    assert course.questions <= 0.3 * values.size


@pytest.mark.parametrize("name", ["0", "1", "2", "1-joining-0"])
def test_a_system_that_fails_is_asked_no_more_and_the_others_go_on(name: str):
    values = values_of([0.5] * 6)
    course = course_over(values, 1.0, failing={0: name, 3: name}, joining={1: [3], 2: [4]})
    course.begin([0, 1, 2, 5], course.ask("0", [0, 1, 2, 5], range(2)), 2, explore=False)
    race = course.finish()
    gone = 3 if name == "1-joining-0" else 0
    assert gone not in race.running
    assert gone not in [system for rung, systems in course.asked_for[-1:] for system in systems]  # type: ignore[attr-defined]
    assert {1, 2, 5} & set(race.running.tolist())


def test_a_race_in_which_all_fail_ends():
    values = values_of([0.5] * 3)
    course = course_over(values, 1.0, failing=dict.fromkeys(range(3), "1"))
    course.begin(range(3), course.ask("0", range(3), range(2)), 2, explore=False)
    course.finish()
    assert len(course.rungs) == 1


def test_what_was_decided_before_is_done_again_and_written_numbers_out_of_range_are_cut():
    values = values_of([0.5] * 6)
    earlier = [Rung(4, 5), Rung(2, 500)]
    course = course_over(values, 1.0, decided=lambda number, _: earlier[number] if number < 2 else None)
    course.begin(range(6), course.ask("0", range(6), range(2)), 2, explore=False)
    race = course.finish()
    assert [rung.systems for rung in course.rungs] == [6, 4, 2]
    assert race.asked == QUERIES


def test_nothing_is_dropped_by_what_cells_were_chosen_by():
    values = np.zeros((QUERIES, 2))
    values[:, 0] = 1.0
    course = course_over(values, 1.0)
    course.begin(range(2), course.ask("0", range(2), range(8)), 8, explore=True)
    assert course.rungs[0].dropped == 0
    assert course.finish().dropped.tolist() == [False, True] or not course.race.dropped.any()
