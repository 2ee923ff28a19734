"""How the retrievers and rerankers of all frameworks are asked: on a copy for each depth, by sync or async methods.

A framework's adapter says how a copy is made, how it is asked, and what comes back; what is the same for all is here.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.stages import place_in
from raglift.errors import UnsupportedSystem
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking
from raglift.utilities.event_loops import result_of

if TYPE_CHECKING:
    from raglift.types.filters import Filter


_MOST_REFUSALS = 3


class Refusals:
    """Counts answers without documents: each question may cost money, so a system that gives no other is not asked on.

    Used as a context around each question.
    """

    def __init__(self) -> None:
        self._answered = False
        self._errors: list[UnsupportedSystem] = []

    def __enter__(self) -> None:
        if len(self._errors) >= _MOST_REFUSALS and not self._answered:
            raise self._errors[0]

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, UnsupportedSystem):
            self._errors.append(error)
        elif error is None:
            self._answered = True


class Asked(ABC):
    """Is asked by a sync method, or by an async one where there is no other.

    A sync method that raises NotImplementedError and has never answered is a stub: then the async one is asked, and,
    once that has answered, asked alone.

    Args:
        by_async: whether only the async method answers.
    """

    def __init__(self, *, by_async: bool = False) -> None:
        self._by_async = by_async
        self._answered = False

    @abstractmethod
    def ask(self, *given: Any) -> Any:
        """Return an answer."""

    @abstractmethod
    async def ask_async(self, *given: Any) -> Any:
        """Return an answer, without blocking."""

    def answer(self, *given: Any) -> Any:
        """Return an answer, by the sync method if there is one."""
        if not self._by_async:
            try:
                found = self.ask(*given)
            except NotImplementedError:
                if self._answered:
                    raise
            else:
                self._answered = True
                return found
        found = result_of(self.ask_async(*given))
        self._by_async = True
        return found


class _Copied(Asked):
    """A framework's object with a copy of it for each number of hits; the user's is never changed."""

    def __init__(
        self, system: Any, *, as_deployed: bool = False, doc_key: str | None = None, by_async: bool = False
    ) -> None:
        super().__init__(by_async=by_async)
        self.system = system
        self.as_deployed = as_deployed
        self.doc_key = doc_key
        self._copies: dict[int | None, Any] = {}
        self._lock = threading.Lock()

    @abstractmethod
    def copy_at(self, count: int | None) -> Any:
        """Return a copy that returns at least so many hits if it can; None for its own settings."""

    def copy(self, count: int) -> Any:
        """Return the copy that is asked for so many hits."""
        wanted = None if self.as_deployed else count
        with self._lock:
            if wanted not in self._copies:
                self._copies[wanted] = self.copy_at(wanted)
        return self._copies[wanted]


class FrameworkRetriever(_Copied):
    """A framework's retriever: `ask(copy, query)` returns chunks with scores, best first.

    As deployed, all that it returns is kept.

    Args:
        system: what is asked.
        as_deployed: whether it keeps its own settings.
        doc_key: the metadata key of document ids.
        by_async: whether only its async method answers.
    """

    takes_filters = False
    """Whether a query's metadata filter can be passed on."""

    def __init__(self, system: Any, *, by_async: bool = False, **settings: Any) -> None:
        super().__init__(system, by_async=by_async, **settings)
        if by_async:
            self.aretrieve_one = self._aretrieve_one
        else:
            self.retrieve_one = self._retrieve_one

    def filtered_copy(self, k: int, given: Filter) -> Any:  # noqa: ARG002
        """Return the copy that is asked for `k` hits among the matching documents, if the system takes filters."""
        return self.copy(k)

    def _at_depth(self, k: int, given: Filter | None) -> Any:
        return self.copy(k) if given is None else self.filtered_copy(k, given)

    def _ranking(self, found: Iterable[tuple[Chunk, float | None]], k: int) -> Ranking:
        return Ranking.of(list(found)[: None if self.as_deployed else k])

    def _retrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        return self._ranking(self.answer(self._at_depth(k, given), query), k)

    async def _aretrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        system = await asyncio.to_thread(self._at_depth, k, given)  # making it may load a model
        return self._ranking(await self.ask_async(system, query), k)


_BY_PAIR = {
    "CrossEncoderReranker": {"langchain", "langchain_classic"},
    "SentenceTransformerRerank": {"llama_index"},
    "SentenceTransformersSimilarityRanker": {"haystack"},
    "TransformersSimilarityRanker": {"haystack"},
}
"""Rerankers of the frameworks that score each hit by itself, and the packages that they are of."""


def _package_of(obj: object) -> str:
    return type(obj).__module__.partition(".")[0]


class FrameworkReranker(_Copied):
    """A framework's reranker: `ask(copy, query, documents)` returns what it made of the framework's documents.

    Args:
        system: what is asked.
        as_deployed: whether it keeps the number of hits that it lets through.
        doc_key: the metadata key of document ids, for documents that it adds.
        asks_for_none: whether it is asked for no candidates too, as the engine or pipeline does that it is a part of.
    """

    candidates: Callable[[Ranking, str | None], Any]
    """Makes `documents` of a ranking, with the metadata key of ids, and a `ranking` of what the reranker gave back."""

    def __init__(self, system: Any, *, asks_for_none: bool = False, **settings: Any) -> None:
        super().__init__(system, **settings)
        self._asks_for_none = asks_for_none

    @property
    def by_pair(self) -> bool:
        """Whether it is one of the rerankers of these frameworks that score each hit by itself."""
        model = getattr(self.system, "model", None)  # of LangChain's, which takes one of anybody's
        is_own = not _package_of(self.system).startswith("langchain") or _package_of(model).startswith("langchain_")
        return is_own and _package_of(self.system) in _BY_PAIR.get(type(self.system).__name__, ())

    def rerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return what it makes of a ranking."""
        if not (ranking.hits or self._asks_for_none):
            return Ranking()
        candidates = type(self).candidates(ranking, self.doc_key)
        after: Ranking = candidates.ranking(self.answer(self.copy(len(ranking)), query, candidates.documents))
        return after


# Chunks of documents, and what a reranker made of a chunk.


def document_id(metadata: Mapping[str, Any], doc_key: str | None, usual: Sequence[str]) -> str | None:
    """Return the id of a chunk's document: what is at a key, or at the first of the usual ones if none is given."""
    found = (metadata.get(key) for key in (usual if doc_key is None else (doc_key,)))
    return next((str(value) for value in found if value not in (None, "")), None)


def excerpt(chunk: Chunk, text: str, metadata: Mapping[str, Any], origin: Any) -> Chunk:
    """Return a chunk whose text or metadata a reranker changed.

    It keeps its id and document. A changed text has offsets only if it occurs exactly once in the old one.
    """
    if text == chunk.text:
        return replace(chunk, metadata=metadata, origin=origin)
    start, end = place_in(chunk, text)
    return Chunk(text, chunk.id, chunk.doc_id, start, end, metadata=metadata, origin=origin)
