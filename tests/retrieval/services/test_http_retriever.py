"""Asking a service: what is sent, what is read, and what is said when something goes wrong."""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from benchmarks.search_server import SearchAnswer, SearchServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError, MissingKey, ServiceFailed, ServiceUnusable
from raglift.retrieval.services.addresses import proxy_of
from raglift.retrieval.services.http_retriever import HttpRetriever, reason_of
from raglift.types.dataset import Dataset
from raglift.types.labels import Query
from raglift.utilities.retrying import is_transient

GOOD = {"results": [{"text": "The lamp.", "id": 7, "doc_id": "a", "start": 0, "end": 9, "score": 0.5}]}
SECRET = "hush-hush-4711"  # noqa: S105 — a password that nobody has


@contextmanager
def asked(reply: object, mapping: object = None, path: str = "/search") -> Iterator[tuple[HttpRetriever, SearchServer]]:
    """A retriever and the server that it asks, which answers every request alike."""
    with SearchServer(reply if callable(reply) else lambda _: reply) as server:
        yield HttpRetriever(f"http://127.0.0.1:{server.port}{path}", mapping), server


def failure(reply: object, mapping: object = None) -> Exception:
    with asked(reply, mapping) as (retriever, _), pytest.raises((ServiceFailed, ServiceUnusable)) as raised:
        retriever.retrieve_one("lamp", 5)
    return raised.value


@pytest.fixture(scope="module")
def echo() -> Iterator[SearchServer]:
    with SearchServer(lambda _: GOOD) as server:
        yield server


def test_by_default_query_and_k_are_posted_and_the_usual_names_are_read() -> None:
    with asked(GOOD) as (retriever, server):
        (hit,) = retriever.retrieve_one("lamp", 5)
    assert (server.requests[0].method, server.requests[0].json) == ("POST", {"query": "lamp", "k": 5})
    assert server.requests[0].headers["content-type"] == "application/json"
    chunk = hit.chunk
    assert (chunk.text, chunk.id, chunk.doc_id, chunk.start, chunk.end) == ("The lamp.", "7", "a", 0, 9)
    assert hit.score == 0.5


def test_a_mapping_that_says_get_alone_sends_query_and_k_as_parameters() -> None:
    with asked(GOOD, {"method": "GET"}) as (retriever, server):
        assert len(retriever.retrieve_one("lamp", 5)) == 1
    assert parse_qs(urlsplit(server.requests[0].target).query) == {"query": ["lamp"], "k": ["5"]}


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40), k=st.integers(1, 1000))
def test_any_query_arrives_unchanged_in_a_body(echo: SearchServer, query: str, k: int) -> None:
    mapping = {"json": {"q": "{query}", "top": "{k}", "deep": [{"text": "a {query} b {k}"}], "flag": True}}
    HttpRetriever(echo.address, mapping).retrieve_one(query, k)
    assert echo.requests[-1].json == {"q": query, "top": k, "deep": [{"text": f"a {query} b {k}"}], "flag": True}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_query_arrives_unchanged_in_an_address(echo: SearchServer, query: str) -> None:
    mapping = {"method": "GET", "params": {"q": "{query}", "size": "{k}"}}
    HttpRetriever(f"{echo.address}?lang=en", mapping).retrieve_one(query, 3)
    sent = parse_qs(urlsplit(echo.requests[-1].target).query, keep_blank_values=True, strict_parsing=True)
    assert sent == {"lang": ["en"], "q": [query], "size": ["3"]}


def test_the_filter_of_a_query_is_sent_where_the_mapping_has_a_place_for_it() -> None:
    body = {"q": "{query}", "where": "{filter}", "also": ["{filter}", 1]}
    queries = [
        Query("a", "lamp", filter={"year": {"gte": 2023}, "language": ["de", "en"]}),
        Query("b", "horn"),
    ]
    with asked(GOOD, {"json": body}) as (retriever, server):
        evaluation = rl.evaluate(retriever, Dataset(queries), ks=[1], concurrency=1, progress=False)
    written = {"year": {"gte": 2023}, "language": ["de", "en"]}
    assert [request.json for request in server.requests[-2:]] == [
        {"q": "lamp", "where": written, "also": [written, 1]},
        {"q": "horn", "also": [1]},
    ]
    assert not any("takes none" in note for note in evaluation.notes)


def test_a_header_comes_from_the_environment_and_shows_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SEARCH_PASS_FOR_TEST", SECRET)
    mapping = {"headers": {"X-Pass": "${SEARCH_PASS_FOR_TEST}"}, "params": {"p": "${SEARCH_PASS_FOR_TEST}"}}

    def reply(request: object) -> object:
        good = request.json["query"] != "bad"
        return GOOD if good else SearchAnswer(status=500, body={"you sent": request.headers["x-pass"]})

    dataset = Dataset.from_dict({"good": ["The lamp."], "bad": ["The lamp."]})
    with asked(reply, mapping) as (retriever, server):
        evaluation = rl.evaluate(retriever, dataset, ks=[1], retries=0, progress=False)
        assert server.requests[0].headers["x-pass"] == SECRET
        assert f"p={SECRET}" in server.requests[0].target
    evaluation.save(tmp_path / "run")
    written = b"".join(file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file())
    assert b"HTTP 500" in written
    assert "***" in evaluation.failures()[0].first
    for text in (repr(retriever), str(retriever), str(evaluation), written.decode("latin-1"), caplog.text):
        assert SECRET not in text


