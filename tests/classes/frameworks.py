"""All cases, by framework, and where each framework's classes are looked for."""

from __future__ import annotations

from . import haystack_cases, langchain_cases, llama_index_cases

FRAMEWORKS = {
    "LangChain": (langchain_cases.CASES, langchain_cases.NOT_RUN),
    "LlamaIndex": (llama_index_cases.CASES, llama_index_cases.NOT_RUN),
    "Haystack": (haystack_cases.CASES, haystack_cases.NOT_RUN),
}
CASES = [case for cases, _ in FRAMEWORKS.values() for case in cases]
NOT_RUN = [one for _, not_run in FRAMEWORKS.values() for one in not_run]

INVENTORY = {
    "LangChain": (
        (
            "langchain",
            "langchain_classic",
            "langchain_community",
            "langchain_core",
            "langchain_huggingface",
            "langchain_openai",
            "langchain_qdrant",
            "langchain_text_splitters",
        ),
        ("BaseRetriever", "BaseDocumentCompressor", "BaseDocumentTransformer", "VectorStore"),
    ),
    "LlamaIndex": (
        (
            "llama_index.core",
            "llama_index.embeddings.openai",
            "llama_index.llms.openai",
            "llama_index.retrievers.bm25",
            "llama_index.vector_stores.faiss",
            "llama_index.vector_stores.qdrant",
        ),
        ("BaseRetriever", "BaseQueryEngine", "BaseNodePostprocessor", "BaseChatEngine", "BaseIndex", "Workflow"),
    ),
}
"""The packages that are searched, and the bases below which every class is run or has a reason why not."""
