"""Embedding models by name: the embedded one, a local or hub model, or any provider that LangChain knows."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from raglift.errors import ConfigurationError, MissingDependency, ModelOutputError
from raglift.execution.policy import describe_error
from raglift.indexing import Embedder, SentenceTransformerEmbedder, StaticEmbedder
from raglift.indexing.embedding import batches_by_length
from raglift.models import STATIC_MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.indexing.embedding import Kind
    from raglift.models import Dtype

__all__ = ["LangChainEmbedder", "embedder_by_name"]

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
    try:
        from langchain.embeddings import init_embeddings
    except ImportError as error:
        raise MissingDependency(error.name or "langchain", "langchain", f"the embedding model {name}") from None
    _load_dot_env()
    try:
        return LangChainEmbedder(init_embeddings(name), name)
    except Exception as error:
        if isinstance(error, ImportError) and name.startswith("openai:"):
            raise MissingDependency("langchain_openai", "openai", f"the embedding model {name}") from None
        raise ConfigurationError(
            f"embedding: {name!r} cannot be used: {describe_error(error)}. Is the provider's API key in the "
            "environment or in .env (see .env.example)? 'minilm' needs no key"
        ) from error


class LangChainEmbedder:
    """A LangChain `Embeddings` object as an Embedder.

    Args:
        embeddings: the LangChain object.
        name: what it is, as `openai:text-embedding-3-small`; part of the cache key.
    """

    def __init__(self, embeddings: Any, name: str) -> None:
        self._embeddings = embeddings
        self._server = _server_of(embeddings)
        self.name = name

    @property
    def identity(self) -> str:
        """The provider, the model, and, where they are set, the number of dimensions asked for and the server."""
        dimensions = getattr(self._embeddings, "dimensions", None)
        server = f" at {self._server}" if self._server else ""
        return f"langchain:{self.name}" + (f":{dimensions}" if dimensions else "") + server

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        """Sort by characters: what a provider counts is not known."""
        return batches_by_length(texts, [len(text) for text in texts])

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one row a text.

        Raises:
            ModelOutputError: the provider failed, or returned something that is not one vector a text.
        """
        try:
            if kind == "query":
                vectors = [self._embeddings.embed_query(text) for text in texts]
            else:
                vectors = self._embeddings.embed_documents(list(texts))
            rows = np.asarray(vectors, dtype=np.float32)
        except Exception as error:
            raise ModelOutputError(
                f"the embedding model {self.name} failed: {describe_error(error)}. "
                "The vectors of the batches before are kept: run again to go on from there"
            ) from error
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise ModelOutputError(
                f"{self.name}: found vectors of shape {rows.shape}; expected {len(texts)} rows of numbers"
            )
        return rows

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:  # noqa: ARG002
        """Return None: a provider does not say what it cut."""
        return None


def _server_of(embeddings: Any) -> str:
    """Return which OpenAI-compatible server is asked, without what may be secret in its address; "" for OpenAI's."""
    if not hasattr(embeddings, "openai_api_base"):
        return ""
    address = urlsplit(embeddings.openai_api_base or os.environ.get("OPENAI_BASE_URL") or "")
    return address.netloc.rpartition("@")[2] + address.path.rstrip("/")


def _load_dot_env() -> None:
    """Read `.env` of the working directory, if python-dotenv is installed; the environment wins."""
    try:
        from dotenv import load_dotenv
    except ImportError:
        return
    load_dotenv(".env")
