"""OpenAI's embedding models through langchain-openai's real client, against a server on this machine."""

import itertools
import logging
import pickle
import traceback

import numpy as np
import pytest
import tiktoken

from raglift.adapters import embeddings as openai_embeddings
from raglift.adapters.embeddings import OpenAIEmbedder, embedder_by_name
from raglift.errors import ConfigurationError, MissingDependency, ModelOutputError
from raglift.retrieval.embedding import embed
from raglift.testing.openai_server import Answer, OpenAIServer
from raglift.utilities.cache import Cache
from raglift.utilities.retrying import RetryPolicy

pytestmark = pytest.mark.usefixtures("no_openai_settings")

NAME = "openai:text-embedding-3-small"
KEY = "sk-test-0123456789abcdef"
TEXTS = [f"{'word ' * (number % 7)}Prince number {number}" for number in range(70)]
RATE_LIMIT = Answer(status=429, headers={"Retry-After": "0.05"})


@pytest.fixture(autouse=True)
def _no_download(monkeypatch):
    def refuse(*_):
        raise AssertionError("an encoding was looked for on the network")

    monkeypatch.setattr(tiktoken, "get_encoding", refuse)
    monkeypatch.setattr(tiktoken, "encoding_for_model", refuse)


@pytest.fixture
def server(monkeypatch):
    with OpenAIServer(key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


def quick(model="text-embedding-3-small", *, attempts=4, longest_wait=5.0, **settings):
    return OpenAIEmbedder(model, retry_policy=RetryPolicy(attempts, longest_wait, first_wait=0.01), **settings)


def gaps(server):
    times = [request.at for request in server.requests]
    return [later - earlier for earlier, later in itertools.pairwise(times)]


@pytest.mark.slow
def test_vectors_come_back_in_order_and_the_second_run_asks_nothing(server, tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    first = embed(embedder_by_name(NAME), TEXTS, "document", cache)
    assert first.computed == 70
    assert first.read_in_part == 0
    assert {request.path for request in server.requests} == {"/v1/embeddings"}
    assert {request.body["model"] for request in server.requests} == {"text-embedding-3-small"}
    for text, vector in zip(TEXTS[:5], first.vectors, strict=False):
        alone = embed(embedder_by_name(NAME), [text], "document", Cache(None)).vectors[0]
        np.testing.assert_array_equal(vector, alone)
    asked = len(server.requests)
    cache.close()
    second = embed(embedder_by_name(NAME), TEXTS, "document", Cache(tmp_path / "cache.sqlite"))
    assert len(server.requests) == asked
    assert second.computed == 0
    np.testing.assert_array_equal(second.vectors, first.vectors)


def test_the_vectors_are_the_servers(server):
    (row,) = server.paths["/v1/embeddings"]({"input": "Prince"}, Answer())["data"]
    (vector,) = embed(quick(), ["Prince"], "document", Cache(None)).vectors
    np.testing.assert_allclose(vector, row["embedding"], rtol=1e-6)


def test_vectors_that_come_in_another_order_are_put_in_theirs(server):
    right = quick().embed(["lamp", "boat"], "document")
    given = server.paths["/v1/embeddings"]

    def reversed_rows(body, answer):
        reply = given(body, answer)
        return {**reply, "data": reply["data"][::-1]}

    server.paths["/v1/embeddings"] = reversed_rows
    np.testing.assert_array_equal(quick().embed(["lamp", "boat"], "document"), right)


# A bad day


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "0.2"}, {"retry-after-ms": "200", "Retry-After": "60"}], ids=["seconds", "milliseconds"]
)
def test_a_rate_limit_is_waited_for_as_long_as_the_server_asks(server, headers):
    server.answer_next(Answer(status=429, headers=headers))
    quick().embed(["who?"], "query")
    (gap,) = gaps(server)
    assert gap >= 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        RATE_LIMIT,
        Answer(status=500),
        Answer(status=503),
        Answer(status=408),
        Answer(cut_off=True),
        Answer(body=b'{"data": [{"embed'),
        Answer(body=b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"}),
        Answer(body=b"[]"),
        Answer(body={"data": [{"embedding": "?", "index": 0}]}),
        Answer(vectors="fewer"),
        Answer(vectors="none"),
        Answer(vectors="nan"),
    ],
    ids=lambda answer: str(answer.body or answer.status) + answer.vectors + "cut off" * answer.cut_off,
)
def test_what_passes_is_asked_again_once_it_has_passed(server, answer):
    right = quick().embed(["who?", "when?"], "document")
    server.requests.clear()
    server.answer_next(answer)
    np.testing.assert_array_equal(quick().embed(["who?", "when?"], "document"), right)
    assert [request.body["input"] for request in server.requests] == [["who?", "when?"]] * 2


def test_a_slow_answer_is_given_up_and_asked_again(server):
    server.answer_next(Answer(seconds=5))
    assert len(quick(timeout=0.2).embed(["who?"], "query")) == 1
    assert len(server.requests) == 2


