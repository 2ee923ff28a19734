"""A metric over k as a sparkline of block characters."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.report.views.figures import over_k_table, sparkline

BLOCKS = "▁▂▃▄▅▆▇█"


def test_the_lowest_and_the_highest_have_the_first_and_the_last_block():
    assert sparkline([0.0, 0.5, 1.0], 0.0, 1.0) == "▁▅█"
    assert sparkline([0.2, math.nan, 0.2], 0.2, 0.2) == "▁ ▁"


@given(st.lists(st.floats(0, 1), min_size=1))
def test_more_never_has_a_lower_block(values):
    blocks = sparkline(values, min(values), max(values))
    assert len(blocks) == len(values)
    heights = [BLOCKS.index(block) for block in blocks]
    for (one, height), (other, higher) in zip(
        sorted(zip(values, heights, strict=True)), sorted(zip(values, heights, strict=True))[1:], strict=False
    ):
        assert one <= other
        assert height <= higher


def lines_of(evaluation):
    """The curve's title, then the texts of a row for each stage."""
    table = over_k_table(evaluation)
    return [] if table is None else [table.caption, *(" ".join(cell.text for cell in row) for row in table.rows)]


def test_both_stages_are_on_one_scale(ranked):
    lines = lines_of(ranked([1, 3, None, 6], reranked=[1, 1, None, 1], metrics=["recall", "ndcg"]))
    assert lines[0] == "NDCG over k, 1 to 6"
    before, after = lines[1].split(), lines[2].split()
    assert before[:2] == ["retrieve", "0.250"]
    assert after == ["rerank", "0.750", "██████", "0.750"]
    assert before[2].startswith("▁▁▃▃▃")


def test_what_the_stage_could_not_return_is_left_out(ranked):
    lines = lines_of(ranked([1, 2], reranked=[1, 1], top_n=2))
    assert lines[2].endswith("at 2")
    assert len(lines[2].split()[2]) == 2


def test_of_many_candidates_fifty_depths_are_taken(ranked):
    lines = lines_of(ranked([1, 2], candidates=120))
    assert lines[0] == "MRR over k, 1 to 118"
    assert len(lines[1].split()[2]) == 40


def test_another_measure_is_taken_where_there_is_no_ndcg(ranked):
    assert lines_of(ranked([1], metrics=["context_tokens", "recall"]))[0] == "Recall over k, 1 to 6"


@pytest.mark.parametrize("options", [{"unlabelled": [0]}, {"candidates": 2}, {"metrics": ["recall@tokens(20)"]}])
def test_there_is_nothing_to_say_without_labels_or_depths(ranked, options):
    assert lines_of(ranked([1], **{"ks": (1,), **options})) == []
