"""SECURITY.md names tests that exist, and the limits of the code."""

from __future__ import annotations

import re
from pathlib import Path

from raglift.retrieval.services.http_retriever import MOST_BYTES
from raglift.utilities.limits import VARIABLE, most_bytes

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")


def test_the_tests_that_are_named_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", TEXT)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_the_limits_are_those_of_the_code() -> None:
    assert most_bytes() == 2 * 2**30
    assert f"2 GiB (`{VARIABLE}` in the environment)" in TEXT
    assert f"{MOST_BYTES:,} bytes" in TEXT
