"""LlamaIndex's classes: those that are run, and why others are not."""

from __future__ import annotations

from .case import NotRun
from .llama_index_engines import CASES as ENGINES
from .llama_index_postprocessors import CASES as POSTPROCESSORS
from .llama_index_retrievers import CASES as RETRIEVERS

CASES = (*RETRIEVERS, *ENGINES, *POSTPROCESSORS)
NOT_RUN: tuple[NotRun, ...] = ()
