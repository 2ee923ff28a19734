"""Retrievers: the protocol, and raglift's own."""

from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.dense import DenseRetriever
from raglift.retrieval.protocol import AsyncQueryRetriever, Indexed, QueryRetriever, Retriever

__all__ = ["AsyncQueryRetriever", "BM25Retriever", "DenseRetriever", "Indexed", "QueryRetriever", "Retriever"]