def test_a_server_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(
        ModelOutputError, match=r"failed after 4 attempts and .* s of waiting: APIConnectionError: .*refused"
    ):
        quick(base_url="http://127.0.0.1:9/v1").embed(["who?"], "query")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=400),
        Answer(status=401),
        Answer(status=403),
        Answer(status=404),
        Answer(status=429, body={"error": {"message": "pay", "code": "insufficient_quota"}}),
        Answer(status=500, headers={"x-should-retry": "false"}),
    ],
    ids=["400", "401", "403", "404", "no quota", "told not to"],
)
def test_what_does_not_pass_is_asked_once(server, answer):
    server.answer_next(answer)
    with pytest.raises(ModelOutputError, match=r"openai:text-embedding-3-small failed: \w+Error: .*run again"):
        quick().embed(["who?"], "query")
    assert len(server.requests) == 1


def test_a_reply_that_stays_damaged_is_asked_for_three_times(server):
    server.answer_next(*[Answer(vectors="nan")] * 9)
    with pytest.raises(ModelOutputError, match=r"after 3 attempts .*not finite, of shape \(1, 64\); expected 1 rows"):
        quick(attempts=8).embed(["who?"], "query")
    assert len(server.requests) == 3


def test_a_wait_is_shown(server, monkeypatch, capsys):
    monkeypatch.setenv("RAGLIFT_PROGRESS", "1")
    server.answer_next(RATE_LIMIT, Answer(status=502), Answer(cut_off=True), Answer(seconds=2), Answer(vectors="fewer"))
    quick(attempts=6, timeout=0.3).embed(["who?"], "query")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"{NAME}: rate limited, waiting 0.05 s (attempt 2 of 6 follows)"
    reasons = [line.removeprefix(f"{NAME}: ").split(", waiting ")[0] for line in lines]
    assert reasons == ["rate limited", "HTTP 502", "the connection failed", "no answer in time", "a damaged reply"]


