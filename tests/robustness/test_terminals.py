"""Texts of others forge no line in a terminal, and no workflow command where a gate prints on GitHub Actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import raglift as rl
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact, Passage, Query
from raglift.utilities.display import lines_text, one_line
from raglift.utilities.progress import notice

FORGED = "x\n::error title=forged::gotcha\r\n##[error]gotcha\x1b[31m\u2028FORGED\x85FORGED"
BEGINNING = "::error::gotcha"


def forging(text: str) -> rl.Evaluation:
    """Return an evaluation with a text in each place where somebody else can put one."""
    queries = (
        Query(f"q{text}", f"When is it lit? {text}", (Fact((Passage(f"lamp {text}"),)),), tags=(f"t{text}",)),
        Query(f"p{text}", f"Horn? {text}", (Fact((Passage("fog horn"),)),)),
        Query(f"r{text}", f"Boat? {text}", (Fact((Passage("no boat"),)),)),
    )

    def find(query: str, k: int = 5) -> list[dict[str, Any]]:
        if "Horn" in query:
            raise RuntimeError(f"boom {text}")
        return [{"text": f"lamp {text}", "id": f"i{text}", "doc_id": f"d{text}", "metadata": {text: text}}]

    return rl.evaluate(find, Dataset(queries, (), f"{text}island"))


@pytest.fixture(scope="module", params=[FORGED, BEGINNING], ids=["inside", "at the beginning"])
def evaluation(request: pytest.FixtureRequest) -> rl.Evaluation:
    return forging(request.param)


def compared(evaluation: rl.Evaluation) -> rl.Comparison:
    name = evaluation.dataset.name
    return rl.compare({f"{name}one": evaluation, f"{name}two": evaluation})


TEXTS: dict[str, Callable[[rl.Evaluation], object]] = {
    "table": str,
    "repr": repr,
    "failures": lambda evaluation: evaluation.failures(),
    "failure analysis": lambda evaluation: evaluation.failure_analysis(),
    "explanation": lambda evaluation: evaluation.explain(evaluation.dataset.queries[0].id),
    "tags": lambda evaluation: evaluation.by_tag(),
    "comparison": compared,
    "audit": lambda evaluation: rl.audit(evaluation.dataset),
}


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_begins_a_line(evaluation: rl.Evaluation, name: str) -> None:
    said = str(TEXTS[name](evaluation))
    if evaluation.dataset.name.startswith("x"):
        assert not [line for line in said.splitlines() if line.lstrip().startswith(("::", "##"))]
        assert not {"\u2028", "\x85", "\r"} & set(said)
    assert "\x1b" not in said


# Lines.


def test_a_line_stays_one() -> None:
    assert one_line("a\nb\r\nc\u2028d\re\x1bf") == "a↵b↵c↵d�e�f"
    assert lines_text(["a\nb", "c"]) == "a↵b\nc"


def test_a_notice_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    notice(f"waiting for {FORGED}", show=True)
    assert capsys.readouterr().err.count("\n") == 1
