"""A LangChain retriever with a depth that can be set, and a cross-encoder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class SharedWords(BaseRetriever):
    """Puts documents first that have more of the query's words."""

    documents: list[Document]
    k: int = 4

    @classmethod
    def over(cls, texts: Iterable[str], k: int) -> SharedWords:
        return cls(documents=[Document(text) for text in texts], k=k)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        wanted = words_of(query)
        return sorted(self.documents, key=lambda found: -len(wanted & words_of(found.page_content)))[: self.k]


class Lengths(BaseCrossEncoder):
    """Scores a text by its length."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        return [float(len(text)) for _, text in text_pairs]
