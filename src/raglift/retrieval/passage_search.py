"""Whether a search asked for a passage: an estimate by BM25 over the labelled passages of a dataset."""

from __future__ import annotations

from collections.abc import Sequence

from raglift.errors import ConfigurationError
from raglift.retrieval.bm25 import BM25Retriever
from raglift.types.documents import Chunk

ASKED_FOR = 10
"""A search asked for a passage that is among so many of the first."""


class PassageSearch:
    """Ranks all labelled passages of a dataset by BM25 for the text of a search."""

    def __init__(self, texts: Sequence[str | None]) -> None:
        chunks = [Chunk(text, id=str(number)) for number, text in enumerate(texts) if text]
        try:
            self._retriever = BM25Retriever(chunks) if chunks else None
        except ConfigurationError:  # no passage has a word
            self._retriever = None

    def __call__(self, query: str) -> frozenset[int]:
        """Return the numbers of the passages that a search asked for."""
        if self._retriever is None:
            return frozenset()
        (found,) = self._retriever.retrieve([query], ASKED_FOR)
        return frozenset(int(chunk.id) for chunk in found.chunks)
