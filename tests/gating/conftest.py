"""Evaluations for gates: hostile ones, and ones with values of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

HOSTILE = (
    "]]></failure><x>",
    "a | b\n\n# c `d` **e** [f](http://evil.example) @somebody #12",
    "\n::error title=x::injected\r\n##[error]y",
    "\x00\x1b[31m \u202egnol \ud800 \ufffe",
    "<script>alert(1)</script></details>",
    "50 % off: a,b;c=%0A",
)


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile_text(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def hostile() -> Callable[..., Evaluation]:
    """Build an evaluation of hostile texts; every query finds its answer at the rank, and the last one fails."""

    def build(text: str, rank: int, *, fails: bool = False) -> Evaluation:
        answers = [f"{text} answer number {number} is this" for number in range(12)]
        queries = tuple(
            Query(f"{text} {number}", f"{text}? {number}", (Fact((Passage(answer),)),))
            for number, answer in enumerate(answers)
        )
        table: dict[str, list[Chunk] | Exception] = {}
        for number, query in enumerate(queries):
            hits = [Chunk(f"{text} nothing {place} here", doc_id=text) for place in range(3)]
            table[query.text] = [*hits[: rank - 1], Chunk(answers[number], doc_id=text), *hits[rank - 1 :]]
        if fails:
            table[queries[-1].text] = ValueError(text)
        data = Dataset(queries, name=text)
        return evaluate(
            FakeRetriever(table), data, ks=(1, 3), depth="deep", candidates=4, metrics=["ndcg", "rr"], retries=0
        )

    return build


@pytest.fixture(scope="session")
def with_values(ranked: Callable[..., Evaluation]) -> Callable[..., Evaluation]:
    """Build an evaluation whose metric rr@1 has the values given, whatever its rankings are."""
    made: dict[int, Evaluation] = {}

    def build(values: Sequence[float]) -> Evaluation:
        base = made.setdefault(len(values), ranked([1] * len(values), metrics=("rr",), ks=(1,)))
        return replace(base, scores=replace(base.scores, values=np.array(values, dtype=np.float64).reshape(1, 1, -1)))

    return build