def test_an_unset_variable_is_told_before_anything_is_asked() -> None:
    with pytest.raises(MissingKey) as raised:
        HttpRetriever("http://127.0.0.1:9/x", {"headers": {"X-Token": "${NOT_SET_FOR_TEST}"}})
    assert str(raised.value) == (
        "the header X-Token names a variable that is not set: set NOT_SET_FOR_TEST in the environment or in .env"
    )


def test_a_header_of_other_letters_and_a_field_of_tools_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_FOR_TEST", "schlüssel")
    with pytest.raises(ConfigurationError, match="the header X-Token: found letters") as raised:
        HttpRetriever("http://127.0.0.1:9/x", {"headers": {"X-Token": "${TOKEN_FOR_TEST}"}})
    assert "schl" not in str(raised.value)
    with pytest.raises(ConfigurationError, match="mapping: found tool with an HTTP service; expected a mapping with"):
        HttpRetriever("http://127.0.0.1:9/x", {"tool": "search"})


@pytest.mark.parametrize(
    ("reply", "said", "passing"),
    [
        (SearchAnswer(status=500, body={"detail": "no"}), 'HTTP 500 Internal Server Error — {"detail": "no"}', True),
        (SearchAnswer(status=503), "HTTP 503 Service Unavailable — with an empty answer", True),
        (SearchAnswer(status=429, headers={"Retry-After": "3"}), "HTTP 429 Too Many Requests", True),
        (SearchAnswer(status=404, body=b"nothing here"), "HTTP 404 Not Found — nothing here; expected", False),
        (SearchAnswer(body=b"<html>\n Sorry"), "<html> Sorry; expected JSON: this is a page, so look at", False),
        (SearchAnswer(body=b'{"results": [{"text": "\xff"}]}'), "the answer is not JSON — 'utf-8' codec", False),
        (SearchAnswer(body=b'{"results": [{"text": "a", "score": NaN}]}'), "NaN, which JSON does not have", False),
        (SearchAnswer(body=GOOD, cut_off=True), "the connection broke off before the end of an answer", True),
        (SearchAnswer(endless=True, body=b"x" * 1_000), "an answer of more than 1,000,000 bytes", False),
        (
            SearchAnswer(headers={"Content-Encoding": "gzip, gzip"}, body=gzip.compress(gzip.compress(b"{}"))),
            "packed as 'gzip, gzip'",
            False,
        ),
        (
            SearchAnswer(status=302, headers={"Location": "http://b/x?key=a"}),
            "a redirect to 'http://b/x', which",
            False,
        ),
    ],
)
def test_what_went_wrong_is_said_in_plain_words(
    reply: SearchAnswer, said: str, passing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raglift.retrieval.services.http_retriever.MOST_BYTES", 1_000_000)
    error = failure(reply)
    assert said in str(error)
    assert is_transient(error) is passing


def test_an_answer_that_takes_too_long_says_so() -> None:
    assert str(failure(SearchAnswer(seconds=9), {"timeout": 0.3})) == "no answer within 0.3 s"


def test_an_answer_without_encryption_and_a_name_that_is_unknown_are_named_as_reasons() -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    incoming.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(ssl.SSLError) as raised:
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="a.invalid").do_handshake()
    assert reason_of(raised.value) == "WRONG_VERSION_NUMBER"
    failed = OSError("All connection attempts failed")
    failed.__cause__ = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert reason_of(failed) == "Name or service not known"


def test_a_service_that_is_started_later_is_asked() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        retriever = HttpRetriever(f"http://127.0.0.1:{port}/search")
        with pytest.raises(ServiceUnusable, match="is it running"):
            retriever.retrieve_one("lamp", 1)
    with SearchServer(lambda _: GOOD, port=port):
        assert len(retriever.retrieve_one("lamp", 1)) == 1


def test_a_service_that_goes_away_is_worth_another_try() -> None:
    with asked(GOOD) as (retriever, _):
        retriever.retrieve_one("lamp", 1)
    with pytest.raises(ServiceFailed, match=r"no connection to .* any more — Connection refused") as raised:
        retriever.retrieve_one("lamp", 1)
    assert is_transient(raised.value)


def test_it_can_be_asked_on_any_event_loop_again_and_again() -> None:
    with asked(GOOD) as (retriever, server):

        async def twice() -> int:
            found = await asyncio.gather(retriever.aretrieve_one("a", 1), retriever.aretrieve_one("b", 1))
            await retriever.aclose()
            await retriever.aclose()  # of nothing
            return len(found)

        assert asyncio.run(twice()) == asyncio.run(twice()) == 2
        assert len(retriever.retrieve_one("c", 1)) == 1
        assert server.counts["requests"] == 5


@pytest.mark.slow
def test_asking_in_turn_keeps_one_connection() -> None:
    with asked(GOOD) as (retriever, server):
        for number in range(20):
            retriever.retrieve_one(f"question {number}", 1)
        assert server.counts["connections"] == 1


def test_the_proxy_of_the_environment_is_asked_but_for_what_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with SearchServer(lambda _: GOOD) as proxy:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "inside.invalid")
        assert len(HttpRetriever("http://search.invalid/find").retrieve_one("lamp", 1)) == 1
        assert proxy.requests[0].target == "http://search.invalid/find"
    assert proxy_of("http://inside.invalid:8000/find") is None
    assert proxy_of("http://localhost/find") is None


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://host/x", "expected an address"),
        ("http://", "expected an address"),
        ("http://host:99999/x", "expected an address, .*Port out of range"),
        ("http://user:pass@host/x", "expected none there"),
        ("http://host/x?api_key=abc", "expected no secret there"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(address: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as raised:
        HttpRetriever(address)
    assert "pass@" not in str(raised.value)
    assert "abc" not in str(raised.value)
