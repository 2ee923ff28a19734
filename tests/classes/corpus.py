"""What every class is run on: fifty chunks of the lighthouse, their vectors, three questions, a model on loopback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot
from pathlib import Path
from zlib import crc32

import raglift as rl
from raglift.retrieval.embedding import DenseIndex, SentenceTransformerEmbedder, build_index, embed
from raglift.testing.openai_server import OpenAIServer
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Query

DOCUMENTS = (
    "faq.md",
    "ferry-and-landing.md",
    "fog-signal.md",
    "generator-faults.md",
    "lamp-and-lens.md",
    "visiting.md",
)
QUERIES = ("fog-signal-interval", "adult-ticket", "generator-e02")


def count_words(text: str) -> list[float]:
    """Count words in 64 hashed positions, as a unit vector: for classes that embed the chunks they make."""
    vector = [0.01] * 64
    for word in text.lower().split():
        vector[crc32(word.encode()) % 64] += 1.0
    length = hypot(*vector)
    return [value / length for value in vector]


def _within(documents: tuple[Document, ...], query: Query) -> Query:
    """Return a query without the alternatives that other documents give."""
    ids = {document.id for document in documents}
    facts = (tuple(passage for passage in fact.passages if passage.doc_id in ids) for fact in query.facts)
    return replace(query, facts=tuple(Fact(passages) for passages in facts))


@dataclass(frozen=True)
class Corpus:
    """A small real corpus, split and embedded once, and what else a class may need."""

    dataset: Dataset
    """Three labelled queries, and the six documents they are about."""
    index: DenseIndex
    """Chunks of at most 600 characters and their vectors."""
    server: OpenAIServer
    """Plays the language models; OPENAI_BASE_URL and OPENAI_API_KEY lead to it."""
    cross_encoder: Path
    """A folder with a tiny cross-encoder, untrained."""
    folder: Path
    """An empty folder, for classes that write."""

    @classmethod
    def build(cls, server: OpenAIServer, cross_encoder: Path, folder: Path) -> Corpus:
        """Split and embed the documents; vectors come from raglift's cache where they are known."""
        whole = rl.load_dataset("lighthouse")
        documents = tuple(document for document in whole.documents if document.id in DOCUMENTS)
        queries = tuple(_within(documents, query) for query in whole.queries if query.id in QUERIES)
        chunks = rl.RecursiveChunker(600, 60).split(documents)
        index = build_index(chunks, SentenceTransformerEmbedder(dtype="float32"))
        return cls(replace(whole, queries=queries, documents=documents), index, server, cross_encoder, folder)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks, in the order of the documents; each knows its document and offsets."""
        return self.index.chunks

    @property
    def vectors(self) -> list[list[float]]:
        """Their vectors, in the same order."""
        return self.index.vectors.tolist()

    @cached_property
    def _known(self) -> dict[str, list[float]]:
        return dict(zip((chunk.text for chunk in self.chunks), self.vectors, strict=True))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of any texts; those of chunks are known, others go through the cache."""
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            vectors = embed(self.index.embedder, new, "query", self.index.cache).vectors
            self._known.update(zip(new, vectors.tolist(), strict=True))
        return [self._known[text] for text in texts]
