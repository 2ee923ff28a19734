"""raglift's embedding models as LlamaIndex's `BaseEmbedding`."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from raglift.adapters.embeddings import embedder_by_name
from raglift.retrieval.embedding import Embedder, Kind, embed
from raglift.retrieval.models import EMBEDDED_MODEL
from raglift.utilities.cache import default_cache


class LlamaIndexEmbedding(BaseEmbedding):
    """An embedding model by raglift's name for it, as `embed_model` of LlamaIndex's indexes.

    Vectors have unit length and are kept in raglift's cache: an index that is built again embeds nothing twice.

    Args:
        model: `bge-small`, which needs no network and no PyTorch, or any name that `embedder_by_name` takes.
        options: fields of `BaseEmbedding`, such as `embed_batch_size`.

    Raises:
        ConfigurationError: there is no such model.
    """

    _embedder: Embedder = PrivateAttr()

    def __init__(self, model: str = EMBEDDED_MODEL, **options: Any) -> None:
        super().__init__(model_name=model, **options)
        self._embedder = embedder_by_name(model)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex writes objects of this class."""
        return cls.__name__

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vectors([query], "query")[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vectors([text], "document")[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._vectors(texts, "document")

    def _vectors(self, texts: list[str], kind: Kind) -> list[list[float]]:
        embedding = embed(self._embedder, texts, kind, default_cache(), progress=False)
        return [vector.tolist() for vector in embedding.vectors]
