"""What a run costs: each query alone and past the cache, all queries at once, and the index."""

import asyncio
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.adapters.policy import Policy
from raglift.adapters.stages import RerankStage, RetrieveStage
from raglift.matching.provenance import Provenance
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index
from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.retrieval.models import load_sentence_transformer
from raglift.retrieval.retrievers import DenseRetriever
from raglift.running import latency as module
from raglift.running.calls import Outcome
from raglift.running.evaluation import evaluate
from raglift.running.latency import OneAtATime, measure_latency
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Query
from raglift.types.rankings import Ranking
from raglift.utilities.cache import Cache, content_key

TEXTS = [
    "The lamp is lit at dusk.",
    "Herring were sold by the barrel.",
    "The horn sounds in fog.",
    "A keeper rows out.",
]
QUESTIONS = ["When is the lamp lit?", "How was herring sold?", "What sounds in fog?", "Who rows out?", "What is new?"]
CHUNKS = [Chunk(text) for text in TEXTS]
DATA = Dataset(tuple(Query(f"q{number}", text) for number, text in enumerate(QUESTIONS)))
ANSWERS = dict.fromkeys(QUESTIONS, TEXTS)


def alone(*stages, policy=None, k=4):
    return OneAtATime(stages, k, policy or Policy(), Provenance(DATA))


def retrieve(retriever):
    return RetrieveStage(retriever, "a retriever")


def rerank(reranker):
    return RerankStage(reranker, "a reranker")


@pytest.fixture
def forward_passes():
    """The sizes of the batches that go through the embedded model's transformer, whoever asks it."""
    sizes = []
    transformer = load_sentence_transformer("minilm", "own")[0]
    handle = transformer.register_forward_pre_hook(lambda _module, inputs: sizes.append(len(inputs[0]["input_ids"])))
    yield sizes
    handle.remove()


def local_system(cache):
    return [
        retrieve(DenseRetriever(build_index(CHUNKS, SentenceTransformerEmbedder(), cache=cache))),
        rerank(LateInteractionReranker(cache=cache)),
    ]


def passes_of_each_query(stages, forward_passes):
    asked = alone(*stages)
    counts = []
    for text in QUESTIONS:
        forward_passes.clear()
        assert len(asked.seconds(text)) == len(stages)
        counts.append(sum(forward_passes))
    return counts


@pytest.mark.slow
def test_the_model_is_asked_for_each_query_whatever_the_cache_holds(forward_passes):
    cold = passes_of_each_query(local_system(Cache(None)), forward_passes)
    warm = local_system(Cache(None))
    evaluate(warm[0].retriever, DATA, reranker=warm[1].reranker, ks=(1,))
    forward_passes.clear()
    evaluate(warm[0].retriever, DATA, reranker=warm[1].reranker, ks=(1,))
    assert not forward_passes, "the cache is not warm"
    again = passes_of_each_query(warm, forward_passes)
    # The query, the query's tokens, and the tokens of four texts: at least, where batches are filled up
    assert min(cold) >= 6
    assert cold == again
    assert again == passes_of_each_query(warm, forward_passes), "the pass itself has left something behind"


class ThroughTheCache:
    """Counts how often its answer is computed and not taken from a cache; sync, async, or both."""

    def __init__(self):
        self.cache = Cache(None)
        self.computed = 0

    def _answer(self, query):
        key = content_key("answer", query)
        if not self.cache.get_many([key]):
            self.computed += 1
            self.cache.put_many({key: b"answer"})
        return Ranking.of([(Chunk(query), None)])


class Sync(ThroughTheCache):
    def retrieve_one(self, query, k):
        return self._answer(query)


class Async(ThroughTheCache):
    async def aretrieve_one(self, query, k):
        await asyncio.sleep(0)
        return self._answer(query)


class AsyncInThreads(ThroughTheCache):
    async def aretrieve_one(self, query, k):
        return await asyncio.get_running_loop().run_in_executor(None, self._answer, query)


@pytest.mark.parametrize("system", [Sync, Async, AsyncInThreads])
@pytest.mark.parametrize("policy", [Policy(timeout=30), Policy(concurrency=4)], ids=["timeout", "many"])
def test_the_cache_is_bypassed_on_whatever_thread_the_call_runs(system, policy):
    retriever = system()
    asked = alone(retrieve(retriever), policy=policy)
    for text in [*QUESTIONS, *QUESTIONS]:
        asked.seconds(text)
    assert retriever.computed == 2 * len(QUESTIONS)
    evaluate(retriever, DATA, ks=(1,))
    evaluate(retriever, DATA, ks=(1,))
    assert retriever.computed == 3 * len(QUESTIONS), "outside the pass, the cache serves again"


