"""What langchain-community's classes do and no maintained ones: tests that test_langchain_community.py runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline, EmbeddingsFilter
from langchain_community.document_loaders import PyPDFLoader
from langchain_community.document_transformers import EmbeddingsRedundantFilter, LongContextReorder
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_text_splitters import RecursiveCharacterTextSplitter
from tests.datasets.test_paged_files import HORN, LAMP, pdf, read

import raglift as rl
from raglift.adapters.langchain import retriever_stages

from .stores import TEXTS, Words, documents

QUERY = "What is lit of the lamp?"
DATA = rl.Dataset.from_dict({QUERY: [TEXTS[0]]})


def faiss(**search: Any) -> Any:
    return FAISS.from_documents(documents(), Words()).as_retriever(search_kwargs=search)


@pytest.mark.parametrize(
    ("own", "years"),
    [(None, {2021, 2022}), ({"year": {"$lte": 2021}}, {2021}), (lambda metadata: metadata["year"] <= 2021, {2021})],
    ids=["none", "operators", "function"],
)
def test_filters_are_passed_on_to_faiss(own: Any, years: set[int]) -> None:
    written = {"year": {"gt": 2020, "lt": 2023}, "is_late": [True, False], "height": [2021 / 8, 2022 / 8]}
    data = rl.Dataset((replace(*DATA, filter=written),))
    (trace,) = rl.evaluate(faiss(k=8, fetch_k=len(TEXTS), filter=own), data, ks=(1,)).run.traces
    assert {chunk.metadata["year"] for chunk in trace.stages[0].ranking.chunks} == years
    assert len(trace.stages[0].ranking) == 8


def test_faiss_fetches_enough_before_it_filters_to_reach_the_depth() -> None:
    (stage,) = retriever_stages(faiss(filter=lambda metadata: True))
    assert len(stage.retriever.retrieve_one(QUERY, 40)) == 40


def test_compressors_that_keep_vectors_in_their_documents_are_opened_and_answer_as_deployed() -> None:
    parts = [
        EmbeddingsRedundantFilter(embeddings=Words()),
        EmbeddingsFilter(embeddings=Words(), k=5),
        LongContextReorder(),
    ]
    system = ContextualCompressionRetriever(
        base_retriever=BM25Retriever.from_documents(documents(), k=9),
        base_compressor=DocumentCompressorPipeline(transformers=parts),
    )
    evaluation = rl.evaluate(system, DATA, ks=(1,))
    assert [stage.system.partition("(")[0] for stage in evaluation.run.stages] == [
        "BM25Retriever",
        "EmbeddingsRedundantFilter",
        "EmbeddingsFilter",
        "LongContextReorder",
    ]
    ranking = evaluation.run.traces[0].stages[-1].ranking
    assert [chunk.text for chunk in ranking.chunks] == [found.page_content for found in system.invoke(QUERY)]
    retrieve, *reranks = retriever_stages(system)
    ranking = retrieve.retriever.retrieve_one(QUERY, 20)
    for stage in reranks:
        ranking = stage.reranker.rerank_one(QUERY, ranking)
    assert len(ranking) > 9


def test_offsets_of_langchains_pages_become_offsets_in_the_document(tmp_path: Path) -> None:
    document = read(tmp_path, "manual.pdf", pdf(LAMP, f"{LAMP} {HORN}", HORN))
    pages = PyPDFLoader(str(tmp_path / "manual.pdf")).load()
    splitter = RecursiveCharacterTextSplitter(chunk_size=40, chunk_overlap=0, add_start_index=True)
    chunks = splitter.split_documents(pages)
    data = rl.Dataset.from_dict({"When is the horn blown?": [{"doc": "manual.pdf", "page": 3}]}, documents=[document])  # type: ignore[dict-item]
    evaluation = rl.evaluate(lambda query, k: chunks[:k], data, ks=(20,), match="coverage")
    hits = evaluation.run.traces[0].stages[0].ranking.chunks
    assert [document.text[hit.start : hit.end] for hit in hits] == [chunk.page_content for chunk in chunks]
    covered = [hit for hit in hits if hit.start is not None and hit.start >= document.pages[2][0]]
    assert evaluation.scores.mean("retrieve", "recall@20") == 1.0
    assert len(covered) == 2
    single = PyPDFLoader(str(tmp_path / "manual.pdf"), mode="single", pages_delimiter="\n\f").load()
    assert single[0].page_content == document.text
