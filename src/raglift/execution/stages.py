"""Stages: what a system consists of once it has been adapted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.reranking.protocol import AsyncQueryReranker, QueryReranker, Reranker
    from raglift.retrieval.protocol import AsyncQueryRetriever, QueryRetriever, Retriever

__all__ = ["RerankStage", "RetrieveStage", "Stage"]


@dataclass(frozen=True)
class RetrieveStage:
    """The first step of a system."""

    retriever: Retriever | QueryRetriever | AsyncQueryRetriever
    """What is asked. When it is both sync and async, the async form is used only above one concurrent call."""
    system: str
    """What did the work, for people: class, model, settings that matter."""
    depth_fixed: tuple[str, ...] = ()
    """The parts whose depth (k) could not be set."""
    name: str = "retrieve"
    """The stage's name; made unique by the caller."""
    asynchronous: bool = False
    """Whether the async form is always used: a call of it that takes too long can be stopped."""


@dataclass(frozen=True)
class RerankStage:
    """A later step of a system."""

    reranker: Reranker | QueryReranker | AsyncQueryReranker
    """What is asked."""
    system: str
    """What did the work, for people."""
    depth_fixed: tuple[str, ...] = ()
    """The parts whose top_n could not be raised to the number of candidates."""
    name: str = "rerank"
    """The stage's name; made unique by the caller."""


Stage = RetrieveStage | RerankStage
"""Any step of a system."""
