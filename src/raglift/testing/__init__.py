"""Test doubles that raglift is tested with, for users to test with too."""

from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.testing.openai_server import Answer, OpenAIServer, Request
from raglift.testing.search_server import SearchAnswer, SearchRequest, SearchServer

__all__ = [
    "Answer",
    "FakeReranker",
    "FakeRetriever",
    "OpenAIServer",
    "Request",
    "SearchAnswer",
    "SearchRequest",
    "SearchServer",
]
