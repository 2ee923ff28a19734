"""How values and names are written on every surface."""

import pytest

from raglift.report.format import stage_title


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
