"""A gate's result as GitHub's workflow commands."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

import raglift as rl
from raglift.gating.ci import without_commands

COMMAND = re.compile(r"::error title=([^:,\n\r]*)::([^\n\r]*)")


def commands(text: str) -> list[tuple[str, str]]:
    """Read commands as GitHub's runner does: one a line, escaped by percent signs."""
    lines = text.removesuffix("\n").split("\n") if text else []
    found = [COMMAND.fullmatch(line) for line in lines]
    assert all(found), text
    return [(unquote(one[1]), unquote(one[2])) for one in found if one]


def test_one_error_a_check_that_failed(ranked) -> None:
    result = rl.gate(
        ranked([3] * 9), baseline=ranked([1] * 9), no_regression=["rr@3"], minimum={"ndcg@3": 0.9, "recall@3": 1}
    )
    worst = "q0000 0.500, q0001 0.500, q0002 0.500, q0003 0.500, q0004 0.500"
    assert commands(result.to_github()) == [
        (
            "raglift gate: ndcg@3 (fake)",
            f"ndcg@3 is 0.500 over 9 questions; expected ≥ 0.9\nndcg@3: worst questions: {worst}",
        ),
        (
            "raglift gate: MRR@3 (fake)",
            "MRR@3 got worse: 1.000 → 0.333 (−0.667, p = 0.004, n = 9): the drop is significant\n"
            + "\n".join(f"q000{number}: 1.000 → 0.333" for number in range(5)),
        ),
    ]


@pytest.mark.slow
def test_hostile_texts_stay_inside_their_command(hostile, hostile_text) -> None:
    def found(text):
        run, baseline = hostile(text, 2, fails=True), hostile(text, 1)
        result = rl.gate(run, baseline=baseline, no_regression=["rr@3"], maximum={"failures": 0}, name=text)
        return commands(result.to_github())

    assert len(found(hostile_text)) == len(found("harmless")) == 2


def test_what_is_printed_is_kept_from_being_read_as_commands() -> None:
    first, second = (without_commands("a\n::error::b") for _ in range(2))
    begin, *inside, end, rest = first.split("\n")
    token = begin.removeprefix("::stop-commands::")
    assert (len(token), end, rest) == (32, f"::{token}::", "")
    assert inside == ["a", "::error::b"]
    assert token not in second  # nobody can guess how to end it
