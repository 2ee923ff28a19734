"""A class to run, and what every class is run on: fifty chunks of the lighthouse, their vectors and three questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import raglift as rl
from raglift.retrieval.embedding import DenseIndex, SentenceTransformerEmbedder, build_index, embed
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact

OWN = 4
"""How many results every object returns by itself: what `make` sets, or leaves to a default of four."""

Kind = Literal[
    "retriever",
    "vector store",
    "runnable",
    "compressor",
    "transformer",
    "index",
    "query engine",
    "chat engine",
    "postprocessor",
    "pipeline",
    "ranker",
]
RERANKERS = ("compressor", "transformer", "postprocessor", "ranker")
"""The kinds that go in as `reranker=`, behind the retriever of `base`."""


@dataclass(frozen=True)
class Case:
    """A class that can be built without a network."""

    path: str
    """Module and class, as `type(made)` has them: `langchain_core.vectorstores.base.VectorStoreRetriever`."""
    make: Callable[[Corpus], Any]
    """Builds the object, over the corpus' chunks."""
    kind: Kind
    """What it is."""
    ask: Callable[[Any, str, Sequence[Chunk]], Sequence[str]]
    """Asks the object itself, without raglift: `(made, query, candidates)` to the texts in its order.

    The candidates are empty unless it is a reranker; then they are what `base` retrieved.
    """
    setting: str = ""
    """What tells two cases of one class apart, as `search_type="mmr"`."""
    base: Callable[[Corpus], Any] | None = None
    """The retriever in front of a reranker."""
    fewer: str = ""
    """Why it may return fewer than asked, although nothing limits it, as "keeps what is near enough"."""
    rewrites: str = ""
    """Why a reranker's hits are not its candidates, as "cuts sentences out of them"."""
    note: str = ""
    """What else a reader of the table should know."""

    @property
    def name(self) -> str:
        """The class, and its setting where there is one."""
        return self.path.rpartition(".")[2] + (f" ({self.setting})" if self.setting else "")

    @property
    def key(self) -> str:
        """The package and the name: frameworks share names, as `BM25Retriever`."""
        return f"{self.package} {self.name}"

    @property
    def package(self) -> str:
        """The package that a class comes from, as it is installed: `llama-index-retrievers-bm25`."""
        parts = self.path.split(".")
        if parts[0] == "haystack":
            return "haystack-ai"
        if parts[0] == "haystack_integrations":
            return f"{parts[3].replace('_', '-')}-haystack"
        if parts[0] != "llama_index":
            return parts[0].replace("_", "-")
        return "llama-index-core" if parts[1] == "core" else "-".join(["llama-index", *parts[1:3]]).replace("_", "-")


DOCUMENTS = ("faq", "ferry-and-landing", "fog-signal", "generator-faults", "lamp-and-lens", "visiting")
QUERIES = ("fog-signal-interval", "adult-ticket", "generator-e02")


@dataclass(frozen=True)
class Corpus:
    """A small real corpus, split and embedded once, and what else a class may need."""

    dataset: Dataset
    """Three labelled queries, and the six documents they are about."""
    index: DenseIndex
    """Chunks of at most 600 characters and their vectors."""
    cross_encoder: Path
    """A folder with a tiny cross-encoder, untrained."""

    @classmethod
    def build(cls, cross_encoder: Path) -> Corpus:
        """Split and embed the documents; vectors come from raglift's cache where they are known."""
        whole = rl.load_dataset("lighthouse")
        documents = tuple(one for one in whole.documents if one.id.removesuffix(".md") in DOCUMENTS)
        ids = {document.id for document in documents}
        queries = []
        for query in (whole.query(name) for name in QUERIES):
            facts = (tuple(passage for passage in fact.passages if passage.doc_id in ids) for fact in query.facts)
            queries.append(replace(query, facts=tuple(map(Fact, facts))))
        index = build_index(rl.RecursiveChunker(600, 60).split(documents), SentenceTransformerEmbedder(dtype="float32"))
        return cls(replace(whole, queries=tuple(queries), documents=documents), index, cross_encoder)

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
