"""benchmarks/nudges.py: lost facts, by how many small moves of the chunks find them."""

from __future__ import annotations

import pytest

import raglift as rl

pytestmark = pytest.mark.slow


def test_lost_facts_are_counted_by_what_finds_them(script) -> None:
    found = script("nudges").counts(rl.load_dataset("lighthouse"), "bm25")
    assert [found[name] for name in ("lost", "found by some", "found by half")] == [12, 3, 0]
