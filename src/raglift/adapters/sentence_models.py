"""raglift's local embedding models as LangChain, LlamaIndex and chonkie take them, for chunkers that compare sentences.

They compute in float32, so that the same text is cut in the same places on every processor of a kind, and their vectors
are in raglift's cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.adapters.embeddings import embedder_by_name
from raglift.base.cache import default_cache
from raglift.components.devices import CPU
from raglift.components.embedding import embed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


def _vectors(model: str, texts: Sequence[str]) -> NDArray[np.float32]:
    embedder = embedder_by_name(model, dtype="float32", device=CPU)  # where chunks end does not depend on the machine
    return embed(embedder, texts, "document", default_cache(), progress=False).vectors


def for_langchain(model: str) -> Any:
    """Return a model as LangChain's `Embeddings`."""
    from langchain_core.embeddings import Embeddings

    class Sentences(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            found: list[list[float]] = _vectors(model, texts).tolist()
            return found

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return Sentences()


def for_llama_index(model: str) -> Any:
    """Return a model as LlamaIndex's `BaseEmbedding`."""
    from llama_index.core.embeddings import BaseEmbedding

    class Sentences(BaseEmbedding):  # type: ignore[misc,unused-ignore]
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            found: list[list[float]] = _vectors(model, texts).tolist()
            return found

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    return Sentences(embed_batch_size=2048)


def for_chonkie(model: str, tokenizer: Any) -> Any:
    """Return a model as chonkie's `BaseEmbeddings`.

    Args:
        model: its name.
        tokenizer: what chonkie counts sizes with.
    """
    from chonkie.embeddings import BaseEmbeddings

    class Sentences(BaseEmbeddings):
        def embed(self, text: str) -> NDArray[np.float32]:
            return self.embed_batch([text])[0]

        def embed_batch(self, texts: list[str]) -> list[NDArray[np.float32]]:
            return list(_vectors(model, texts)) if texts else []

        @property
        def dimension(self) -> int:
            return len(self.embed("a"))

        def get_tokenizer(self) -> Any:
            return tokenizer

    return Sentences()
