"""Rerankers that return more than their candidates: what they add, change or repeat is counted and earns no lift.

A case is a row of `CASES`: what a reranker does, the object that does it, and what is found of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers.document_compressors import LLMChainExtractor
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import FakeListLLM
from llama_index.core.postprocessor import (
    MetadataReplacementPostProcessor,
    PrevNextNodePostprocessor,
)
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

import raglift as rl
from raglift.adapters.llama_index_nodes import chunk_of
from raglift.testing.fakes import FakeRetriever
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

pytestmark = pytest.mark.slow

ANSWER = "The keeper lights the lamp at dusk."
FOG = "Fog comes in from the sea before noon. It lifts towards the evening."
LAMP = f"The tower has ninety steps. {ANSWER} He sleeps in the afternoon."
HORN = "The horn gives two blasts every minute. It was made in the year of the flood."
QUESTIONS = ("When is the lamp lit?", "Who lights the lamp?", "What lights up at dusk?")
DATA = rl.Dataset.from_dict({question: [ANSWER] for question in QUESTIONS}, name="tower")


def nodes() -> list[TextNode]:
    """Return the tower's texts as neighbouring nodes, each with the window that a sentence window parser notes."""
    made = [
        TextNode(
            id_=name,
            text=text,
            metadata={"window": f"{text} {ANSWER}"},
            excluded_llm_metadata_keys=["window"],
        )
        for name, text in (("fog", FOG), ("lamp", LAMP), ("horn", HORN))
    ]
    for one, other in pairwise(made):
        one.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=other.node_id)
        other.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=one.node_id)
    return made


def retriever(*names: str) -> FakeRetriever:
    found = {node.node_id: chunk_of(node) for node in nodes()}
    return FakeRetriever({question: [found[name] for name in names] for question in QUESTIONS})


class Compressor(BaseDocumentCompressor):
    """A LangChain compressor that returns what a function makes of the documents."""

    change: Callable[[list[Document]], list[Document]]

    def compress_documents(self, documents, query, callbacks=None):
        return self.change(list(documents))


class Reranker:
    """An object with raglift's own method."""

    def __init__(self, change: Callable[[tuple[Chunk, ...]], list[Chunk]]) -> None:
        self.change = change

    def rerank_one(self, query: str, ranking: Ranking) -> Ranking:
        return Ranking.of((chunk, None) for chunk in self.change(ranking.chunks))


def neighbours() -> PrevNextNodePostprocessor:
    store = SimpleDocumentStore()
    store.add_documents(nodes())
    return PrevNextNodePostprocessor(docstore=store, num_nodes=1, mode="both")


def written(document: Document) -> Document:
    return document.model_copy(update={"page_content": f"{document.page_content} {ANSWER}"})


@dataclass(frozen=True)
class Case:
    """What a reranker does, and what is found of it."""

    make: Callable[[], Any]
    """Returns the reranker."""
    found: tuple[int, int, int, int] | None
    """Hits that were added, changed, repeated, and parts of candidates, for each query; None if all are candidates."""
    lift: float | None
    """The lift in Precision@1; None if there is none."""
    candidates: tuple[str, ...] = ("fog", "horn")
    """What it gets; the answer is in `lamp`."""


CASES = {
    "LangChain: five copies of an answer": Case(
        lambda: Compressor(change=lambda documents: [Document(page_content=ANSWER)] * 5 + documents),
        (5, 0, 0, 0),
        None,
    ),
    "LangChain: the answer written into each text": Case(
        lambda: Compressor(change=lambda documents: [written(document) for document in documents]), (0, 2, 0, 0), None
    ),
    "LangChain: the best hit twice": Case(
        lambda: Compressor(change=lambda documents: [documents[1], *documents]), (0, 0, 1, 0), 1.0, ("fog", "lamp")
    ),
    "LangChain: a model that quotes": Case(
        lambda: LLMChainExtractor.from_llm(FakeListLLM(responses=["NO_OUTPUT", ANSWER])),
        (0, 0, 0, 1),
        1.0,
        candidates=("fog", "lamp"),
    ),
    "LlamaIndex: windows": Case(lambda: MetadataReplacementPostProcessor("window"), (0, 2, 0, 0), None),
    "LlamaIndex: neighbours": Case(neighbours, (1, 0, 0, 0), 0.0),
    "raglift: copies without ids": Case(
        lambda: Reranker(lambda chunks: [Chunk(chunk.text) for chunk in chunks]), None, 0.0
    ),
    "raglift: nearly the same part again and again": Case(
        lambda: Reranker(lambda chunks: [Chunk(chunks[0].text[: -1 - cut]) for cut in range(4)]),
        (0, 0, 3, 1),
        0.0,
        candidates=("lamp", "fog"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_was_not_a_candidate_is_counted_and_earns_no_lift(case: Case):
    measured = rl.evaluate(retriever(*case.candidates), DATA, reranker=case.make(), ks=(1, 3), metrics=["precision"])
    found = measured.run.stages[-1].changed_hits

    counts = None if found is None else (found.added, found.changed, found.repeated, found.excerpts)
    expected = None if case.found is None else tuple(len(QUESTIONS) * count for count in case.found)
    assert counts == expected
    assert measured.mean_lift("precision@1") == case.lift
    strange = case.found is not None and any(case.found[:3])
    assert (found.queries if found is not None else 0) == len(QUESTIONS) * strange
    assert any("rerank: of " in note for note in measured.notes) == (case.found is not None)


def inventing(change=lambda documents: [Document(page_content=ANSWER), *documents]) -> Compressor:
    return Compressor(change=change)


@pytest.fixture(scope="module")
def measured() -> rl.Evaluation:
    return rl.evaluate(retriever("fog", "horn"), DATA, reranker=inventing(), ks=(1, 3))


def test_the_figures_after_reranking_are_of_the_system_as_deployed(measured):
    assert measured.scores.mean("rerank", "recall@1") == 1.0
    assert np.isnan(measured.lift("recall@1")).all()
    assert any("of 9 hits returned, 3 were not among its candidates" in note for note in measured.notes)
    assert "§" in str(measured)
    row = measured.reranker_lift().row("ndcg@3")
    assert (row.before, row.after, row.difference, row.beyond_candidates) == (0.0, 1.0, None, 3)
