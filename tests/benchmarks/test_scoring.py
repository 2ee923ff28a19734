"""benchmarks/scoring.py at a tiny size: it compares values that are worth comparing, and prints its ratios."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
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


@pytest.mark.slow
def test_the_rankings_are_the_same_texts_or_the_labels_own(benchmark) -> None:
    own, shared = benchmark.own_texts(20, 12), benchmark.shared_texts(20, 12)
    assert own.rankings == shared.rankings
    assert own.relevant == shared.relevant
    held = {id(name) for ids in shared.rankings.values() for name in ids}
    assert {id(name) for labels in shared.relevant.values() for name in labels} & held
    assert not {id(name) for ids in own.rankings.values() for name in ids} & held


def test_there_is_something_to_score(benchmark) -> None:
    given = benchmark.own_texts(20, 40)
    values = benchmark.with_raglift(given).values
    assert values.shape == (8, 20)
    assert (values.std(axis=1) > 0).all()
    grades = {grade for labels in given.relevant.values() for grade in labels.values()}
    assert grades == {0, 1, 2, 3}


def test_other_values_stop_it(benchmark) -> None:
    given = benchmark.own_texts(5, 12)
    found = {name: tool.values(given, tool.score(given)) for name, tool in benchmark.TOOLS.items()}
    benchmark.assert_equal(found)
    found["ranx"]["ndcg@10"] = found["ranx"]["ndcg@10"] + 1e-6
    with pytest.raises(AssertionError, match=r"ranx: ndcg@10"):
        benchmark.assert_equal(found)


def test_what_is_timed_begins_with_the_lists(benchmark) -> None:
    given = benchmark.own_texts(5, 12)
    reversed_lists = replace(given, rankings={query: ids[::-1] for query, ids in given.rankings.items()})
    for tool in benchmark.TOOLS.values():
        ours, other = (tool.values(each, tool.score(each))["rr"] for each in (given, reversed_lists))
        assert not np.array_equal(ours, other)
