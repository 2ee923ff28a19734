"""benchmarks/scoring.py at a tiny size: it compares values that are worth comparing, and prints its ratios."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pytrec_eval")


@pytest.fixture(scope="module")
def benchmark(script) -> Iterator[Any]:
    """The script; ranx interpreted, as compiling its metrics takes longer than all of these tests."""
    numba = pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        pytest.importorskip("ranx")
        yield script("scoring")


@pytest.mark.slow
def test_each_tool_gets_a_line_with_its_ratio_for_both_kinds_of_ids(benchmark, capsys) -> None:
    assert benchmark.main(["--queries", "20", "--hits", "12", "--repetitions", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("20 queries × 12 hits, 8 metrics; processor time")
    assert out.count("all three give the same values") == 2
    for tool in ("pytrec_eval", "ranx"):
        assert len(re.findall(rf"  {tool} +\d+\.\d ms \(.*\)   raglift is \d+\.\d times as fast\n", out)) == 2
