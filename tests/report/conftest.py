"""A small evaluation whose every text would rather be markup."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Annotator, Fact, Passage, Query

HOSTILE = (
    "<script>alert(1)</script>",
    "</td></details><img src=x onerror=alert(1)>",
    "a | b\n\n# c `d` **e** [f](http://evil.example) @somebody #12",
    "$x$ &lt;b&gt; \"q\" 'r' \\ \u202egnol \x1b[31m x",
    "long " * 5000,
)


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile_text(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def hostile() -> Callable[..., Evaluation]:
    """Build an evaluation of hostile texts; the reranker moves half of the answers up, and half of them down."""

    def build(text: str, *, seed: int = 0) -> Evaluation:
        answers = [f"{text} answer number {number} is this" for number in range(12)]
        queries = tuple(
            Query(
                f"{text} {number}",
                f"{text}? {number}",
                (Fact((Passage(answer, annotator=Annotator(text, text, text)),)),),
                (text[:50],),
            )
            for number, answer in enumerate(answers)
        )
        results = {
            query.text: [Chunk(part, doc_id=text) for part in (f"{text} nothing {number} here", answers[number])]
            if number % 2
            else [Chunk(part, doc_id=text) for part in (answers[number], f"{text} nothing {number} here")]
            for number, query in enumerate(queries)
        }
        scores = {answer: 1.0 if number % 2 or seed else -1.0 for number, answer in enumerate(answers)}
        documents = (Document(text, "\n".join(answers)),)
        dataset = Dataset(queries, documents, name=text)
        return evaluate(
            FakeRetriever(results), dataset, reranker=FakeReranker(scores), ks=(1, 2), metrics=["ndcg", "recall"]
        )

    return build
