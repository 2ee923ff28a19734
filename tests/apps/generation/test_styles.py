from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.apps.generation.questions import DEFAULT_STYLES, STYLES, parse_styles, shares
from raglift.errors import ConfigurationError
from raglift.grading.prompts import load_prompt


def test_weights() -> None:
    assert parse_styles("natural=2, keyword") == {"natural": 2.0, "keyword": 1.0}
    assert parse_styles({"keyword": 1, "multi": 0.5}) == {"keyword": 1.0, "multi": 0.5}


def test_the_default_mix_has_all_styles() -> None:
    assert parse_styles(DEFAULT_STYLES).keys() == STYLES.keys()
    assert shares(50, parse_styles(DEFAULT_STYLES)) == {
        "natural": 25,
        "keyword": 10,
        "multi": 10,
        "unanswerable": 5,
    }


@pytest.mark.parametrize(
    ("styles", "message"),
    [
        ("naturel", "found 'naturel'; expected some of natural, keyword"),
        ("natural,natural=2", "found 'natural' twice"),
        ("natural=0", "found natural=0; expected a positive number"),
        ("natural=many", "found natural=many"),
        ("natural=nan", "found natural=nan"),
        ("natural=inf", "found natural=inf"),
        ("natural=", "found natural=;"),
        (" , ", "found none"),
        ({}, "found none"),
        ({"natural": -1}, "found natural=-1"),
    ],
)
def test_styles_that_make_no_sense(styles: str | dict[str, float], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_styles(styles)


@given(st.integers(1, 500), st.dictionaries(st.sampled_from(list(STYLES)), st.floats(0.01, 100), min_size=1))
def test_shares_add_up_and_are_near_their_weights(count: int, weights: dict[str, float]) -> None:
    found = shares(count, weights)
    assert sum(found.values()) == count
    for name, weight in weights.items():
        assert abs(found.get(name, 0) - count * weight / sum(weights.values())) < 1 + 1e-6


def test_each_style_has_its_prompt() -> None:
    for style in STYLES.values():
        names = ("first_passage", "second_passage") if style.passages == 2 else ("passage",)
        filled = load_prompt(style.prompt).fill(**dict.fromkeys(names, "The words of it."))
        assert filled.user.count("The words of it.") == style.passages
