"""One class to run, or the reason why it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from raglift.testing.openai_server import Replies
from raglift.types.documents import Chunk

from .corpus import Corpus

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
    "agent",
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
    replies: Replies | None = None
    """What plays the language model, where the class asks one."""
    fewer: str = ""
    """Why it may return fewer than asked, although nothing limits it, as "keeps what is near enough"."""
    rewrites: str = ""
    """Why a reranker's hits are not its candidates, as "cuts sentences out of them"."""
    varies: bool = False
    """Whether the order of a set decides what it finds, which differs between processes: numbers are left out."""
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
        """The package as it is installed: `langchain-core`."""
        return package_of(self.path)


def package_of(path: str) -> str:
    """Return the package that a class comes from: `llama-index-retrievers-bm25`."""
    parts = path.split(".")
    if parts[0] == "haystack":
        return "haystack-ai"
    if parts[0] == "haystack_integrations":
        return f"{parts[3].replace('_', '-')}-haystack"
    if parts[0] != "llama_index":
        return parts[0].replace("_", "-")
    return "llama-index-core" if parts[1] == "core" else "-".join(["llama-index", *parts[1:3]]).replace("_", "-")
