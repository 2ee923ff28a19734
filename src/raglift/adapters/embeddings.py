"""Embedding models by name, among them those of OpenAI and of other providers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError, MissingDependency
from raglift.llm.dot_env import load_dot_env
from raglift.llm.replies import is_of, secrets_of, server_of
from raglift.retrieval.batches import BATCH_SIZE
from raglift.retrieval.embedding import Embedder, Kind, SentenceTransformerEmbedder
from raglift.retrieval.models import EMBEDDED_MODEL, MINILM, nearly
from raglift.retrieval.onnx_files import is_onnx_model
from raglift.retrieval.onnx_models import OnnxEmbedder
from raglift.utilities.display import describe_error, encodable
from raglift.utilities.retrying import BadReply, RetryPolicy, ask_with_retries

if TYPE_CHECKING:
    from raglift.retrieval.devices import Dtype


_TEXTS_PER_REQUEST = 64
_CHARACTERS_PER_REQUEST = 200_000
"""OpenAI takes 300,000 tokens a request."""
_SECONDS = 60.0
_PROVIDER = re.compile(r"[a-z][a-z0-9_]+:.+")
_ADVICE = "The vectors of the batches before are kept: run again to go on from there"
"""What a message says after a failure."""
# The exceptions that clients raise on a malformed reply
_NOT_READ = (ValueError, TypeError, KeyError, AttributeError)


def embedder_by_name(
    name: str, *, dtype: Dtype = "auto", device: str = "auto", batch_size: int = BATCH_SIZE
) -> Embedder:
    """Return an embedding model.

    Args:
        name: `bge-small` (embedded, without PyTorch); `onnx:` with a folder, an ONNX file or a hub id;
            `provider:model`, such as `openai:text-embedding-3-small`, for any provider that
            `langchain.embeddings.init_embeddings` knows; else `minilm`, a folder or a hub id for sentence-transformers.
        dtype: what a sentence-transformers model computes in; a model in ONNX computes as its file says.
        device: where such a model computes; a model in ONNX always uses the CPU.
        batch_size: how many texts a batch of such a model may have.

    Raises:
        ConfigurationError: an empty name, an unknown provider, a provider without its API key, or a device that
            is not there.
        MissingDependency: LangChain, or OpenAI's package for it, is not installed.
    """
    near = nearly(name, (EMBEDDED_MODEL, MINILM))
    if not name.strip() or near:
        hint = f" (did you mean {near!r}?)" if near else ""
        raise ConfigurationError(
            f"embedding: found {name!r}{hint}; expected 'bge-small', 'minilm', a path, a hub id, or provider:model"
        )
    if is_onnx_model(name):
        return OnnxEmbedder(name)
    if _PROVIDER.fullmatch(name) is None:
        return SentenceTransformerEmbedder(name, dtype=dtype, device=device, batch_size=batch_size)
    return LangChainEmbedder.by_name(name)


def _by_provider(name: str) -> Any:
    """Return the LangChain object for `provider:model`, which does not itself ask again."""
    settings: dict[str, Any] = {}
    if name.startswith("openai:"):
        # Its own check of lengths would average the pieces of a long text, and download an encoding to cut it
        settings = {"check_embedding_ctx_length": False, "max_retries": 0, "timeout": _SECONDS}
    try:
        from langchain.embeddings import init_embeddings
    except ImportError as error:
        raise MissingDependency(error.name or "langchain", "langchain", f"the embedding model {name}") from None
    load_dot_env()
    try:
        return init_embeddings(name, **settings)
    except Exception as error:  # noqa: BLE001 — of the provider's package
        reason = describe_error(error)
        if isinstance(error, ImportError) and settings:
            raise MissingDependency("langchain_openai", "openai", f"the embedding model {name}") from None
    raise ConfigurationError(
        f"embedding: {name!r} cannot be used: {reason}. Is the provider's API key in the environment or in .env "
        "(see .env.example; any text for a server that asks for none)? 'bge-small' needs no key"
    )


class LangChainEmbedder:
    """A LangChain `Embeddings` object as an Embedder, which is asked again when it has a bad moment.

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
        self.batches_queries = is_of(embeddings, "langchain_openai", "OpenAIEmbeddings")
        """Whether queries are embedded many at a time, as documents are: OpenAI has one way for both."""

    @classmethod
    def by_name(cls, name: str, *, retry_policy: RetryPolicy | None = None) -> LangChainEmbedder:
        """Return the model that LangChain makes of `provider:model`.

        Raises:
            ConfigurationError: the provider is not known, or has no API key.
            MissingDependency: LangChain is not installed.
        """
        embedder = cls(_by_provider(name), name, retry_policy=retry_policy)
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
        """Sort by characters, into requests that providers take: what they count is not known."""
        batches: list[list[str]] = []
        left = 0
        for text in sorted(texts, key=lambda text: (len(text), text)):
            if not batches or len(text) > left or len(batches[-1]) == _TEXTS_PER_REQUEST:
                batches.append([])
                left = _CHARACTERS_PER_REQUEST
            batches[-1].append(text)
            left -= len(text)
        return batches

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """Return one row per text.

        Raises:
            ModelOutputError: the provider failed, or returned something that is not one vector a text.
        """
        sent = [encodable(text) or " " for text in texts]  # OpenAI refuses empty texts

        def ask() -> NDArray[np.float32]:
            try:
                if kind == "query" and not self.batches_queries:
                    vectors = [self._embeddings.embed_query(text) for text in sent]
                else:
                    vectors = self._embeddings.embed_documents(sent)
            except _NOT_READ as error:
                raise BadReply(f"the reply is not what was asked for ({type(error).__name__}: {error})") from error
            return _checked_vectors(vectors, len(sent))

        secrets = secrets_of(self._embeddings)
        return ask_with_retries(
            ask, self._retry_policy, self.name, kind="embedding model", secrets=secrets, advice=_ADVICE
        )

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:  # noqa: ARG002
        """Return None: a provider does not say what it cut."""
        return None


def _checked_vectors(vectors: Any, count: int) -> NDArray[np.float32]:
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
