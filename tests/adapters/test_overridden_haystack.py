"""Haystack's pipelines and components, overridden and patched: what is measured is what they return to their users."""

from __future__ import annotations

import asyncio
import functools

import pytest
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldRanker
from haystack.components.retrievers import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import raglift as rl
from raglift.types.labels import Fact, Passage, Query

pytestmark = pytest.mark.slow

LINES = [f"line {number} of a log that the keeper wrote at night{' again' * number}" for number in range(6)]
QUERY = "which line did the keeper write again?"


def measured(system, **options):
    evaluation = rl.evaluate(system, rl.Dataset.from_dict({QUERY: [LINES[0]]}), ks=(1,), metrics=["recall"], **options)
    return [chunk.text for chunk in evaluation.run.traces[0].stages[-1].ranking.chunks], evaluation


def retriever(cls=InMemoryBM25Retriever):
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=line, meta={"place": at}) for at, line in enumerate(LINES)])
    return cls(store, top_k=5)


def pipeline(cls=Pipeline, retriever_=None, ranker=None):
    made = cls()
    made.add_component("retriever", retriever_ or retriever())
    made.add_component("ranker", ranker or MetaFieldRanker("place", weight=1.0))
    made.add_component("prompt", PromptBuilder("{{ documents }} {{ query }}", required_variables="*"))
    made.connect("retriever", "ranker")
    made.connect("ranker", "prompt.documents")
    return made


INPUTS = {"retriever": {"query": QUERY}, "prompt": {"query": QUERY}}


class OwnRun(Pipeline):
    def run(self, data, include_outputs_from=None, **options):
        found = super().run(data, include_outputs_from=include_outputs_from, **options)
        found["ranker"] = {"documents": found["ranker"]["documents"][::-1]}
        return found


class DocumentsAlone(Pipeline):
    def run(self, data):
        return {"documents": super().run(data, include_outputs_from={"ranker"})["ranker"]["documents"][:2]}


class OwnAsyncRun(Pipeline):
    async def run_async(self, data, include_outputs_from=None, **options):
        found = await super().run_async(data, include_outputs_from=include_outputs_from, **options)
        return {**found, "ranker": {"documents": found["ranker"]["documents"][::-1]}}


class OwnSteps(Pipeline):
    def _run_component(self, component_name, component, inputs, component_visits, parent_span=None, **options):
        found = super()._run_component(component_name, component, inputs, component_visits, parent_span, **options)
        return {"documents": found["documents"][1:]} if component_name == "ranker" else found


class Untouched(Pipeline):
    pass


class OwnRetriever(InMemoryBM25Retriever):
    @functools.wraps(InMemoryBM25Retriever.run)  # the parameters must be those of `run_async`
    def run(self, *args, **kwargs):
        return {"documents": super().run(*args, **kwargs)["documents"][::-1]}


@component
class Fallback:
    """Gives a document where it is given none."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]):
        return {"documents": documents or [Document(content=LINES[3])]}


@component
class Nothing:
    @component.output_types(documents=list[Document])
    def run(self, query: str):
        return {"documents": []}


def run_on_object():
    made = pipeline()

    @functools.wraps(made.run)
    def reversed_run(data, include_outputs_from=None, **options):
        found = Pipeline.run(made, data, include_outputs_from=include_outputs_from, **options)
        return {**found, "ranker": {"documents": found["ranker"]["documents"][::-1]}}

    made.run = reversed_run
    return made


def patched_ranker():
    ranker = LostInTheMiddleRanker()
    ranker.run = lambda documents, **_: {"documents": documents[2:]}
    return ranker


def of_ranker(made):
    return made.run(INPUTS, include_outputs_from={"ranker"})["ranker"]["documents"]


PIPELINES = {
    "its own run": (lambda: pipeline(OwnRun), of_ranker),
    "a run that returns the documents alone": (
        lambda: pipeline(DocumentsAlone),
        lambda made: made.run(INPUTS)["documents"],
    ),
    "its own run_async": (
        lambda: pipeline(OwnAsyncRun),
        lambda made: asyncio.run(made.run_async(INPUTS, include_outputs_from={"ranker"}))["ranker"]["documents"],
    ),
    "its own steps": (lambda: pipeline(OwnSteps), of_ranker),
    "nothing of its own": (lambda: pipeline(Untouched), of_ranker),
    "run set on the pipeline": (run_on_object, of_ranker),
    "a retriever with its own run": (lambda: pipeline(retriever_=retriever(OwnRetriever)), of_ranker),
    "a ranker with run set on it": (lambda: pipeline(ranker=patched_ranker()), of_ranker),
    "a component that answers where nothing was found": (
        lambda: pipeline(retriever_=Nothing(), ranker=Fallback()),
        of_ranker,
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_measured_as_it_answers(name):
    build, ask = PIPELINES[name]
    direct = [document.content for document in ask(build())]
    assert measured(build(), concurrency=3)[0] == direct


def test_a_run_that_was_put_into_the_frameworks_class_is_not_bypassed(monkeypatch):
    plain = Pipeline.run

    def patched(self, data, include_outputs_from=None, **options):
        found = plain(self, data, include_outputs_from=include_outputs_from, **options)
        return {name: {"documents": of.get("documents", [])[::-1]} for name, of in found.items()}

    monkeypatch.setattr(Pipeline, "run", patched)
    direct = [document.content for document in of_ranker(pipeline())]
    texts, evaluation = measured(pipeline())
    assert texts == direct
    assert len(evaluation.run.stages) == 1
    assert any("has its own run, so it is asked as a whole" in note for note in evaluation.notes)


@component
class Joining:
    """Joins the documents that it is given into one, which has the metadata of the first."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]):
        text = " ".join(document.content for document in documents)
        return {"documents": [Document(content=text, meta=documents[0].meta, score=1.0)] if documents else []}


def test_evidence_of_several_documents_that_a_ranker_merges_under_one_is_found_and_said():
    documents = [rl.Document(f"doc{at}", f"The keeper of lamp {at} lit it at {at} o'clock sharp.") for at in range(3)]
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=one.text, meta={"source_id": one.id}) for one in documents])
    made = Pipeline()
    made.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    made.add_component("ranker", Joining())
    made.connect("retriever", "ranker")
    queries = [
        Query(f"q{at}", f"when did the keeper of lamp {at} light it?", (Fact((Passage(one.text, one.id),)),))
        for at, one in enumerate(documents)
    ]
    evaluation = rl.evaluate(made, rl.Dataset(tuple(queries), tuple(documents)), ks=(1,), metrics=["recall"])
    assert evaluation.scores.mean("rerank", "recall@1") == 1
    assert any("not in the document named with the chunk" in note for note in evaluation.notes)
    assert not any("offsets" in note for note in evaluation.notes)
