"""Stages over queries: what is kept of each query, and what becomes of a failure."""

import asyncio
import threading

import pytest

from raglift.adapters.policy import Policy
from raglift.adapters.stages import RerankStage, RetrieveStage
from raglift.errors import ConfigurationError, QueryFailed
from raglift.matching.provenance import Provenance
from raglift.running.execution import run_stages
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Query
from raglift.types.rankings import Hit, Ranking

QUERIES = tuple(Query(f"q{number}", f"question {number}") for number in range(1, 5))
RESULTS = {query.text: [f"{query.text}: {letter}" for letter in "abc"] for query in QUERIES}
REVERSED = {f"{query.text}: {letter}": score for query in QUERIES for score, letter in enumerate("abc")}


def run(stages, queries=QUERIES, policy=None, k=3, documents=()):
    provenance = Provenance(Dataset(tuple(queries), tuple(documents)))
    return run_stages(stages, queries, k, policy or Policy(), provenance)


def texts(trace, stage):
    return [chunk.text.rpartition(" ")[2] for chunk in trace.stages[stage].ranking.chunks]


class Batch:
    """Takes all queries at once; some of them it cannot answer."""

    def __init__(self, refused=(), answer=None):
        self.refused = refused
        self.answer = answer
        self.asked = []

    def retrieve(self, queries, k):
        self.asked.append(list(queries))
        if any(query in self.refused for query in queries):
            raise RuntimeError("one of them is cursed")
        if self.answer is not None:
            return self.answer(queries)
        return [Ranking.of((Chunk(text), None) for text in RESULTS[query][:k]) for query in queries]


class Both:
    """Sync and async at once."""

    def __init__(self):
        self.used = set()

    def retrieve_one(self, query, k):
        self.used.add("sync")
        return Ranking.of((Chunk(text), None) for text in RESULTS[query][:k])

    async def aretrieve_one(self, query, k):
        self.used.add("async")
        return self.retrieve_one(query, k)


class AsyncOnly:
    async def aretrieve_one(self, query, k):
        await asyncio.sleep(0)
        return Ranking.of((Chunk(text), None) for text in RESULTS[query][:k])


def test_stages_run_in_order_and_each_ranking_is_kept():
    stages = [
        RetrieveStage(FakeRetriever(RESULTS), "fake"),
        RerankStage(FakeReranker(REVERSED), "fake", name="rerank"),
        RerankStage(FakeReranker({}, top_n=2), "fake", name="rerank-2"),
    ]
    traces = run(stages)
    assert [trace.query_id for trace in traces] == ["q1", "q2", "q3", "q4"]
    for trace in traces:
        assert trace.error is None
        assert [stage.stage for stage in trace.stages] == ["retrieve", "rerank", "rerank-2"]
        assert [texts(trace, number) for number in range(3)] == [["a", "b", "c"], ["c", "b", "a"], ["c", "b"]]
        assert all(stage.seconds >= 0 for stage in trace.stages)


def test_a_failed_query_keeps_the_stages_before_and_is_asked_no_more():
    class Reranker:
        def __init__(self):
            self.asked = []

        def rerank_one(self, query, ranking):
            self.asked.append(query)
            if query == "question 2":
                raise ValueError("not this one")
            return ranking

    first, second = Reranker(), FakeReranker(REVERSED)
    results = RESULTS | {"question 3": RuntimeError("no index")}
    stages = [
        RetrieveStage(FakeRetriever(results), "fake"),
        RerankStage(first, "picky", name="rerank"),
        RerankStage(second, "fake", name="rerank-2"),
    ]
    traces = run(stages)
    assert [len(trace.stages) for trace in traces] == [3, 1, 0, 3]
    assert traces[1].error == "rerank: ValueError: not this one"
    assert traces[2].error == "retrieve: RuntimeError: no index"
    assert first.asked == ["question 1", "question 2", "question 4"]


def test_a_batch_that_fails_is_asked_one_by_one():
    retriever = Batch(refused=["question 2"])
    traces = run([RetrieveStage(retriever, "batch")])
    assert retriever.asked == [[query.text for query in QUERIES], *([query.text] for query in QUERIES)]
    assert [trace.error for trace in traces] == [
        None,
        "retrieve: RuntimeError: one of them is cursed",
        None,
        None,
    ]
    assert texts(traces[3], 0) == ["a", "b", "c"]


