"""Embedding models by name, among them those of OpenAI and of other providers."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from raglift.errors import ConfigurationError, MissingDependency
from raglift.llm.dot_env import load_dot_env
from raglift.llm.replies import secrets_of, server_of
from raglift.retrieval.batches import BATCH_SIZE
from raglift.retrieval.embedding import Embedder, SentenceTransformerEmbedder
from raglift.retrieval.models import STATIC_MODEL
from raglift.retrieval.static_model import StaticEmbedder
from raglift.text.tokens import DEFAULT_ENCODING, Encoding, load_encoding
from raglift.utilities.display import describe_error, encodable
from raglift.utilities.retrying import BadReply, RetryPolicy, ask_with_retries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.retrieval.devices import Dtype
    from raglift.retrieval.embedding import Kind


# Embedding models of OpenAI and of OpenAI-compatible servers, through langchain-openai's client.


_MODELS_OF_OPENAI = ("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002")
_MOST_TOKENS = 8191
_TEXTS_PER_REQUEST = 256
_TEXTS_PER_REQUEST_ELSEWHERE = 32
_TOKENS_PER_REQUEST = 100_000
# tiktoken breaks down on a million spaces in a row
_MOST_CHARACTERS = 100_000
_SECONDS = 60.0
_ADVICE = "The vectors of the batches before are kept: run again to go on from there"
"""What a message says after a failure."""


class OpenAIEmbedder:
    """An embedding model that is asked over HTTP in OpenAI's language, and asked again when it has a bad moment.

    OpenAI's own models read 8,191 tokens: a longer text is cut there (or at 100,000 characters) and counted as read in
    part. What other models read is not known: their server gets the whole text. The API key comes from
    `OPENAI_API_KEY`, in the environment or in `.env`.

    Args:
        model: its name, as `text-embedding-3-small`.
        base_url: the server; by default `OPENAI_BASE_URL`, else OpenAI's.
        dimensions: how many to ask for; None for all that the model has.
        retry_policy: how often a request is made again, and how long is waited before.
        timeout: the most seconds for one request.
        texts_per_request: the most texts in one request; by default 256 for OpenAI's models, 32 for others.

    Raises:
        ConfigurationError: there is no API key, or a setting cannot be used.
        MissingDependency: langchain-openai is not installed.
    """

    is_remote = True
    """Whether a provider is asked: its limits are those of a key, whoever asks."""
    batches_queries = True
    """Whether queries may be embedded many at a time: a vector does not depend on what else is in the request."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        dimensions: int | None = None,
        retry_policy: RetryPolicy | None = None,
        timeout: float = _SECONDS,
        texts_per_request: int | None = None,
    ) -> None:
        self.model = model
        self._settings = {"base_url": base_url, "dimensions": dimensions, "timeout": timeout}
        self._retry_policy = retry_policy or RetryPolicy()
        self._limit = _MOST_TOKENS if model in _MODELS_OF_OPENAI else None
        default = _TEXTS_PER_REQUEST if model in _MODELS_OF_OPENAI else _TEXTS_PER_REQUEST_ELSEWHERE
        self._texts_per_request = texts_per_request or default
        self._embeddings = _client(model, self._settings)
        self._meter = _Meter(self._embeddings.client)
        self._embeddings.client = self._meter
        self._server = server_of(self._embeddings)

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings without the client and the key: another process reads its own environment."""
        settings = {"retry_policy": self._retry_policy, "texts_per_request": self._texts_per_request, **self._settings}
        return {"model": self.model, "settings": settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OpenAIEmbedder.__init__(self, state["model"], **state["settings"])

    @property
    def name(self) -> str:
        """As `openai:text-embedding-3-small`."""
        return f"openai:{self.model}"

    @property
    def identity(self) -> str:
        """The model, how much of a text it reads, the number of dimensions where it is set, and the server."""
        read = f":first {self._limit} tokens" if self._limit else ""
        dimensions = f":{self._settings['dimensions']}" if self._settings["dimensions"] else ""
        return f"{self.name}{read}{dimensions}" + (f" at {self._server}" if self._server else "")

    @property
    def tokens_billed(self) -> int:
        """How many tokens the server has said to bill so far, in this process; replies that do not say count none."""
        return self._meter.tokens

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Sort by tokens, into requests well below what OpenAI takes (2,048 texts, 300,000 tokens)."""
        counted = sorted((self._tokens(text), text) for text in texts)
        batches: list[list[str]] = []
        room = 0
        for tokens, text in counted:
            if not batches or tokens > room or len(batches[-1]) == self._texts_per_request:
                batches.append([])
                room = _TOKENS_PER_REQUEST
            batches[-1].append(text)
            room -= tokens
        return batches

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002 — one for both
        """Return one row per text.

        Raises:
            ModelOutputError: the server failed, or returned something that is not one vector a text.
        """
        sent = [self._sent(text) for text in texts]

        def ask() -> NDArray[np.float32]:
            return checked_vectors(self._embeddings.embed_documents(sent), len(sent))

        return _asked(ask, self._embeddings, self._retry_policy, self.name)

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        """Return which texts are cut; None for a model whose limit is not known."""
        return None if self._limit is None else [self._is_cut(text) for text in texts]

    def estimate(self, texts: Sequence[str]) -> int:
        """Return how many tokens would be billed for texts, each distinct one embedded once; nothing is sent.

        Tokens are those of cl100k_base, OpenAI's encoding for these models; if it is not on this machine, a third of
        the bytes.
        """
        return sum(map(self._tokens, set(texts)))

    def _tokens(self, text: str) -> int:
        tokens = count_tokens(text)
        return tokens if self._limit is None else min(tokens, self._limit)

    def _is_cut(self, text: str) -> bool:
        # A token has at least one byte, so most texts need no counting
        if self._limit is None or len(encodable(text).encode()) <= self._limit:
            return False
        return len(text) > _MOST_CHARACTERS or load_encoding(DEFAULT_ENCODING).count(text) > self._limit

    def _sent(self, text: str) -> str:
        """Return what is sent for a text: its prefix, a space for an empty one (OpenAI refuses empty texts)."""
        if self._limit is not None and self._is_cut(text):
            text = _beginning(text, self._limit)
        return encodable(text) or " "


