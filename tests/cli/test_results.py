"""What commands print after an evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from raglift.cli.results import next_line


@pytest.mark.parametrize(("ranks", "query"), [([1, None, 2], "q0001"), ([1, 1], "q0000")])
def test_the_next_command_names_a_question_that_lost_a_fact_else_the_first(ranks, query: str, ranked) -> None:
    assert next_line(Path("runs/a b"), ranked(ranks)).endswith(f"raglift explain 'runs/a b' {query}")
