"""How raglift asks an `Index`. The framework itself is not imported here: raglift loads this for every system."""

from typing import Any

from raglift.adapters import Adapter, RetrieveStage, Stage, is_from
from raglift.types import Chunk, Ranking


class AcmeRetriever:
    """Asks one query at a time; how many hits are wanted is passed with the call."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def retrieve_one(self, query: str, k: int) -> Ranking:
        """Return the hits for a query."""
        return Ranking.of(chunk_and_score(found) for found in self._index.find(query, k))


def retriever_stages(system: Any, **_options: Any) -> list[Stage]:
    """Return the one stage of an index, which has no depth and no key of documents that one could set."""
    return [RetrieveStage(AcmeRetriever(system), f"Acme {type(system).__name__}")]


def chunk_and_score(result: Any, _doc_key: str | None = None) -> tuple[Chunk, float | None]:
    """Return a result as a chunk and a score."""
    return Chunk(result.text, doc_id=result.source), float(result.points)


ADAPTER = Adapter(
    name="Acme",
    owns=lambda obj: is_from(obj, "raglift_acme.index"),
    retriever_stages=retriever_stages,
    chunk_and_score=chunk_and_score,
    packages=("raglift-acme",),  # the version that a run records
    systems="an Acme index",
)
