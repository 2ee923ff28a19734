"""What LangChain's classes are built from and asked by, and what plays their language model."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from raglift.types.documents import Chunk

from .case import OWN
from .corpus import Corpus, count_words


class Vectors(Embeddings):
    """The corpus' own model as LangChain's."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._corpus.embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._corpus.embed([text])[0]


class Words(Embeddings):
    """Counts words: for classes that embed what they cut themselves."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [count_words(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return count_words(text)


def document(chunk: Chunk) -> Document:
    return Document(chunk.text, id=chunk.id, metadata={"source": chunk.doc_id, "start_index": chunk.start})


def documents(corpus: Corpus) -> list[Document]:
    return [document(chunk) for chunk in corpus.chunks]


def halves(corpus: Corpus, parents: int) -> list[Document]:
    """Two children of each of the first chunks, which name it as `doc_id`."""
    cuts = [(chunk, len(chunk.text) // 2) for chunk in corpus.chunks[:parents]]
    return [
        Document(text, metadata={"doc_id": chunk.id})
        for chunk, cut in cuts
        for text in (chunk.text[:cut], chunk.text[cut:])
    ]


def store(corpus: Corpus) -> Any:
    from langchain_core.vectorstores import InMemoryVectorStore

    return InMemoryVectorStore.from_documents(documents(corpus), Vectors(corpus))


def faiss(corpus: Corpus) -> Any:
    from langchain_community.vectorstores import FAISS

    ids = [chunk.id for chunk in corpus.chunks]
    return FAISS.from_documents(documents(corpus), Vectors(corpus), ids=ids, relevance_score_fn=relevance)


def relevance(squared_distance: float) -> float:
    """FAISS' distances of unit vectors, from 0 to 4, as LangChain's relevance, from 1 to 0."""
    return 1 - float(squared_distance) / 4


def dense(corpus: Corpus) -> Any:
    return store(corpus).as_retriever(search_kwargs={"k": OWN})


def bm25(corpus: Corpus) -> Any:
    from langchain_community.retrievers import BM25Retriever

    return BM25Retriever.from_documents(documents(corpus), k=OWN)


def model() -> Any:
    return _model_at(os.environ["OPENAI_BASE_URL"])


@cache
def _model_at(base_url: str) -> Any:
    """One client for all: reading certificates for each takes longer than the questions."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-4o-mini", temperature=0, base_url=base_url)


def cross_encoder(corpus: Corpus) -> Any:
    from langchain_community.cross_encoders import HuggingFaceCrossEncoder

    return HuggingFaceCrossEncoder(model_name=str(corpus.cross_encoder))


def invoke(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.invoke(query)]


def search(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.similarity_search(query, k=OWN)]


def compress(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.compress_documents([document(one) for one in candidates], query)]


def transform(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.transform_documents([document(one) for one in candidates])]


def _said(messages: Sequence[Any]) -> str:
    return "\n".join(str(message["content"]) for message in messages)


def write_queries(messages: Sequence[Any], schema: Any) -> str:
    """Three questions for one."""
    question = _said(messages).partition("Original question: ")[2]
    return f"{question}\nat the lighthouse: {question}\n{question} tell me the rule"


def rephrase(messages: Sequence[Any], schema: Any) -> str:
    return _said(messages).partition("Here is the user query: ")[2] + " at the station"


def extract(messages: Sequence[Any], schema: Any) -> str:
    """The first sentence of the context; nothing of one that has no question's word in it."""
    question, _, context = _said(messages).partition("> Context:\n>>>\n")
    context = context.partition("\n>>>\nExtracted")[0]
    words = set(re.findall(r"\w{4,}", question.rpartition("> Question: ")[2].lower()))
    sentence = re.split(r"(?<=\.)\s", context)[0]
    return sentence if words & set(re.findall(r"\w+", context.lower())) else "NO_OUTPUT"


def answer_yes_or_no(messages: Sequence[Any], schema: Any) -> str:
    """YES where the context has one of the question's words."""
    return "NO" if extract(messages, schema) == "NO_OUTPUT" else "YES"


def rank_backwards(messages: Sequence[Any], schema: Any) -> dict[str, Any]:
    count = len(re.findall(r"^Document ID: \d+$", _said(messages), re.MULTILINE))
    return {"ranked_document_ids": list(reversed(range(count)))}
