"""Where else a question may be answered whose passage is gone: one proposal by search, which decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Indel

from raglift.auditing.records import Place
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.updating.records import Candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.retrieval.embedding import Embedder
    from raglift.types.documents import Chunk, Document

_SIZE = 500
"""Characters of what is searched."""
_HITS = 10
"""As many hits of BM25 are compared by an embedding model."""


def search_for(
    lost: Sequence[tuple[str, str]], documents: Sequence[Document], embedder: Embedder | None
) -> list[tuple[Candidate, ...]]:
    """Return for each question and passage the best hit in the documents, if there is one.

    Args:
        lost: questions, and passages that are gone.
        documents: the documents as they are now.
        embedder: which of BM25's hits is nearest to the passage in meaning; None for the first one.
    """
    chunks = [chunk for chunk in RecursiveChunker(_SIZE, 0).split(documents) if any(map(str.isalnum, chunk.text))]
    if not lost or not chunks:
        return [()] * len(lost)
    rankings = BM25Retriever(chunks).retrieve([f"{question} {text}" for question, text in lost], _HITS)
    found = []
    for (_, text), ranking in zip(lost, rankings, strict=True):
        hits = [hit.chunk for hit in ranking.hits]
        reason = "it is the best hit of a search for the question and the old text"
        if embedder is not None and hits:
            vectors = embedder.embed([text, *(hit.text for hit in hits)], "document")
            hits = [hits[int(np.argmax(vectors[1:] @ vectors[0]))]]
            reason = "of the hits of such a search, it is the nearest in meaning"
        found.append(tuple(_candidate(hit, text, reason) for hit in hits[:1]))
    return found


def _candidate(chunk: Chunk, text: str, reason: str) -> Candidate:
    place = Place(chunk.doc_id or "", chunk.start or 0, chunk.end or 0)
    return Candidate(place, chunk.text, Indel.normalized_similarity(text, chunk.text), reason)
