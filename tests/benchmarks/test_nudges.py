"""benchmarks/nudges.py: facts that small moves of chunks find by luck have no cause."""

from __future__ import annotations

import pytest

import raglift as rl

pytestmark = pytest.mark.slow


def test_nothing_is_claimed_of_facts_that_are_found_by_luck(script) -> None:
    found = script("nudges").counts(rl.load_dataset("lighthouse"), "bm25")
    assert found["lost"] > found["found by some"] > 0
    assert found["by these alone"] >= found["claimed of these"]
    assert found["claimed of these"] <= 1
