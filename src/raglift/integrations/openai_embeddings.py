"""OpenAI's embedding models, and those of servers that speak its language, through langchain-openai's client."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.chunking.encodings import DEFAULT_ENCODING, Encoding, load_encoding
from raglift.errors import ConfigurationError, MissingDependency
from raglift.integrations._keys import load_dot_env, secrets_of, server_of
from raglift.integrations._retrying import ask_with_retries
from raglift.integrations.prices import PRICES, CostEstimate, dollars_of
from raglift.printable import encodable
from raglift.redaction import describe_error
from raglift.retries import BadReply, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.indexing.embedding import Kind

__all__ = ["ADVICE", "OpenAIEmbedder", "checked_vectors", "count_tokens"]

_MOST_TOKENS = 8191
_TEXTS_PER_REQUEST = 256
_TEXTS_PER_REQUEST_ELSEWHERE = 32
_TOKENS_PER_REQUEST = 100_000
# tiktoken breaks down on a million spaces in a row
_MOST_CHARACTERS = 100_000
_SECONDS = 60.0
ADVICE = "The vectors of the batches before are kept: run again to go on from there"
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
        self._limit = _MOST_TOKENS if model in PRICES else None
        default = _TEXTS_PER_REQUEST if model in PRICES else _TEXTS_PER_REQUEST_ELSEWHERE
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

    @property
    def dollars_billed(self) -> float | None:
        """What these tokens cost at the list price, in US dollars; None where it is not known."""
        return dollars_of(self.model, self.tokens_billed)

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
        """Return one row a text.

        Raises:
            ModelOutputError: the server failed, or returned something that is not one vector a text.
        """
        sent = [self._sent(text) for text in texts]

        def ask() -> NDArray[np.float32]:
            return checked_vectors(self._embeddings.embed_documents(sent), len(sent))

        secrets = secrets_of(self._embeddings)
        return ask_with_retries(
            ask, self._retry_policy, self.name, kind="embedding model", secrets=secrets, advice=ADVICE
        )

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        """Return which texts are cut; None for a model whose limit is not known."""
        return None if self._limit is None else [self._is_cut(text) for text in texts]

    def estimate(self, texts: Sequence[str], *, prices: Mapping[str, float] | None = None) -> CostEstimate:
        """Return what it would cost to embed texts, each distinct one once; nothing is sent.

        Tokens are those of cl100k_base, OpenAI's encoding for these models; where it is not on this machine, a third
        of the bytes.

        Args:
            texts: any number of texts.
            prices: US dollars per million tokens by model, before the list prices.
        """
        distinct = set(texts)
        tokens = sum(map(self._tokens, distinct))
        price = dollars_of(self.model, 1_000_000, prices)
        return CostEstimate(len(distinct), tokens, dollars_of(self.model, tokens, prices), price)

    def _tokens(self, text: str) -> int:
        tokens = count_tokens(text)
        return tokens if self._limit is None else min(tokens, self._limit)

    def _is_cut(self, text: str) -> bool:
        # A token has at least one byte, so most texts need no counting
        if self._limit is None or len(encodable(text).encode()) <= self._limit:
            return False
        return len(text) > _MOST_CHARACTERS or load_encoding(DEFAULT_ENCODING).count(text) > self._limit

    def _sent(self, text: str) -> str:
        """Return what is sent for a text: its beginning, a space for an empty one (OpenAI refuses empty texts)."""
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
    """Return the encoding of OpenAI's embedding models; None where it is not on this machine."""
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
    """Return the longest beginning of a text that surely has at most `limit` tokens, and 100,000 characters."""
    encoding = load_encoding(DEFAULT_ENCODING)
    text = text[:_MOST_CHARACTERS]
    edges = encoding.edges(text)
    end = min(limit, len(edges) - 1)
    while encoding.count(text[: edges[end]]) > limit:  # what was one token may be several where it is cut
        end -= 1
    return text[: edges[end]]
