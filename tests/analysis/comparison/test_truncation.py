"""Systems whose models read some chunks only in part: ranked with all others, and marked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raglift.analysis.truncation import Truncation, truncation_of
from raglift.results.comparison import compare
from raglift.types.rankings import Cost, IndexCost, ReadInPart


def cut(evaluation, *, sweep=True):
    """The same evaluation, of an index of which 30 chunks in 2,075 were truncated."""
    index = IndexCost(chunks=2080, distinct_texts=2075, embedded_now=0, seconds=None, bytes=1)
    if sweep:
        spec = {**evaluation.run.spec, "sweep": {"name": "", "read_in_part": 30}}
    else:
        spec, index = evaluation.run.spec, replace(index, read_in_part=30)
    return replace(evaluation, run=replace(evaluation.run, spec=spec, cost=Cost(index=index)))


@pytest.mark.parametrize("sweep", [True, False])
def test_the_share_of_truncated_chunks_is_known_of_earlier_cells_and_of_other_evaluations(ranked, sweep):
    found = truncation_of(cut(ranked([1] * 4), sweep=sweep))
    assert (found.chunks, found.of_chunks, found.mark) == (30, 2075, "✂ 1.4%")
    assert not truncation_of(ranked([1] * 4))


@pytest.mark.parametrize(
    ("truncation", "mark"),
    [
        (Truncation(), ""),
        (Truncation(chunks=3), "✂"),
        (Truncation(chunks=1, of_chunks=100_000), "✂ <0.1%"),
        (Truncation(chunks=1, of_chunks=100, candidates=9, of_candidates=10), "✂ 90.0%"),
    ],
)
def test_the_mark_says_the_greater_share(truncation, mark):
    assert truncation.mark == mark


def test_candidates_that_a_reranker_truncates_count(ranked):
    evaluation = ranked([1] * 4)
    stage = replace(evaluation.run.stages[-1], read_in_part=ReadInPart(candidates=5, of=50))
    cut_one = replace(evaluation, run=replace(evaluation.run, stages=(*evaluation.run.stages[:-1], stage)))
    assert truncation_of(cut_one).mark == "✂ 10.0%"


@pytest.mark.slow
def test_a_truncated_system_can_be_the_best_and_is_marked(ranked):
    systems = {"whole": ranked([2] * 30), "cut": cut(ranked([1] * 30)), "low": ranked([3] * 30)}
    found = compare(systems, primary="rr@3")
    assert found.best == "cut"
    assert str(found).index("\ncut ✂ 1.4%") < str(found).index("\nwhole ")
    assert "cut ✂ 1.4%" in found.to_markdown()
