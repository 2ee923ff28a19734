from hypothesis import given
from hypothesis import strategies as st

from raglift.analysis.costs import beats

ROWS = st.integers(1, 4).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 3).map(float), min_size=columns, max_size=columns), min_size=1, max_size=12
    )
)


@given(ROWS)
def test_it_is_what_comparing_every_pair_of_rows_gives(rows):
    expected = [
        [
            all(a >= b for a, b in zip(one, other, strict=True)) and any(a > b for a, b in zip(one, other, strict=True))
            for other in rows
        ]
        for one in rows
    ]
    assert beats(rows).tolist() == expected


@given(ROWS)
def test_the_front_is_not_empty_and_everything_else_is_beaten_by_it(rows):
    winners = beats(rows)
    front = [place for place in range(len(rows)) if not winners[:, place].any()]
    assert front
    assert all(winners[front, place].any() for place in range(len(rows)) if place not in front)


def test_equal_rows_are_both_on_the_front():
    assert not beats([[1.0, 2.0], [1.0, 2.0]]).any()
