"""Many queries at a service with a bad day: nothing is lost, every failure has its cause, the order is kept."""

from __future__ import annotations

from collections import Counter

import pytest

import raglift as rl
from raglift.retrieval.services.http_retriever import HttpRetriever
from raglift.testing.search_server import SearchAnswer, SearchRequest, SearchServer
from raglift.types.dataset import Dataset

pytestmark = pytest.mark.slow

QUERIES, CONCURRENCY = 300, 32
RETRY_NOW = {"Retry-After": "0"}
HANG, TIMEOUT = 60.0, 3.0  # seconds, enough for a machine that is busy
FAULTS = {
    "HTTP 500": SearchAnswer(status=500, headers=RETRY_NOW, body={"detail": "the index is being rebuilt"}),
    "HTTP 429": SearchAnswer(status=429, headers=RETRY_NOW),
    "within 3 s": SearchAnswer(seconds=HANG),
    "broke off": SearchAnswer(body={"results": [{"text": "half of it"}]}, cut_off=True),
    "not JSON": SearchAnswer(body=b"<html>We are sorry</html>"),
    "another shape": SearchAnswer(body={"rows": [{"words": "no results"}]}),
}
PASSES = ("HTTP 500", "HTTP 429", "broke off")


def fault_of(number: int) -> str | None:
    """The fault of a query: every fifth has one, the kinds in turn."""
    return list(FAULTS)[number // 5 % len(FAULTS)] if number % 5 == 0 else None


def passes(number: int) -> bool:
    """Whether the fault of a query passes on the second try."""
    return fault_of(number) in PASSES and number // 5 // len(FAULTS) % 2 == 0


class BadDay:
    """Answers each query with its own number, but for those that fail."""

    def __init__(self) -> None:
        self.tries: Counter[int] = Counter()

    def __call__(self, request: SearchRequest) -> object:
        number = int(request.json["query"].rpartition(" ")[2])
        self.tries[number] += 1
        fault = fault_of(number)
        if fault is None or (passes(number) and self.tries[number] > 1):
            return {"results": [{"text": f"passage {number}", "id": number}]}
        return FAULTS[fault]


@pytest.fixture(scope="module")
def measured() -> tuple[rl.Evaluation, SearchServer, BadDay]:
    dataset = Dataset.from_dict({f"question {n}": [f"passage {n}"] for n in range(QUERIES)})
    bad_day = BadDay()
    with SearchServer(bad_day) as server:
        system = HttpRetriever(server.address, {"timeout": TIMEOUT})
        system.retrieve_one(f"question {QUERIES + 1}", 1)  # imports and certificates are not on the first queries' time
        evaluation = rl.evaluate(
            system, dataset, ks=[1], metrics=["hit_rate"], concurrency=CONCURRENCY, retries=1, progress=False
        )
    return evaluation, server, bad_day


def test_every_query_has_its_own_answer_in_order_or_its_cause(measured) -> None:
    evaluation, _, bad_day = measured
    assert [trace.query_id for trace in evaluation.run.traces] == [f"q{n + 1}" for n in range(QUERIES)]
    for number, trace in enumerate(evaluation.run.traces):
        fault = fault_of(number)
        is_asked_again = fault in (*PASSES, "within 3 s")
        assert bad_day.tries[number] == (2 if is_asked_again else 1)
        if fault is None or passes(number):
            assert trace.error is None
            assert [hit.chunk.text for hit in trace.stages[0].ranking] == [f"passage {number}"]
        else:
            assert fault in trace.error
            assert ("(tried 2 times)" in trace.error) == is_asked_again


def test_failures_are_listed_by_cause_and_count_0(measured) -> None:
    evaluation, _, _ = measured
    wanted: dict[str, list[str]] = {}
    for number in range(QUERIES):
        if (fault := fault_of(number)) is not None and not passes(number):
            wanted.setdefault(fault, []).append(f"q{number + 1}")
    found = {
        next(name for name in FAULTS if name in each.cause): list(each.query_ids) for each in evaluation.failures()
    }
    assert found == wanted
    assert len(evaluation.failures()) == len(FAULTS)
    failed = sum(map(len, wanted.values()))
    assert evaluation.scores.mean("retrieve", "hit_rate@1") == pytest.approx((QUERIES - failed) / QUERIES)


def test_no_more_is_asked_at_once_than_was_wanted_and_connections_are_kept(measured) -> None:
    _, server, _ = measured
    hanging = sum(fault_of(n) == "within 3 s" for n in range(QUERIES))  # the server sees a little later that one left
    lost = 2 * (hanging + sum(fault_of(n) == "broke off" for n in range(QUERIES)))
    assert server.counts["under way"] <= CONCURRENCY + hanging
    assert server.counts["connections"] <= CONCURRENCY + lost + QUERIES // 5
