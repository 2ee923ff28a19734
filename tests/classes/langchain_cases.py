"""LangChain's classes: those that are run, and why others are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from raglift.records import Chunk

from .case import OWN, Case, NotRun
from .corpus import Corpus


class Vectors(Embeddings):
    """The corpus' own model as LangChain's."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._corpus.embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._corpus.embed([text])[0]


def documents(corpus: Corpus) -> list[Document]:
    return [document(chunk) for chunk in corpus.chunks]


def document(chunk: Chunk) -> Document:
    return Document(chunk.text, id=chunk.id, metadata={"source": chunk.doc_id, "start_index": chunk.start})


def store(corpus: Corpus) -> InMemoryVectorStore:
    return InMemoryVectorStore.from_documents(documents(corpus), Vectors(corpus))


def dense(corpus: Corpus, **search_kwargs: Any) -> Any:
    return store(corpus).as_retriever(search_kwargs={"k": OWN, **search_kwargs})


def invoke(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.invoke(query)]


CASES: tuple[Case, ...] = (Case("langchain_core.vectorstores.base.VectorStoreRetriever", dense, "retriever", invoke),)
NOT_RUN: tuple[NotRun, ...] = ()