class _Meter:
    """What langchain-openai asks in the place of OpenAI's client: it hands on, counts tokens, and looks at replies."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._counting = threading.Lock()
        self.tokens = 0

    def create(self, **request: Any) -> Any:
        try:
            reply = self._client.create(**request)
            rows, usage = list(reply.data), reply.usage
        except (ValueError, TypeError, AttributeError) as error:  # no JSON, or not of this form
            raise BadReply(f"the reply is not what was asked for ({type(error).__name__}: {error})") from error
        with self._counting:
            self.tokens += getattr(usage, "total_tokens", None) or 0
        if [row.index for row in rows] != (order := list(range(len(rows)))) and sorted(r.index for r in rows) == order:
            reply.data = sorted(rows, key=lambda row: row.index)  # langchain-openai takes them as they come
        return reply


def _asked(ask: Callable[[], NDArray[np.float32]], model: Any, policy: RetryPolicy, name: str) -> NDArray[np.float32]:
    return ask_with_retries(ask, policy, name, kind="embedding model", secrets=secrets_of(model), advice=_ADVICE)


def checked_vectors(vectors: Any, count: int) -> NDArray[np.float32]:
    """Return vectors as an array of `count` rows.

    Raises:
        BadReply: they are not one vector of numbers a text, all of the same length.
    """
    try:
        rows = np.asarray(vectors, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise BadReply(f"found what is no table of numbers; expected {count} rows of numbers") from error
    if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
        what = "vectors with numbers that are not finite, of" if rows.ndim == 2 and len(rows) == count else "vectors of"
        raise BadReply(f"found {what} shape {rows.shape}; expected {count} rows of numbers")
    return rows


def _client(model: str, settings: Mapping[str, Any]) -> Any:
    """Return langchain-openai's client. Cutting, batching and asking again are done here, not by it."""
    name = f"openai:{model}"
    try:
        from langchain_openai import OpenAIEmbeddings
    except ImportError:
        raise MissingDependency("langchain_openai", "openai", f"the embedding model {name}") from None
    load_dot_env()
    given = {key: value for key, value in settings.items() if value is not None}
    try:
        # check_embedding_ctx_length would average the pieces of a long text, and download an encoding to cut it
        return OpenAIEmbeddings(model=model, check_embedding_ctx_length=False, max_retries=0, chunk_size=2048, **given)
    except Exception as error:  # noqa: BLE001 — of the client, or of pydantic
        reason = describe_error(error)
    raise ConfigurationError(
        f"embedding: {name!r} cannot be used: {reason}. Is the provider's API key in the environment or in .env "
        "(see .env.example; any text for a server that asks for none)? 'minilm' needs no key"
    )


@lru_cache(maxsize=1)
def _encoding() -> Encoding | None:
    """Return the encoding of OpenAI's embedding models; None if it is not on this machine."""
    try:
        return load_encoding(DEFAULT_ENCODING)
    except ConfigurationError:
        return None


