"""Embedding models by name, any LangChain object as one, and OpenAI's through its real client on a loopback server."""

import logging
import pickle
import sys
import traceback

import numpy as np
import pytest
import tiktoken

from raglift.adapters.embeddings import LangChainEmbedder, embedder_by_name
from raglift.errors import ConfigurationError, MissingDependency, ModelError, ModelOutputError
from raglift.retrieval.embedding import SentenceTransformerEmbedder, embed
from raglift.testing.openai_server import Answer, OpenAIServer
from raglift.utilities.cache import Cache
from raglift.utilities.retrying import RetryPolicy

pytestmark = pytest.mark.usefixtures("no_openai_settings")

NAME = "some:model"
OPENAI = "openai:text-embedding-3-small"
KEY = "sk-test-0123456789abcdef"
AT_ONCE = RetryPolicy(first_wait=0)
TEXTS = [f"{'word ' * (number % 7)}Prince number {number}" for number in range(70)]


# By name


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationError, match=r"'nope:model' cannot be used: .*Provider 'nope' is not supported"):
        embedder_by_name("nope:model")


def test_a_provider_whose_package_is_missing_names_the_package(monkeypatch):
    import langchain.embeddings.base

    with pytest.raises(ConfigurationError, match="langchain-cohere"):
        embedder_by_name("cohere:embed-v4")
    langchain.embeddings.base._get_embeddings_class_creator.cache_clear()  # an earlier test may have imported it
    monkeypatch.setitem(__import__("sys").modules, "langchain_openai", None)
    with pytest.raises(MissingDependency, match=r"pip install 'raglift\[openai\]'"):
        embedder_by_name(OPENAI)


@pytest.mark.parametrize("name", ["minilm", "sentence-transformers/all-MiniLM-L6-v2", "C:/models/mine"])
def test_other_names_are_sentence_transformers(name):
    embedder = embedder_by_name(name, dtype="float32")
    assert isinstance(embedder, SentenceTransformerEmbedder)
    assert embedder.model == name
    with pytest.raises(ConfigurationError, match=r"embedding: found . .; expected"):
        embedder_by_name(" ")


# Any LangChain object


class Embeddings:
    """A LangChain Embeddings object that answers what it was made with."""

    def __init__(self, answer, **settings):
        self.answer = answer
        self.__dict__.update(settings)

    def embed_documents(self, texts):
        return self.answer

    def embed_query(self, text):
        return self.answer[0]


@pytest.mark.parametrize("answer", [[[1.0, 2.0]], [[1.0], [1.0, 2.0]], None, [["a"], ["b"]]], ids=repr)
def test_any_embeddings_object_is_checked(answer):
    with pytest.raises(ModelError, match=r"^.*any:model"):
        LangChainEmbedder(Embeddings(answer), "any:model", retry_policy=AT_ONCE).embed(["a", "b"], "document")


def test_a_plan_holds_each_text_once_shortest_first_in_requests_of_a_size():
    texts = [f"{'x' * (number % 9)}{number}" for number in range(70)]
    plan = LangChainEmbedder(Embeddings([]), NAME).plan(texts)
    assert [len(batch) for batch in plan] == [64, 6]
    assert [text for batch in plan for text in batch] == sorted(texts, key=lambda text: (len(text), text))
    long = [f"{number} " + "lamp " * 20_000 for number in range(5)]
    assert max(sum(map(len, batch)) for batch in LangChainEmbedder(Embeddings([]), NAME).plan(long)) <= 200_000


def test_it_travels_by_name_where_it_was_made_by_name_and_else_as_it_is(monkeypatch):
    import langchain.embeddings

    class Connected(Embeddings):
        def __reduce__(self):
            raise TypeError("holds a connection")

    monkeypatch.setattr(langchain.embeddings, "init_embeddings", lambda name: Connected([[3.0]]))
    by_name = pickle.loads(pickle.dumps(embedder_by_name(NAME)))  # noqa: S301 — made here
    assert (by_name.name, by_name.embed(["a"], "query").tolist()) == (NAME, [[3.0]])
    again = pickle.loads(pickle.dumps(LangChainEmbedder(Embeddings([[1.0]]), NAME)))  # noqa: S301 — made here
    assert again.embed(["a"], "query").tolist() == [[1.0]]


