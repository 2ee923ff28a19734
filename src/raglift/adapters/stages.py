"""Stages: the result of adapting a system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from raglift.adapters.clearing import Clearing

if TYPE_CHECKING:
    from raglift.adapters.agents import FrameworkAgent
    from raglift.adapters.policy import Policy
    from raglift.retrieval.rerankers import AsyncQueryReranker, QueryReranker, Reranker
    from raglift.retrieval.retrievers import AsyncQueryRetriever, QueryRetriever, Retriever
    from raglift.types.documents import Chunk
    from raglift.types.rankings import Ranking


# Stages: the parts of an adapted system.


class Keeper(Protocol):
    """Keeps the answers of a stage one by one, and asks it only for those that are missing."""

    def ask(
        self, stage: Any, inputs: list[tuple[Any, ...]], policy: Policy, advance: Callable[[int], None]
    ) -> list[Any]:
        """Return one outcome a query, in order: see `raglift.running.execution.ask_stage`."""


@dataclass(frozen=True, kw_only=True)
class _AnyStage:
    """What both kinds of stages have."""

    depth_fixed: tuple[str, ...] = ()
    """The parts whose depth (k, or top_n) could not be set."""
    keeper: Keeper | None = None
    """Keeps its answers; None where they are not kept."""
    unopened: str = ""
    """Why a composite is asked as a whole, for people; empty where it is opened, and for what is no composite."""
    shared: Clearing | None = field(default=None, repr=False, compare=False)
    """Knows the secrets of all stages of the system, if the stage is one of several."""

    @cached_property
    def clearing(self) -> Clearing:
        """What clears its hits of secrets."""
        return (self.shared or Clearing(asked_of(self))).of_a_stage()  # type: ignore[arg-type]


@dataclass(frozen=True)
class RetrieveStage(_AnyStage):
    """The first step of a system."""

    retriever: Retriever | QueryRetriever | AsyncQueryRetriever | FrameworkAgent
    """What is asked. When it is both sync and async, the async form is used only above one concurrent call."""
    system: str
    """What did the work, for people: class, model, settings that matter."""
    name: str = "retrieve"
    """The stage's name; made unique by the caller."""
    asynchronous: bool = False
    """Whether the async form is always used: a call of it that takes too long can be stopped."""
    has_own_depth: bool = False
    """Whether it returns as many hits as its own settings say, whatever number it is asked for."""
    for_sessions: bool = False
    """Whether an agent is asked for sessions; otherwise for the hits of its searches, one search after the other."""

    @property
    def is_agent(self) -> bool:
        """Whether it makes its own searches, so that each query becomes a session."""
        return hasattr(self.retriever, "session_one") or hasattr(self.retriever, "asession_one")


@dataclass(frozen=True)
class RerankStage(_AnyStage):
    """A later step of a system."""

    reranker: Reranker | QueryReranker | AsyncQueryReranker
    """What is asked."""
    system: str
    """What did the work, for people."""
    name: str = "rerank"
    """The stage's name; made unique by the caller."""
    doubt: Callable[[Sequence[Ranking]], str | None] | None = None
    """Returns why what came back so far was most likely meant otherwise than it was read; None if it was not."""


Stage = RetrieveStage | RerankStage
"""Any step of a system."""


def asked_of(stage: Stage) -> Any:
    """Return the retriever or reranker of a stage."""
    return stage.retriever if isinstance(stage, RetrieveStage) else stage.reranker


def clearing_of(stages: Sequence[Stage]) -> Clearing:
    """Return what clears the hits of stages that belong together of the secrets of all of them.

    What one stage knows as a secret may come from another: a framework's reranker is given the documents as they were
    retrieved.
    """
    return Clearing(*map(asked_of, stages))


# The location of an excerpt that a compressor or postprocessor took from a chunk.


def place_in(chunk: Chunk, piece: str) -> tuple[int | None, int | None]:
    """Return the offsets of a piece that was cut out of a chunk.

    Args:
        chunk: what it was cut out of.
        piece: the text that is left.

    Returns:
        Its first character, and one past its last, in the document's text. Both None if the chunk's own location is not
        known or not as long as its text, and where the piece is empty, is not in it, or is in it more than once.
    """
    at = chunk.text.find(piece) if piece else -1
    if chunk.start is None or at < 0 or chunk.text.find(piece, at + 1) >= 0:
        return None, None
    if chunk.end is not None and chunk.end - chunk.start != len(chunk.text):
        return None, None
    return chunk.start + at, chunk.start + at + len(piece)