def count_tokens(text: str) -> int:
    """Return how many tokens a text has, by its bytes where the encoding is not on this machine."""
    encoding = _encoding()
    if encoding is None:
        return -(-len(encodable(text).encode()) // 3)
    parts = range(0, len(text), _MOST_CHARACTERS)
    return sum(encoding.count(text[begin : begin + _MOST_CHARACTERS]) for begin in parts)


def _beginning(text: str, limit: int) -> str:
    """Return the longest prefix of a text that surely has at most `limit` tokens, and 100,000 characters."""
    encoding = load_encoding(DEFAULT_ENCODING)
    text = text[:_MOST_CHARACTERS]
    edges = encoding.edges(text)
    end = min(limit, len(edges) - 1)
    while encoding.count(text[: edges[end]]) > limit:  # what was one token may be several where it is cut
        end -= 1
    return text[: edges[end]]


# Embedding models by name: the embedded one, a local or hub model, or any provider that LangChain supports.


_BATCH_SIZE = 32
_PROVIDER = re.compile(r"[a-z][a-z0-9_]+:.+")


def is_of_provider(name: str) -> bool:
    """Whether a name is `provider:model`: a model that is asked for over the network."""
    return _PROVIDER.fullmatch(name) is not None


def embedder_by_name(
    name: str, *, dtype: Dtype = "auto", device: str = "auto", batch_size: int = BATCH_SIZE
) -> Embedder:
    """Return an embedding model.

    Args:
        name: `minilm` (the embedded model); `minilm-static` (static vectors distilled from it);
            `provider:model`, as `openai:text-embedding-3-small`, for any provider that
            `langchain.embeddings.init_embeddings` knows; else a folder or a hub id for sentence-transformers.
        dtype: what a sentence-transformers model computes in; `minilm-static` always computes in float32.
        device: where such a model computes; `minilm-static` always uses the CPU.
        batch_size: how many texts a batch of it may have.

    Raises:
        ConfigurationError: an empty name, an unknown provider, a provider without its API key, or a device that
            is not there.
        MissingDependency: LangChain, or the provider's package, is not installed.
    """
    if not name.strip():
        raise ConfigurationError("embedding: found an empty name; expected 'minilm', a path, or 'provider:model'")
    if name == STATIC_MODEL:
        return StaticEmbedder()
    if not is_of_provider(name):
        return SentenceTransformerEmbedder(name, dtype=dtype, device=device, batch_size=batch_size)
    provider, _, model = name.partition(":")
    return OpenAIEmbedder(model) if provider == "openai" else LangChainEmbedder.by_name(name)


def _by_provider(name: str) -> Any:
    """Return the LangChain object for `provider:model`."""
    try:
        from langchain.embeddings import init_embeddings
    except ImportError as error:
        raise MissingDependency(error.name or "langchain", "langchain", f"the embedding model {name}") from None
    load_dot_env()
    try:
        return init_embeddings(name)
    except Exception as error:  # noqa: BLE001 — of the provider's package
        reason = describe_error(error)
    raise ConfigurationError(
        f"embedding: {name!r} cannot be used: {reason}. Is the provider's API key in the environment or in .env "
        "(see .env.example)? 'minilm' needs no key"
    )


class LangChainEmbedder:
    """A LangChain `Embeddings` object as an Embedder.

    Args:
        embeddings: the LangChain object.
        name: what it is, as `cohere:embed-v4.0`; part of the cache key.
        retry_policy: how often a request is made again, and how long is waited before.
    """

    is_remote = True
    """Whether a provider is asked: its limits are those of a key, whoever asks."""

    def __init__(self, embeddings: Any, name: str, *, retry_policy: RetryPolicy | None = None) -> None:
        self._embeddings = embeddings
        self._retry_policy = retry_policy or RetryPolicy()
        self._server = server_of(embeddings)
        self._made_by_name = False
        self.name = name

    @classmethod
    def by_name(cls, name: str) -> LangChainEmbedder:
        """Return the model that LangChain makes of `provider:model`.

        Raises:
            ConfigurationError: the provider is not known, or has no API key.
            MissingDependency: LangChain is not installed.
        """
        embedder = cls(_by_provider(name), name)
        embedder._made_by_name = True
        return embedder

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Travel to another process by name where it was made by name: the object may hold connections, and the key."""
        return (LangChainEmbedder.by_name, (self.name,)) if self._made_by_name else super().__reduce_ex__(protocol)

    @property
    def identity(self) -> str:
        """The provider, the model, and, where they are set, the number of dimensions asked for and the server."""
        dimensions = getattr(self._embeddings, "dimensions", None)
        server = f" at {self._server}" if self._server else ""
        return f"langchain:{self.name}" + (f":{dimensions}" if dimensions else "") + server

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Sort by characters: what a provider counts is not known."""
        ordered = sorted(texts, key=lambda text: (len(text), text))
        return [ordered[begin : begin + _BATCH_SIZE] for begin in range(0, len(ordered), _BATCH_SIZE)]

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one row per text.

        Raises:
            ModelOutputError: the provider failed, or returned something that is not one vector a text.
        """
        sent = [encodable(text) for text in texts]

        def ask() -> NDArray[np.float32]:
            if kind == "query":
                return checked_vectors([self._embeddings.embed_query(text) for text in sent], len(sent))
            return checked_vectors(self._embeddings.embed_documents(sent), len(sent))

        return _asked(ask, self._embeddings, self._retry_policy, self.name)

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:  # noqa: ARG002
        """Return None: a provider does not say what it cut."""
        return None
