"""How values and names are written on every surface."""

import pytest

from raglift.report.format import (
    confidence_text,
    interval_text,
    p_equation,
    p_text,
    percent_text,
    signed,
    stage_title,
)
from raglift.stats.intervals import Interval


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("retrieve", "Retriever"),
        ("rerank", "Reranker"),
        ("rerank-2", "Reranker 2"),
        ("candidates", "Stage candidates"),
        ("rerank-by-date", "Stage rerank-by-date"),
    ],
)
def test_a_stage_is_called_by_its_part(name, title):
    assert stage_title(name) == title


@pytest.mark.parametrize(
    ("p", "cell", "sentence"),
    [(0.0009999, "<0.001", "p < 0.001"), (0.001, "0.001", "p = 0.001"), (None, "–", "p = –")],
)
def test_p_values_have_three_decimals_and_a_floor(p, cell, sentence):
    assert (p_text(p), p_equation(p)) == (cell, sentence)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (signed(0.1924), "+0.192"),
        (signed(-0.0313), "−0.031"),
        (signed(-0.0001), "0.000"),
        (signed(1234.5, 1), "+1,234.5"),
        (interval_text(-0.25, Interval(-0.5, 0.125)), "−0.250 [−0.500, 0.125]"),
        (percent_text(0.8354), "83.5%"),
        (percent_text(1.0), "100%"),
        (percent_text(1 - 2**-53, 0), "100%"),
        (percent_text(1 - 2**-53), "100%"),
        (percent_text(0.999, 0), "99%"),
        (confidence_text(0.999), "99.9%"),
    ],
)
def test_numbers_have_a_true_minus_and_few_decimals(text, expected):
    assert text == expected