def test_what_takes_all_at_once_is_never_asked_from_two_threads():
    threads = set()

    class Unsafe(Batch):
        def retrieve(self, queries, k):
            threads.add(threading.get_ident())
            return super().retrieve(queries, k)

    run([RetrieveStage(Unsafe(refused=["question 1"]), "batch")], policy=Policy(concurrency=4))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda queries: [Ranking()], "returned 1 rankings; expected 4 rankings"),
        (lambda queries: None, "returned NoneType; expected 4 rankings"),
        (lambda queries: [["text"]] * 4, "returned a list; expected a raglift Ranking"),
    ],
)
def test_results_of_a_batch_that_are_no_rankings_stop_the_run(answer, message):
    with pytest.raises(ConfigurationError, match=f"^retrieve: the system {message}"):
        run([RetrieveStage(Batch(answer=answer), "the system")])


@pytest.mark.parametrize("policy", [Policy(), Policy(concurrency=2)], ids=["sequential", "pool"])
def test_a_system_whose_every_result_is_no_ranking_stops_the_run(policy):
    class Lists:
        def retrieve_one(self, query, k):
            return RESULTS[query]

    class AsyncLists:
        async def aretrieve_one(self, query, k):
            return None

    with pytest.raises(ConfigurationError, match="lists returned a list; expected a raglift Ranking"):
        run([RetrieveStage(Lists(), "lists")], policy=policy)
    with pytest.raises(ConfigurationError, match="lists returned a NoneType; expected a raglift Ranking"):
        run([RetrieveStage(AsyncLists(), "lists")], policy=policy)


def test_one_result_that_is_no_ranking_fails_alone():
    class Sometimes:
        def retrieve_one(self, query, k):
            return None if query == "question 2" else Ranking()

    traces = run([RetrieveStage(Sometimes(), "sometimes")])
    assert [bool(trace.error) for trace in traces] == [False, True, False, False]
    assert "expected a raglift Ranking" in traces[1].error


@pytest.mark.parametrize("ranks", [(2, 1, 3)])
def test_hits_that_carry_other_ranks_than_their_places_are_refused(ranks):
    """As a reranker's do that sorts the hits and keeps the ranks they had: its lift would be 0 without a word."""

    class Stale:
        def rerank_one(self, query, ranking):
            return Ranking(tuple(Hit(Chunk(f"{rank}"), rank) for rank in ranks))

    stages = [RetrieveStage(FakeRetriever(RESULTS), "fake"), RerankStage(Stale(), "stale")]
    with pytest.raises(ConfigurationError, match=r"stale returned hits of the ranks \[.*Ranking\.of"):
        run(stages)


def test_async_is_used_where_it_helps():
    both = Both()
    run([RetrieveStage(both, "both")])
    assert both.used == {"sync"}
    both = Both()
    run([RetrieveStage(both, "both")], policy=Policy(concurrency=2))
    assert "async" in both.used
    assert [texts(trace, 0) for trace in run([RetrieveStage(AsyncOnly(), "async")])] == [["a", "b", "c"]] * 4


def test_a_query_that_times_out_is_a_failed_query():
    event = threading.Event()

    class Hangs(FakeRetriever):
        def retrieve_one(self, query, k):
            if query == "question 2":
                event.wait()
            return super().retrieve_one(query, k)

    traces = run([RetrieveStage(Hangs(RESULTS), "hangs")], policy=Policy(timeout=0.5))
    event.set()
    assert [bool(trace.error) for trace in traces] == [False, True, False, False]
    assert traces[1].error == "retrieve: no answer within the timeout of 0.5 seconds"


@pytest.mark.parametrize("concurrency", [1, 2])
def test_raise_names_the_stage_the_query_and_the_reason(concurrency):
    reason = RuntimeError("no index")
    retriever = FakeRetriever(RESULTS | {"question 2": reason})
    with pytest.raises(QueryFailed) as caught:
        run([RetrieveStage(retriever, "fake")], policy=Policy(concurrency=concurrency, on_error="raise"))
    assert str(caught.value) == "retrieve (fake) failed on 'question 2': RuntimeError: no index"
    assert caught.value.__cause__ is reason


@pytest.mark.parametrize("policy", [Policy(), Policy(concurrency=2), Policy(timeout=5)], ids=repr)
def test_an_interrupt_in_a_call_comes_through(policy):
    class Interrupted:
        def retrieve_one(self, query, k):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([RetrieveStage(Interrupted(), "interrupted")], policy=policy)
