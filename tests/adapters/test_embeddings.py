"""Embedding models by name, and any LangChain object as one."""

import pickle

import pytest

from raglift.adapters.embeddings import LangChainEmbedder, OpenAIEmbedder, embedder_by_name
from raglift.errors import ConfigurationError, ModelError
from raglift.retrieval.embedding import SentenceTransformerEmbedder
from raglift.retrieval.static_model import StaticEmbedder
from raglift.utilities.retrying import RetryPolicy

NAME = "some:model"


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch, tmp_path):
    """No server, no .env."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationError, match=r"'nope:model' cannot be used: .*Provider 'nope' is not supported"):
        embedder_by_name("nope:model")


def test_a_provider_whose_package_is_missing_names_the_package():
    with pytest.raises(ConfigurationError, match="langchain-cohere"):
        embedder_by_name("cohere:embed-v4")


@pytest.mark.slow
def test_openai_goes_by_its_own_embedder(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    assert isinstance(embedder_by_name("openai:text-embedding-3-small"), OpenAIEmbedder)
    assert isinstance(embedder_by_name("minilm-static"), StaticEmbedder)


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


AT_ONCE = RetryPolicy(first_wait=0)


@pytest.mark.parametrize("answer", [[[1.0, 2.0]], [[1.0], [1.0, 2.0]], [1.0, 2.0], None, [["a"], ["b"]]], ids=repr)
def test_any_embeddings_object_is_checked(answer):
    with pytest.raises(ModelError, match=r"^.*any:model"):
        LangChainEmbedder(Embeddings(answer), "any:model", retry_policy=AT_ONCE).embed(["a", "b"], "document")


def test_an_error_that_passes_is_asked_again():
    class Flaky(Embeddings):
        failures = 2

        def embed_documents(self, texts):
            if self.failures:
                self.failures -= 1
                raise TimeoutError
            return self.answer

    embedder = LangChainEmbedder(Flaky([[1.0], [2.0]]), "any:model", retry_policy=AT_ONCE)
    assert embedder.embed(["a", "b"], "document").tolist() == [[1.0], [2.0]]


def test_a_plan_holds_each_text_once_shortest_first():
    texts = [f"{'x' * (number % 9)}{number}" for number in range(70)]
    plan = LangChainEmbedder(Embeddings([]), NAME).plan(texts)
    assert [len(batch) for batch in plan] == [32, 32, 6]
    assert [text for batch in plan for text in batch] == sorted(texts, key=lambda text: (len(text), text))


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
    assert identity(openai_api_base=None) == f"langchain:{NAME}"
    assert identity(openai_api_base="https://ann:secret@llm.local:8000/v1/?key=abc") == (
        f"langchain:{NAME} at llm.local:8000/v1"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert identity(openai_api_base=None) == f"langchain:{NAME} at 127.0.0.1:9/v1"
