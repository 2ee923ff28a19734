"""Retrievers: the protocol, and raglift's own."""

from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.dense import DenseRetriever
from raglift.retrieval.http import HttpMapping, HttpRetriever
from raglift.retrieval.hybrid import HybridRetriever, fuse
from raglift.retrieval.notation import RETRIEVERS, RetrieverSpec, parse_retriever
from raglift.retrieval.protocol import AsyncQueryRetriever, Indexed, QueryRetriever, Retriever

__all__ = [
    "RETRIEVERS",
    "AsyncQueryRetriever",
    "BM25Retriever",
    "DenseRetriever",
    "HttpMapping",
    "HttpRetriever",
    "HybridRetriever",
    "Indexed",
    "QueryRetriever",
    "Retriever",
    "RetrieverSpec",
    "fuse",
    "parse_retriever",
]
