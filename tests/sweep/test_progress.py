"""How long a sweep will still take: units left over the rate of their step."""

from __future__ import annotations

import contextlib

import pytest

from raglift.sweep.progress import Step, Steps, duration


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def said() -> list[str]:
    return []


def test_the_rest_takes_as_long_as_the_rate_so_far_says(clock: Clock, said: list[str]) -> None:
    course = Steps([Step("embed with minilm", "chunks", 100)], said.append, clock)
    with course.step("embed with minilm"):
        clock.now += 2
        course.advance("chunks", 20)
        assert course.seconds_left() == pytest.approx(8)
    assert said[-1] == "sweep: step 1 of 1, embed with minilm (20/100 chunks); about 8 s left"


def test_nothing_is_left_of_a_step_that_ended_early(clock: Clock, said: list[str]) -> None:
    course = Steps([Step("score", "pairs", 1000)], said.append, clock)
    with contextlib.suppress(OSError), course.step("score"):
        clock.now += 1
        course.advance("pairs", 10)
        raise OSError
    assert course.seconds_left() == 0


def test_a_step_that_is_not_begun_goes_as_fast_as_others_of_its_unit(clock: Clock, said: list[str]) -> None:
    course = Steps([Step("one", "pairs", 10), Step("two", "pairs", 40), Step("other", "cells", 4)], said.append, clock)
    # Nothing is seen yet: 150 pairs and 2 cells a second are usual
    assert course.seconds_left() == pytest.approx(50 / 150 + 4 / 2)
    with course.step("one"):
        clock.now += 5
        course.advance("pairs", 10)
    assert course.seconds_left() == pytest.approx(40 / 2 + 4 / 2)


def test_units_that_a_step_does_not_count_are_no_progress_of_it(clock: Clock, said: list[str]) -> None:
    step = Step("retrieve dense", "rankings", 1)
    course = Steps([step], said.append, clock)
    with course.step("retrieve dense"):
        clock.now += 3
        course.advance("queries", 60)
        assert (step.done, step.rate) == (0, None)
        course.advance("rankings", 1)
    assert step.done == 1


def test_what_is_skipped_is_not_waited_for(clock: Clock, said: list[str]) -> None:
    course = Steps([Step("embed with gone", "chunks", 8000), Step("retrieve", "rankings", 3)], said.append, clock)
    course.skip("embed with gone")
    assert course.seconds_left() == pytest.approx(3)


def test_a_total_that_is_learnt_replaces_the_estimate(clock: Clock, said: list[str]) -> None:
    course = Steps([Step("score", "pairs", 5000)], said.append, clock)
    with course.step("score", 150):
        assert course.seconds_left() == pytest.approx(1)
    assert "(0/150 pairs)" in said[0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 s"),
        (40.4, "40 s"),
        (89.9, "90 s"),
        (90, "2 min"),
        (3540, "59 min"),
        (3600, "1 h 0 min"),
        (7800, "2 h 10 min"),
    ],
)
def test_time_spans_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
