"""Which adapter owns an object, and what the adapters say of themselves."""

from __future__ import annotations

from raglift.adapters.base import accepted, adapter_of, adapters, packages


def test_each_adapter_says_what_it_accepts_and_whose_versions_a_run_records() -> None:
    assert [adapter.name for adapter in adapters()] == ["LangChain", "LlamaIndex", "Haystack", "raglift"]
    assert accepted("systems") == (
        "a LangChain retriever, vector store or Runnable, a LlamaIndex retriever, query engine, index, agent "
        "or workflow, a Haystack retriever or pipeline"
    )
    assert set(packages()) >= {"langchain-core", "llama-index-core", "haystack-ai"}


def test_functions_and_addresses_are_raglifts_own_and_names_and_mappings_nobodys() -> None:
    assert adapter_of(len) is adapter_of("http://127.0.0.1/search") is adapters()[-1]
    assert adapter_of("bm25") is adapter_of({"text": "x"}) is None
