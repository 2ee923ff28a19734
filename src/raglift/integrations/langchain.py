"""raglift's embedding models as LangChain's `Embeddings`."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from raglift.adapters.embeddings import embedder_by_name
from raglift.retrieval.embedding import Kind, embed
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.utilities.cache import default_cache


class LangChainEmbeddings(Embeddings):
    """An embedding model by raglift's name for it, for any of LangChain's vector stores.

    Vectors have unit length and are kept in raglift's cache: an index that is built again embeds nothing twice.

    Args:
        model: `bge-small`, which needs no network and no PyTorch, or any name that `embedder_by_name` takes.

    Raises:
        ConfigurationError: there is no such model.
    """

    def __init__(self, model: str = EMBEDDED_MODEL) -> None:
        self._embedder = embedder_by_name(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return self._vectors(texts, "document")

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, with the model's prompt for questions."""
        return self._vectors([text], "query")[0]

    def _vectors(self, texts: list[str], kind: Kind) -> list[list[float]]:
        embedding = embed(self._embedder, texts, kind, default_cache(), progress=False)
        return [vector.tolist() for vector in embedding.vectors]
