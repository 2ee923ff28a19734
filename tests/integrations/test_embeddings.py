"""Embedding models by name: OpenAI's real client against a small server on this machine."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import llama_index.core
import numpy as np
import pytest

from raglift.cache import Cache
from raglift.errors import ConfigurationError, MissingDependency, ModelError
from raglift.indexing import SentenceTransformerEmbedder
from raglift.indexing.embedding import embed
from raglift.integrations.embeddings import LangChainEmbedder, embedder_by_name

NAME = "openai:text-embedding-3-small"
KEY = "sk-test-0123456789abcdef"


def vector_of(text_or_tokens):
    """What the server makes of an input: something that tells any two inputs apart."""
    numbers = [ord(letter) for letter in text_or_tokens] if isinstance(text_or_tokens, str) else text_or_tokens
    return [1.0, float(len(numbers)), float(sum(numbers)), float(numbers[0])]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body))
        if self.server.answer is not None:
            self.reply(*self.server.answer)
        elif self.headers["Authorization"] != f"Bearer {KEY}":
            found = self.headers["Authorization"]
            self.reply(401, {"error": {"message": f"Incorrect API key provided: {found}", "code": "invalid_api_key"}})
        else:
            self.reply(200, self.embeddings(body))

    def embeddings(self, body):
        inputs = body["input"]
        inputs = [inputs] if isinstance(inputs, str) or isinstance(inputs[0], int) else inputs
        data = []
        for index, given in enumerate(inputs):
            vector = vector_of(given)
            if body.get("encoding_format") == "base64":
                vector = base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()
            data.append({"object": "embedding", "index": index, "embedding": vector})
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}

    def reply(self, status, answer):
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch, tmp_path):
    """No key, no proxy, no .env; tiktoken's encodings from the copy that LlamaIndex carries."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    encodings = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(encodings))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server(monkeypatch):
    """A server that speaks /v1/embeddings; `requests` holds what it was asked, `answer` replaces its answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests = []
    server.answer = None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def inputs_of(server):
    return [given for _, body in server.requests for given in body["input"]]


def unit(vectors):
    vectors = np.array(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


TEXTS = [f"{'word ' * (number % 7)}Prince number {number}" for number in range(70)]


def test_vectors_come_back_in_order_and_the_second_run_asks_nothing(server, tmp_path):
    embedder = embedder_by_name(NAME)
    cache = Cache(tmp_path / "cache.sqlite")
    first = embed(embedder, TEXTS, "document", cache)
    assert first.computed == 70
    assert first.read_in_part is None
    assert {path for path, _ in server.requests} == {"/v1/embeddings"}
    assert {body["model"] for _, body in server.requests} == {"text-embedding-3-small"}
    assert all(len(body["input"]) <= 32 for _, body in server.requests)
    by_text = {text: embed(embedder, [text], "document", Cache(None)).vectors[0] for text in TEXTS[:5]}
    for text, vector in zip(TEXTS[:5], first.vectors, strict=False):
        np.testing.assert_allclose(vector, by_text[text], rtol=1e-6)
    asked = len(server.requests)
    cache.close()
    second = embed(embedder_by_name(NAME), TEXTS, "document", Cache(tmp_path / "cache.sqlite"))
    assert len(server.requests) == asked
    assert second.computed == 0
    np.testing.assert_array_equal(second.vectors, first.vectors)


def test_the_vectors_are_the_servers(server):
    (vector,) = embed(embedder_by_name(NAME), ["Prince"], "document", Cache(None)).vectors
    (tokens,) = inputs_of(server)
    np.testing.assert_allclose(vector, unit([vector_of(tokens)])[0], rtol=1e-6)


def test_queries_are_embedded_apart_from_documents(server, tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    embedder = embedder_by_name(NAME)
    embed(embedder, ["who?"], "document", cache)
    assert embed(embedder, ["who?", "when?"], "query", cache).computed == 2
    assert embed(embedder, ["who?", "when?"], "query", cache).computed == 0


def test_a_wrong_key_is_told_without_the_key(server, monkeypatch):
    wrong = "sk-wrong-ABCDEFGHIJKLMNOP"
    monkeypatch.setenv("OPENAI_API_KEY", wrong)
    embedder = embedder_by_name(NAME)
    with pytest.raises(ModelError, match=r"text-embedding-3-small failed: AuthenticationError: .*401") as caught:
        embed(embedder, ["who?"], "document", Cache(None))
    assert wrong not in str(caught.value)
    assert "ABCDEFGH" not in str(caught.value)
    assert "***" in str(caught.value)


def test_a_missing_key_is_told_with_where_it_goes():
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*\.env\.example.*'minilm' needs no key"):
        embedder_by_name(NAME)


def test_the_key_may_stand_in_dot_env(server, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.delenv("OPENAI_API_KEY")  # what load_dotenv sets is taken back at the end
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    assert embed(embedder_by_name(NAME), ["who?"], "document", Cache(None)).computed == 1


def test_the_environment_wins_over_dot_env(server, tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-another-key\n", encoding="utf-8")
    assert embed(embedder_by_name(NAME), ["who?"], "document", Cache(None)).computed == 1


def test_finished_batches_are_kept_when_a_later_one_fails(server, tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    handle = Handler.embeddings
    served = []

    def fail_at_the_second(self, body):
        served.append(body)
        if len(served) == 2:
            self.server.answer = (400, {"error": {"message": "quota", "code": "insufficient_quota"}})
            return {}
        return handle(self, body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Handler, "embeddings", fail_at_the_second)
        with pytest.raises(ModelError, match="batches before are kept: run again"):
            embed(embedder_by_name(NAME), TEXTS, "document", cache)
    server.answer = None
    assert embed(embedder_by_name(NAME), TEXTS, "document", cache).computed == 70 - 6  # batches of 32, 32 and 6


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"object": "embedding", "index": 0, "embedding": [1.0, float("nan")]}],
    ],
    ids=["none", "nan"],
)
def test_what_is_not_one_vector_a_text_is_refused(server, data):
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    server.answer = (200, {"object": "list", "data": data, "model": "m", "usage": usage})
    with pytest.raises(ModelError, match="text-embedding-3-small"):
        embedder_by_name(NAME).embed(["who?"], "document")


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationError, match=r"'nope:model' cannot be used: .*Provider 'nope' is not supported"):
        embedder_by_name("nope:model")


def test_a_provider_whose_package_is_missing_names_the_package():
    with pytest.raises(ConfigurationError, match="langchain-cohere"):
        embedder_by_name("cohere:embed-v4")


def test_openai_without_its_package_names_the_extra(monkeypatch):
    import langchain.embeddings

    def missing(name):
        raise ImportError("Could not import langchain-openai python package")

    monkeypatch.setattr(langchain.embeddings, "init_embeddings", missing)
    with pytest.raises(MissingDependency, match=r"pip install 'raglift\[openai\]'"):
        embedder_by_name(NAME)


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_refused(name):
    with pytest.raises(ConfigurationError, match="found an empty name"):
        embedder_by_name(name)


@pytest.mark.parametrize(
    "name", ["minilm", "sentence-transformers/all-MiniLM-L6-v2", "./models/mine", "C:/models/mine"]
)
def test_other_names_are_sentence_transformers(name):
    embedder = embedder_by_name(name, dtype="float32")
    assert isinstance(embedder, SentenceTransformerEmbedder)
    assert embedder.model == name


class Embeddings:
    """A LangChain Embeddings object that answers what it was made with."""

    def __init__(self, answer, **settings):
        self.answer = answer
        self.__dict__.update(settings)

    def embed_documents(self, texts):
        return self.answer

    def embed_query(self, text):
        return self.answer[0]


@pytest.mark.parametrize("answer", [[[1.0, 2.0]], [[1.0], [1.0, 2.0]], [1.0, 2.0], None, [["a"], ["b"]]], ids=repr)
def test_any_embeddings_object_is_checked(answer):
    with pytest.raises(ModelError, match=r"^.*any:model"):
        LangChainEmbedder(Embeddings(answer), "any:model").embed(["a", "b"], "document")


def test_identity_says_all_that_decides_a_vector_and_nothing_secret(monkeypatch):
    def identity(**settings):
        return LangChainEmbedder(Embeddings([], **settings), NAME).identity

    assert identity() == f"langchain:{NAME}"
    assert identity(dimensions=256) == f"langchain:{NAME}:256"
    assert identity(openai_api_base=None) == f"langchain:{NAME}"
    assert identity(openai_api_base="https://ann:secret@llm.local:8000/v1/?key=abc") == (
        f"langchain:{NAME} at llm.local:8000/v1"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert identity(openai_api_base=None) == f"langchain:{NAME} at 127.0.0.1:9/v1"
