"""Rerankers: the protocol, and raglift's own."""

from raglift.reranking.cross_encoder import CrossEncoderReranker
from raglift.reranking.late_interaction import LateInteractionReranker
from raglift.reranking.protocol import AsyncQueryReranker, QueryReranker, Reranker

__all__ = [
    "AsyncQueryReranker",
    "CrossEncoderReranker",
    "LateInteractionReranker",
    "QueryReranker",
    "Reranker",
]
