"""Search services over HTTP: what is sent, where the hits are in the answer, and how they are asked."""

from raglift.retrieval.http.address import is_http_address, perhaps_address, shown_address
from raglift.retrieval.http.mapping import HttpMapping, ResponseFields, load_mapping
from raglift.retrieval.http.retriever import HttpRetriever

__all__ = [
    "HttpMapping",
    "HttpRetriever",
    "ResponseFields",
    "is_http_address",
    "load_mapping",
    "perhaps_address",
    "shown_address",
]
