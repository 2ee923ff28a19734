"""A hundred short texts with years, and embedding models for vector stores of LangChain and LlamaIndex."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode

SUBJECTS = ("lamp", "horn", "boat", "wick", "coal", "tower", "keeper", "storm", "letter", "rock")
VERBS = ("lit", "sounded", "mended", "painted", "counted", "carried", "hidden", "sold", "found", "named")
TEXTS = [f"The {subject} is {verb}." for subject in SUBJECTS for verb in VERBS]
YEARS = [2020 + number % 5 for number in range(len(TEXTS))]
DIMENSIONS = 16
K = 4


def vector_of(text: str) -> list[float]:
    """Random indexing, with lengths that differ: cosine, inner product and distance rank differently."""
    words = [
        np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSIONS)
        for word in text.strip(".?").split()
    ]
    found: list[float] = (sum(words) * (1 + len(text) % 3)).tolist()
    return found


class Words(Embeddings):
    """The model, for LangChain."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return list(map(vector_of, texts))

    def embed_query(self, text: str) -> list[float]:
        return vector_of(text)


class Model(BaseEmbedding):
    """The model, for LlamaIndex."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return vector_of(text.rpartition("\n")[2])  # the metadata stands before the text

    def _get_query_embedding(self, query: str) -> list[float]:
        return vector_of(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector_of(query)


def documents() -> list[Document]:
    return [
        Document(
            text,
            id=f"00000000-0000-4000-8000-{number:012}",
            metadata={"year": year, "is_late": year > 2022, "height": year / 8, "source": "log.md"},
        )
        for number, (text, year) in enumerate(zip(TEXTS, YEARS, strict=True))
    ]


def nodes() -> list[TextNode]:
    return [
        TextNode(
            text=text,
            id_=f"00000000-0000-4000-8000-{number:012}",
            metadata={"year": year, "is_late": year > 2022, "height": year / 8},
        )
        for number, (text, year) in enumerate(zip(TEXTS, YEARS, strict=True))
    ]


def index_over(store: Any) -> Any:
    """Return a LlamaIndex retriever over a store with all nodes in it."""
    context = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes(), storage_context=context, embed_model=Model()).as_retriever(similarity_top_k=K)