def test_one_query_is_under_way_at_a_time_whatever_the_concurrency():
    under_way, most, lock = 0, [], threading.Lock()

    class Slow:
        def retrieve_one(self, query, k):
            nonlocal under_way
            with lock:
                under_way += 1
                most.append(under_way)
            time.sleep(0.002)
            with lock:
                under_way -= 1
            return Ranking.of([(Chunk(query), None)])

    measure_latency(alone(retrieve(Slow()), policy=Policy(concurrency=4)), QUESTIONS, 5)
    assert set(most) == {1}


def test_percentiles_are_over_the_queries_that_came_through(monkeypatch):
    """Three of 100 queries fail in the second stage; the others take 1, 2, … milliseconds, and twice as long there."""
    texts = [f"question {number}" for number in range(100)]

    def answer(stage, inputs, policy, advance):
        number = int(inputs[0][0].split()[1])
        if isinstance(stage, RerankStage) and number < 3:
            return [Outcome(None, 99.0, RuntimeError("no"))]
        return [Outcome(Ranking(), (number + 1) / 1000 * (2 if isinstance(stage, RerankStage) else 1))]

    monkeypatch.setattr(module, "ask_stage", answer)
    latencies, whole = measure_latency(alone(retrieve(None), rerank(None)), texts, 100)
    first, second = latencies
    assert (first.stage, first.queries, first.failed) == ("retrieve", 100, 0)
    assert (second.stage, second.queries, second.failed) == ("rerank", 97, 3)
    assert (whole.queries, whole.failed) == (97, 3)
    every, through = np.arange(1, 101) / 1000, np.arange(4, 101) / 1000
    assert (first.p50, first.p95) == pytest.approx((0.0505, np.quantile(every, 0.95)))
    assert (second.p50, second.p95) == pytest.approx((0.104, 2 * np.quantile(through, 0.95)))
    assert (whole.p50, whole.p95) == pytest.approx((0.156, 3 * np.quantile(through, 0.95)))


def asked_by(texts, most, seed=0):
    retriever = FakeRetriever({})
    measure_latency(alone(retrieve(retriever)), texts, most, seed=seed)
    return [text for text, _ in retriever.asked]


@pytest.mark.slow
@given(st.lists(st.sampled_from([f"question {number}" for number in range(12)]), min_size=1), st.integers(1, 8))
def test_distinct_queries_are_asked_once_after_a_few_that_are_not_counted(texts, most):
    asked = asked_by(texts, most)
    measured = asked[-min(most, len(set(texts))) :]
    warm_up = asked[: -len(measured)]
    assert len(set(measured)) == len(measured)
    assert set(asked) <= set(texts)
    assert len(warm_up) == min(3, len(set(texts)))
    if len(set(texts)) >= most + 3:
        assert not set(warm_up) & set(measured)
    assert asked_by(texts[::-1], most) == asked


def test_evaluate_measures_latency_when_asked():
    evaluation = evaluate(FakeRetriever(ANSWERS), DATA, reranker=FakeReranker({}), ks=(1,), latency=3)
    cost = evaluation.run.cost
    assert [latency.stage for latency in cost.latencies] == ["retrieve", "rerank"]
    assert [latency.queries for latency in cost.latencies] == [3, 3]
    assert all(0 < latency.p50 <= latency.p95 for latency in (*cost.latencies, cost.whole))
    assert cost.throughput.keys() == {"retrieve", "rerank"}
    assert min(cost.throughput.values()) > 0
    assert cost.index is None
    assert evaluation.run.spec["latency"] == 3


@pytest.mark.parametrize("off", [{}])
def test_without_it_no_query_is_asked_twice(off):
    retriever = FakeRetriever(ANSWERS)
    assert evaluate(retriever, DATA, ks=(1,), **off).run.cost is None
    assert len(retriever.asked) == len(QUESTIONS)


def test_what_the_run_could_not_answer_is_not_asked_again():
    """A system that hangs on a query would be waited for once more."""
    retriever = FakeRetriever({**ANSWERS, QUESTIONS[0]: RuntimeError("cursed")})
    evaluation = evaluate(retriever, DATA, ks=(1,), latency=5)
    assert evaluation.run.cost.latencies[0].queries == 4
    assert evaluation.run.cost.latencies[0].failed == 0


def test_an_index_tells_what_it_cost_without_a_latency_pass():
    retriever = BM25Retriever(CHUNKS)
    cost = evaluate(retriever, DATA, ks=(1,)).run.cost
    assert cost.index == retriever.cost
    assert (cost.latencies, cost.whole, cost.throughput) == ((), None, {})
