"""Another reranker over a run whose retrieval is known gives what evaluating both together gives."""

import numpy as np
import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.retrieval.bm25 import BM25Retriever
from raglift.running.evaluation import evaluate, rerank
from raglift.types.dataset import Dataset
from raglift.types.rankings import Ranking

LABELS = {
    "who keeps the lamp": ["The keeper trims the lamp at dusk."],
    "when is the museum open": ["The museum is open from May to September."],
}
CHUNKS = [
    rl.Chunk("The keeper trims the lamp at dusk.", id="a"),
    rl.Chunk("The museum is open from May to September.", id="b"),
    rl.Chunk("The lamp of the museum is not the lamp.", id="c"),
]


class Backwards:
    """Turns every ranking around."""

    def rerank(self, queries, rankings):
        return [Ranking.of((chunk, None) for chunk in reversed(ranking.chunks)) for ranking in rankings]


@pytest.fixture
def data():
    return Dataset.from_dict(LABELS)


def test_the_same_as_evaluating_both_together(data):
    retrieved = evaluate(BM25Retriever(CHUNKS), data, ks=(1, 3))
    apart, together = (
        rerank(retrieved, Backwards()),
        evaluate(BM25Retriever(CHUNKS), data, ks=(1, 3), reranker=Backwards()),
    )
    assert apart.scores.stages == together.scores.stages == ("retrieve", "rerank")
    np.testing.assert_array_equal(apart.scores.values, together.scores.values)
    assert [[s.ranking for s in t.stages] for t in apart.run.traces] == [
        [s.ranking for s in t.stages] for t in together.run.traces
    ]
    assert apart.run.inventory == together.run.inventory
    assert apart.notes == together.notes


def test_a_second_reranker_gets_a_name_of_its_own(data):
    once = evaluate(BM25Retriever(CHUNKS), data, ks=(1,), reranker=Backwards())
    twice = rerank(once, Backwards())
    assert twice.scores.stages == ("retrieve", "rerank", "rerank-2")
    np.testing.assert_array_equal(twice.scores.values[0], twice.scores.values[2])


def test_a_query_that_failed_before_is_not_reranked(data):
    def fails_once(text):
        if "museum" in text:
            raise ValueError("no museum")
        return [chunk.text for chunk in CHUNKS]

    asked = []

    def reranker(query, texts):
        asked.append(query)
        return [1.0 for _ in texts]

    done = rerank(evaluate(fails_once, data, ks=(1,), retries=0), reranker)
    assert asked == ["who keeps the lamp"]
    assert done.run.traces[1].error == "retrieve: ValueError: no museum"


def test_what_cannot_be_reranked_is_refused(data):
    retrieved = evaluate(BM25Retriever(CHUNKS), data, ks=(1,))
    with pytest.raises(ConfigurationError, match="reranker: found 'none'; expected one, such as 'cross-encoder'"):
        rerank(retrieved, "none")
    sessions = [rl.Session(query.id, [rl.Call.of(query.text, CHUNKS)]) for query in data.queries]
    with pytest.raises(ConfigurationError, match="rerank: found an evaluation of sessions, whose agent has read"):
        rerank(rl.evaluate_sessions(sessions, data), Backwards())
