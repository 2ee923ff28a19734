"""LlamaIndex's classes: those that are run, and why others are not."""

from __future__ import annotations

from .llama_index_agents import CASES as AGENTS
from .llama_index_engines import CASES as ENGINES
from .llama_index_indexes import CASES as INDEXES
from .llama_index_not_run import NOT_RUN
from .llama_index_postprocessors import CASES as POSTPROCESSORS
from .llama_index_retrievers import CASES as RETRIEVERS

__all__ = ["CASES", "NOT_RUN"]

CASES = (*RETRIEVERS, *INDEXES, *ENGINES, *AGENTS, *POSTPROCESSORS)
