"""All cases, by framework."""

from __future__ import annotations

from . import langchain_cases, llama_index_cases

FRAMEWORKS = {
    "LangChain": (langchain_cases.CASES, langchain_cases.NOT_RUN),
    "LlamaIndex": (llama_index_cases.CASES, llama_index_cases.NOT_RUN),
}
CASES = [case for cases, _ in FRAMEWORKS.values() for case in cases]
