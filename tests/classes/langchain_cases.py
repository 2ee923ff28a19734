"""LangChain's classes: those that are run, and why others are not."""

from __future__ import annotations

from .langchain_not_run import NOT_RUN
from .langchain_rerankers import RERANKERS
from .langchain_retrievers import RETRIEVERS

__all__ = ["CASES", "NOT_RUN"]

CASES = (*RETRIEVERS, *RERANKERS)
