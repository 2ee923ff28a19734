from __future__ import annotations

import pytest

from raglift.errors import ConfigurationError
from raglift.matching.rule import MatchRule


@pytest.mark.parametrize(
    ("mode", "threshold", "text"),
    [
        ("containment", None, "containment"),
        ("coverage", 0.5, "coverage (threshold 0.5)"),
        ("fuzzy", 0.9, "fuzzy (threshold 0.9)"),
    ],
)
def test_each_mode_has_its_own_threshold(mode: str, threshold: float | None, text: str) -> None:
    rule = MatchRule.for_profile("default", mode)
    assert rule.threshold == threshold
    assert str(rule) == text


@pytest.mark.parametrize("threshold", [0, -0.5, 1.5, float("nan"), True, "half"])
def test_a_threshold_outside_its_range_is_refused(threshold: object) -> None:
    with pytest.raises(ConfigurationError, match=r"match threshold: found .*; expected a number above 0, at most 1"):
        MatchRule("coverage", threshold=threshold)  # type: ignore[arg-type]


def test_containment_has_no_threshold() -> None:
    with pytest.raises(ConfigurationError, match=r"found 0\.5 with containment, which has none"):
        MatchRule("containment", threshold=0.5)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="match: found 'cover'; expected one of 'containment', 'coverage'"):
        MatchRule("cover")  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [-1, 2.5, True, "20"])
def test_a_length_that_is_none_is_refused(length: object) -> None:
    with pytest.raises(ConfigurationError, match=r"minimum_length: found .*; expected an integer, 0 or more"):
        MatchRule(minimum_length=length)  # type: ignore[arg-type]


def test_the_tutorial_has_no_length_guard() -> None:
    assert MatchRule.for_profile("tutorial").minimum_length == 0
    assert MatchRule.for_profile("default").minimum_length == 20