def test_finished_batches_are_kept_and_not_asked_for_again(server, tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    embedder = quick(texts_per_request=20)
    server.answer_next(Answer(), Answer(cut_off=True), Answer(), Answer(status=400))
    with pytest.raises(ModelOutputError, match="batches before are kept: run again"):
        embed(embedder, TEXTS, "document", cache)
    finished = [*server.requests[0].body["input"], *server.requests[1].body["input"]]
    assert server.requests[1].body == server.requests[2].body
    server.requests.clear()
    assert embed(embedder, TEXTS, "document", cache).computed == 70 - len(finished)
    assert not {*finished} & {*server.inputs}
    assert sorted([*finished, *server.inputs]) == sorted(TEXTS)


def test_ctrl_c_ends_a_wait_at_once_and_leaves_what_is_finished(server, ctrl_c_when):
    cache = Cache(None)
    server.answer_next(Answer(), Answer(status=429, headers={"Retry-After": "60"}))
    with ctrl_c_when(lambda: len(server.requests) == 2):
        embed(OpenAIEmbedder("text-embedding-3-small", texts_per_request=40), TEXTS, "document", cache)
    done = server.requests[0].body["input"]
    assert embed(quick(), done, "document", cache).computed == 0


# What is read, and what is sent


def test_a_long_text_is_cut_where_openai_would_refuse_it_and_counted(server):
    long = "lamp " * 9_000
    embedding = embed(quick(), ["short", long], "document", Cache(None))
    assert embedding.read_in_part == 1
    sent = max(server.inputs, key=len)
    assert long.startswith(sent)
    encoding = openai_embeddings._encoding()
    assert 8_150 <= encoding.count(sent) <= 8_191


@pytest.mark.parametrize(
    "text", ["漢字かな交じり" * 3_000, "🕯️" * 6_000, " " * 1_200_000 + "x", "a" * 3_000_000, "a\ud800" * 9_000]
)
def test_a_cut_never_leaves_more_than_the_limit(server, text):
    embedder = quick()
    assert embedder.read_in_part([text]) == [True]
    embedder.embed([text], "document")
    (sent,) = server.inputs
    encoding = openai_embeddings._encoding()
    assert encoding.count(sent) <= 8_191
    assert encoding.count(sent) >= 8_100 or len(sent) == 100_000


def test_a_text_of_exactly_the_limit_is_read_whole(server):
    assert quick().read_in_part([" lamp" * 8_191, " lamp" * 8_192]) == [False, True]


def test_another_servers_model_gets_the_whole_text(server):
    long = "lamp " * 9_000
    embedder = quick("bge-small")
    assert embedder.read_in_part([long]) is None
    embedder.embed([long], "document")
    assert server.inputs == [long]


@pytest.mark.parametrize(("text", "sent"), [("", " "), ("a\ud800", "a\ufffd"), ("<|endoftext|>", "<|endoftext|>")])
def test_texts_that_a_server_refuses_are_made_acceptable(server, text, sent):
    assert np.isfinite(quick().embed([text], "document")).all()
    assert server.inputs == [sent]


@pytest.mark.slow
def test_requests_stay_below_what_openai_takes(server):
    texts = [f"{number} " + "lamp " * 2_000 for number in range(120)] + [str(number) for number in range(600)]
    embedder = quick()
    plan = embedder.plan(texts)
    assert sorted(text for batch in plan for text in batch) == sorted(texts)
    assert max(map(len, plan)) == 256
    assert max(embedder.estimate(batch) for batch in plan) <= 100_000
    assert plan == embedder.plan(texts[::-1])
    assert len(quick("bge-small").plan(texts[-600:])[0]) == 32


# What it costs


def test_the_tokens_that_were_billed_are_counted_from_the_replies(server):
    embedder = quick()
    assert embedder.tokens_billed == 0
    server.answer_next(RATE_LIMIT, Answer(cut_off=True))
    embedder.embed(["the lamp keeper", "boat"], "document")
    assert embedder.tokens_billed == 4
    embedder.embed(["who?"], "query")
    assert embedder.tokens_billed == 5


@pytest.mark.slow
def test_tokens_are_estimated_without_asking(server):
    assert quick().estimate([" lamp" * 1_000, " lamp" * 1_000, " lamp" * 9_000]) == 9_191
    assert quick("bge-small").estimate([" lamp" * 9_000]) == 9_000
    assert server.requests == []


def test_without_the_encoding_a_text_is_counted_by_its_bytes(server, monkeypatch):
    def missing(name):
        raise ConfigurationError("encoding: not on this machine")

    monkeypatch.setattr(openai_embeddings, "load_encoding", missing)
    openai_embeddings._encoding.cache_clear()
    try:
        assert quick().estimate(["lamp", "é" * 30]) == 2 + 20
        assert embed(quick(), TEXTS, "document", Cache(None)).read_in_part == 0
        with pytest.raises(ConfigurationError, match="not on this machine"):
            quick().embed(["lamp " * 9_000], "document")
    finally:
        openai_embeddings._encoding.cache_clear()


# Keys


@pytest.mark.parametrize("key", ["sk-wrong-ABCDEFGHIJKLMNOP", "plain words that are the key"])
@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_key_shows_nowhere_even_when_the_server_repeats_it(server, monkeypatch, caplog, capfd, key, status):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url.replace("//", "//ann:hunter2secret@"))
    monkeypatch.setenv("RAGLIFT_PROGRESS", "1")
    body = {"error": {"message": f"Incorrect API key provided: {key}", "code": key}}
    server.answer_next(*[Answer(status=status, body=body)] * 9)
    embedder = quick(attempts=2)
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelOutputError) as caught:
        embedder.embed(["who?"], "document")
    shown = "".join(traceback.format_exception(caught.value))
    seen = [shown, embedder.identity, repr(embedder), *capfd.readouterr(), caplog.text, repr(pickle.dumps(embedder))]
    assert "***" in shown
    for text in seen:
        assert key not in text
    for text in seen[:-2]:  # the client's own debugging log names the address as it was given
        assert "hunter2secret" not in text


def test_a_missing_key_is_told_with_where_it_goes():
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*\.env\.example.*'minilm' needs no key"):
        embedder_by_name(NAME)


def test_the_key_may_stand_in_dot_env(server, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.delenv("OPENAI_API_KEY")  # what load_dotenv sets is taken back at the end
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    assert len(embedder_by_name(NAME).embed(["who?"], "document")) == 1


def test_the_environment_wins_over_dot_env(server, tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-another-key\n", encoding="utf-8")
    assert len(embedder_by_name(NAME).embed(["who?"], "document")) == 1


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "langchain_openai", None)
    with pytest.raises(MissingDependency, match=r"pip install 'raglift\[openai\]'"):
        embedder_by_name(NAME)


@pytest.mark.slow
def test_identity_says_all_that_decides_a_vector(server, monkeypatch):
    host = server.base_url.removeprefix("http://")
    assert quick().identity == f"{NAME}:first 8191 tokens at {host}"
    assert quick(dimensions=256).identity == f"{NAME}:first 8191 tokens:256 at {host}"
    assert quick("bge-small", base_url="https://ann:secret@llm.local:8000/v1/?key=abc").identity == (
        "openai:bge-small at llm.local:8000/v1"
    )
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert quick().identity == f"{NAME}:first 8191 tokens"


def test_it_asks_for_the_dimensions_it_is_told(server):
    assert quick(dimensions=16).embed(["who?"], "query").shape == (1, 16)


def test_it_travels_to_another_process_with_its_settings_and_without_its_key(server):
    embedder = quick(dimensions=16, texts_per_request=3)
    again = pickle.loads(pickle.dumps(embedder))  # noqa: S301 — made in the line above
    assert again.identity == embedder.identity
    assert again.plan(TEXTS) == embedder.plan(TEXTS)
    np.testing.assert_array_equal(again.embed(["who?"], "query"), embedder.embed(["who?"], "query"))
