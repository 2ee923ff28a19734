"""What every profile says of itself."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.metrics.profiles.hits import Profile
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.registry import MEASURES

THE_OTHERS = [profile for name, profile in PROFILES.items() if name != "default"]
of_each = pytest.mark.parametrize("profile", THE_OTHERS, ids=lambda profile: profile.name)


def test_the_default_comes_first_and_overrides_nothing() -> None:
    assert list(PROFILES) == ["default", "tutorial", "autorag", "trec", "llamaindex", "ragas"]
    assert not PROFILES["default"].functions


@of_each
def test_what_a_profile_names_are_measures_of_its_own(profile: Profile) -> None:
    assert set(profile.functions) <= set(MEASURES)
    assert profile.without_k <= set(profile.functions)
    assert profile.leaves_out_empty <= set(profile.functions)


# An id that comes back again, alternatives, grades, an id that was never found, and a query that came back empty
WORLD = (
    ([[("A", 2), ("B", 2)], ("C", 3), ("A", 1), "D"], ["X", "A", "A", "C", "B", "X"]),
    (["A"], []),
    (["A", "B", "C", "D", "E"], ["A", "B"]),
)


@of_each
def test_each_overridden_measure_differs_somewhere_and_the_others_nowhere(judged, profile: Profile) -> None:
    match_table = judged(*WORLD)
    for name in (name for name, measure in MEASURES.items() if not measure.needs_text):
        depths = ("@1", "@2", "@3", "@4", "@10") if MEASURES[name].takes_k else ("",)
        by_depth = [parse(f"{name}{depth}") for depth in depths]
        same = all(
            np.array_equal(compute(match_table, metric, profile.name), compute(match_table, metric), equal_nan=True)
            for metric in by_depth
        )
        assert same == (name not in profile.functions), name


@pytest.mark.parametrize("name", PROFILES)
def test_precision_without_a_depth_is_there_where_it_does_not_divide_by_k(judged, name: str) -> None:
    match_table = judged((["A"], ["A", "X"]))
    if "precision" in PROFILES[name].without_k:
        assert compute(match_table, parse("precision"), name).tolist() == [0.5]
    else:
        with pytest.raises(ConfigurationError, match="found no depth"):
            compute(match_table, parse("precision"), name)
