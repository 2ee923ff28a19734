"""A gate's findings in words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raglift.gating.records import Check
from raglift.gating.text import bound_text, found_text
from raglift.metrics.graded_measures import NDCG


def check(found: float, bound: float, *, is_minimum: bool = True, unit: str = "") -> Check:
    return Check("ndcg@10", found, bound, is_minimum, unit, n=30, metric=None if unit else NDCG @ 10)


def test_a_figure_that_misses_its_bound_by_little_has_the_digits_that_show_it() -> None:
    assert found_text(check(0.712, 0.75)) == "0.712"
    assert found_text(check(0.74999, 0.75)) == "0.74999"
    assert found_text(check(0.7499999, 0.75)) == "0.7499999"
    assert found_text(check(0.75, 0.75)) == "0.750"
    assert found_text(check(0.7506, 0.7508)) == "0.7506"
    assert found_text(check(float("nan"), 0.75)) == "–"


def test_rounding_alone_passes_and_fails_nothing() -> None:
    assert check(0.1 + 0.2, 0.3, is_minimum=False).passed
    assert check(0.3 * 3, 0.9).passed
    assert 0.3 * 3 < 0.9
    assert not check(0.75 - 1e-8, 0.75).passed


def test_times_are_in_milliseconds_below_a_second() -> None:
    slow = check(0.512, 0.5, is_minimum=False, unit="s")
    assert (found_text(slow), bound_text(slow)) == ("512 ms", "≤ 500 ms")
    close = check(0.50004, 0.5, is_minimum=False, unit="s")
    assert found_text(close) == "500.04 ms"
    assert bound_text(check(1.25, 2, is_minimum=False, unit="s")) == "≤ 2 s"
    assert found_text(check(0.00086, 2, is_minimum=False, unit="s")) == "0.86 ms"


@given(
    bound=st.floats(0.0, 1.0).map(lambda value: round(value, 4)),
    found=st.floats(0.0, 1.0) | st.none(),
    near=st.floats(-1e-7, 1e-7),
    is_minimum=st.booleans(),
)
def test_a_printed_figure_is_on_the_side_that_the_gate_says(
    bound: float, found: float | None, near: float, is_minimum: bool
) -> None:
    one = check(bound + near if found is None else found, bound, is_minimum=is_minimum)
    assert one.allows(float(found_text(one))) == one.passed
