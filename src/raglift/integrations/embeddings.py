"""Embedding models by name: the embedded one, a local or hub model, or any provider that LangChain knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, SupportsIndex

from raglift.errors import ConfigurationError, MissingDependency
from raglift.indexing import Embedder, SentenceTransformerEmbedder, StaticEmbedder
from raglift.integrations._keys import load_dot_env, secrets_of, server_of
from raglift.integrations._retrying import ask_with_retries
from raglift.integrations.openai_embeddings import ADVICE, OpenAIEmbedder, checked_vectors
from raglift.models import STATIC_MODEL
from raglift.printable import encodable
from raglift.redaction import describe_error
from raglift.retries import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raglift.indexing.embedding import Kind
    from raglift.models import Dtype

__all__ = ["LangChainEmbedder", "OpenAIEmbedder", "RetryPolicy", "embedder_by_name"]

_BATCH_SIZE = 32
_PROVIDER = re.compile(r"[a-z][a-z0-9_]+:.+")


def embedder_by_name(name: str, *, dtype: Dtype = "auto") -> Embedder:
    """Return an embedding model.

    Args:
        name: `minilm` (the embedded model); `minilm-static` (static vectors distilled from it);
            `provider:model`, as `openai:text-embedding-3-small`, for any provider that
            `langchain.embeddings.init_embeddings` knows; else a folder or a hub id for sentence-transformers.
        dtype: what a sentence-transformers model computes in; `minilm-static` always computes in float32.

    Raises:
        ConfigurationError: an empty name, an unknown provider, or a provider without its API key.
        MissingDependency: LangChain, or the provider's package, is not installed.
    """
    if not name.strip():
        raise ConfigurationError("embedding: found an empty name; expected 'minilm', a path, or 'provider:model'")
    if name == STATIC_MODEL:
        return StaticEmbedder()
    if not _PROVIDER.fullmatch(name):
        return SentenceTransformerEmbedder(name, dtype=dtype)
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
        """Return one row a text.

        Raises:
            ModelOutputError: the provider failed, or returned something that is not one vector a text.
        """
        sent = [encodable(text) for text in texts]

        def ask() -> NDArray[np.float32]:
            if kind == "query":
                return checked_vectors([self._embeddings.embed_query(text) for text in sent], len(sent))
            return checked_vectors(self._embeddings.embed_documents(sent), len(sent))

        secrets = secrets_of(self._embeddings)
        return ask_with_retries(
            ask, self._retry_policy, self.name, kind="embedding model", secrets=secrets, advice=ADVICE
        )

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:  # noqa: ARG002
        """Return None: a provider does not say what it cut."""
        return None
