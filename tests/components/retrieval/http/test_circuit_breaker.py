"""A service that answers nothing is not asked ten thousand times; one that has answered once always is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import raglift as rl
from raglift.base.retrying import is_transient
from raglift.components.http.availability import CircuitBreaker
from raglift.components.http.retriever import HttpRetriever
from raglift.errors import ServiceFailed, ServiceUnusable
from raglift.records.dataset import Dataset
from raglift.records.labels import Fact, Passage, Query
from raglift.testing.search_server import SearchAnswer, SearchServer

QUERIES = tuple(Query(str(number), f"query {number}", (Fact((Passage("The lamp."),)),)) for number in range(1_000))
ANSWER = {"results": [{"text": "The lamp."}]}


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    with monkeypatch.context() as patch:
        patch.setattr("raglift.components.http.availability.time.monotonic", clock)
        yield clock


class Service:
    """Fails as it is told to, each time after so long."""

    def __init__(self, clock: Clock, seconds: float, error: Exception | None) -> None:
        self.clock, self.seconds, self.error = clock, seconds, error
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        self.clock.now += self.seconds
        if self.error is not None:
            raise self.error
        return "here"


def ask(breaker: CircuitBreaker, service: Service, times: int) -> list[object]:
    async def all_of_them() -> list[object]:
        return [(await asyncio.gather(breaker.call(service), return_exceptions=True))[0] for _ in range(times)]

    return asyncio.run(all_of_them())


@pytest.mark.slow
def test_a_service_that_refuses_everything_is_asked_a_hundred_times() -> None:
    refusal = SearchAnswer(status=401, body={"detail": "who are you?"})
    with SearchServer(lambda _: refusal) as server:
        system = HttpRetriever(server.address)
        with pytest.raises(ServiceUnusable) as raised:
            rl.evaluate(system, Dataset(QUERIES), concurrency=4)
        assert 100 <= server.counts["requests"] <= 104
    expected = "not asked, because no request before had a usable answer: HTTP 401 Unauthorized"
    assert expected in str(raised.value)
    assert "the headers of the mapping say who asks" in str(raised.value)


@pytest.mark.slow
def test_one_that_has_answered_is_asked_for_every_query() -> None:
    refusal = SearchAnswer(status=422)
    with SearchServer(lambda request: ANSWER if request.json["query"] == "query 0" else refusal) as server:
        evaluation = rl.evaluate(HttpRetriever(server.address), Dataset(QUERIES[:300]))
        assert server.counts["requests"] == 300
    assert sum(trace.error is not None for trace in evaluation.run.traces) == 299


@pytest.mark.slow
def test_one_that_answers_a_mapping_of_another_shape_is_not_asked_for_ever() -> None:
    with SearchServer(lambda _: {"found": [{"text": "The lamp."}]}) as server:
        with pytest.raises(ServiceUnusable, match="found"):
            rl.evaluate(HttpRetriever(server.address, {"response": {"hits": "results"}}), Dataset(QUERIES))
        assert server.counts["requests"] == 100


@pytest.mark.slow
def test_that_nobody_is_there_is_said_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raglift.components.http.availability._WAITED_FOR_AT_FIRST", 0.1)
    with SearchServer(lambda _: ANSWER) as server:
        system = HttpRetriever(server.address)
    for _ in range(2):  # the second time it is looked for again
        with pytest.raises(ServiceUnusable, match=r"^HTTP POST [^ ]+: no connection to "):
            rl.evaluate(system, Dataset(QUERIES[:200]))


@pytest.mark.slow
def test_a_few_refusals_among_failures_that_may_pass_do_not_end_it(clock: Clock) -> None:
    breaker = CircuitBreaker()
    busy = Service(clock, 0.01, ServiceFailed("HTTP 503 Service Unavailable", status_code=503))
    refusing = Service(clock, 0.01, ServiceUnusable("HTTP 422 Unprocessable Entity"))
    for _ in range(50):
        ask(breaker, busy, 9)
        ask(breaker, refusing, 1)
    assert busy.asked + refusing.asked == 500
    for service in (busy, refusing):  # a minute is over
        clock.now += 30
        ask(breaker, service, 1)
    (last,) = ask(breaker, busy, 1)
    assert str(last) == "not asked, because no request before had a usable answer: HTTP 503 Service Unavailable"


def test_what_may_pass_by_itself_is_given_a_minute(clock: Clock) -> None:
    breaker, service = (
        CircuitBreaker(),
        Service(clock, 0.1, ServiceFailed("HTTP 503 Service Unavailable", status_code=503)),
    )
    ask(breaker, service, 1_000)
    assert 590 <= service.asked <= 610
    (last,) = ask(breaker, service, 1)
    assert "not asked" in str(last)
    assert not is_transient(last)  # or it would be tried again


def test_one_that_hangs_is_given_five_minutes(clock: Clock) -> None:
    breaker, service = CircuitBreaker(), Service(clock, 30.0, ServiceFailed("no answer within 30 s"))
    ask(breaker, service, 100)
    assert service.asked == 10


def test_queries_that_were_given_up_on_count(clock: Clock) -> None:
    breaker, service = CircuitBreaker(), Service(clock, 30.0, asyncio.CancelledError())

    async def cancelled() -> None:
        with pytest.raises(asyncio.CancelledError):
            await breaker.call(service)

    for _ in range(10):
        asyncio.run(cancelled())
    (found,) = ask(breaker, service, 1)
    assert str(found) == "not asked, because no request before had a usable answer: no answer in time"


def test_later_it_is_tried_again_and_asked_as_ever_when_it_answers(clock: Clock) -> None:
    breaker, service = CircuitBreaker(), Service(clock, 0.0, ServiceUnusable("HTTP 401 Unauthorized"))
    ask(breaker, service, 200)
    assert service.asked == 100
    service.error = None
    clock.now += 11
    assert ask(breaker, service, 1) == ["here"]
    service.error = ServiceFailed("HTTP 500 Internal Server Error", status_code=500)
    clock.now += 1_000
    ask(breaker, service, 500)
    assert service.asked == 601


def test_what_was_long_ago_does_not_end_another_use(clock: Clock) -> None:
    breaker, service = (
        CircuitBreaker(),
        Service(clock, 0.1, ServiceFailed("HTTP 503 Service Unavailable", status_code=503)),
    )
    ask(breaker, service, 200)
    clock.now += 3_600
    ask(breaker, service, 300)
    assert service.asked == 500