def test_identity_says_all_that_decides_a_vector_and_nothing_secret(monkeypatch):
    def identity(**settings):
        return LangChainEmbedder(Embeddings([], **settings), NAME).identity

    assert identity() == f"langchain:{NAME}"
    assert identity(dimensions=256) == f"langchain:{NAME}:256"
    assert identity(openai_api_base="https://ann:secret@llm.local:8000/v1/?key=abc") == (
        f"langchain:{NAME} at llm.local:8000/v1"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert identity(openai_api_base=None) == f"langchain:{NAME} at 127.0.0.1:9/v1"


# OpenAI's client


@pytest.fixture
def server(monkeypatch):
    def refuse(*_):
        raise AssertionError("an encoding was looked for on the network")

    monkeypatch.setattr(tiktoken, "get_encoding", refuse)
    monkeypatch.setattr(tiktoken, "encoding_for_model", refuse)
    with OpenAIServer(key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


def quick(attempts=4, longest_wait=5.0):
    return LangChainEmbedder.by_name(OPENAI, retry_policy=RetryPolicy(attempts, longest_wait, first_wait=0.01))


@pytest.mark.slow
def test_vectors_are_the_servers_in_order_and_the_second_run_asks_nothing(server, tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    first = embed(quick(), TEXTS, "document", cache)
    assert first.computed == 70
    assert len(server.requests) == 2
    rows = server.paths["/v1/embeddings"]({"input": TEXTS[:5]}, Answer())["data"]
    for row, vector in zip(rows, first.vectors, strict=False):
        np.testing.assert_allclose(vector, row["embedding"], rtol=1e-6)
    cache.close()
    second = embed(quick(), TEXTS, "document", Cache(tmp_path / "cache.sqlite"))
    assert (len(server.requests), second.computed) == (2, 0)
    np.testing.assert_array_equal(second.vectors, first.vectors)
    embed(quick(), TEXTS[:9], "query", Cache(None))
    assert len(server.requests) == 3  # queries go together too


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=429, headers={"Retry-After": "0.05"}),
        Answer(status=503),
        Answer(cut_off=True),
        Answer(body=b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"}),
        Answer(vectors="fewer"),
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


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_does_not_pass_is_asked_once(server, status):
    server.answer_next(Answer(status=status))
    with pytest.raises(ModelOutputError, match=r"openai:text-embedding-3-small failed: \w+Error: .*run again"):
        quick().embed(["who?"], "query")
    assert len(server.requests) == 1


@pytest.mark.slow
def test_finished_batches_are_kept_and_not_asked_for_again(server, tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    server.answer_next(Answer(), Answer(status=400))
    with pytest.raises(ModelOutputError, match="batches before are kept: run again"):
        embed(quick(), TEXTS, "document", cache)
    finished = server.requests[0].body["input"]
    server.requests.clear()
    assert embed(quick(), TEXTS, "document", cache).computed == 70 - len(finished) == 64
    assert sorted([*finished, *server.inputs]) == sorted(TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "sent"), [("", " "), ("a\ud800", "a\ufffd"), ("<|endoftext|>", "<|endoftext|>")])
def test_texts_that_a_server_refuses_are_made_acceptable(server, text, sent):
    assert np.isfinite(quick().embed([text], "document")).all()
    assert server.inputs == [sent]


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 500])
def test_a_key_shows_nowhere_even_when_the_server_repeats_it(server, monkeypatch, caplog, capfd, status):
    key = "plain words that are the key"
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


@pytest.mark.slow
def test_the_key_is_of_the_environment_else_of_dot_env(server, monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-another-key\n", encoding="utf-8")
    assert len(embedder_by_name(OPENAI).embed(["who?"], "document")) == 1
    monkeypatch.delenv("OPENAI_API_KEY")
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    assert len(embedder_by_name(OPENAI).embed(["who?"], "document")) == 1
    monkeypatch.delenv("OPENAI_API_KEY")
    (tmp_path / ".env").unlink()
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*\.env\.example.*'bge-small' needs no key"):
        embedder_by_name(OPENAI)


def test_without_langchain_its_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.embeddings", None)
    with pytest.raises(MissingDependency, match="langchain"):
        embedder_by_name("cohere:embed-v4")
