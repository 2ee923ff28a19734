"""LangChain sequences (`retriever | function`): the retriever is deepened, and what may cut after it is named."""

import warnings

import pytest

import raglift as rl
from raglift.adapters.langchain import retriever_stages

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community announces its end at import
    from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.runnables import RunnableLambda

WORDS = ["old", "young", "tall", "sad", "glad", "third", "lame", "blind", "deaf"]
LINES = [f"The {word} keeper read a letter." for word in WORDS]
AFTER = "RunnableSequence.steps[1]: RunnableLambda (after the retriever)"
turned = RunnableLambda(lambda documents: documents[::-1])


@pytest.fixture
def bm25():
    return BM25Retriever.from_texts(LINES, k=2)


@pytest.fixture
def dataset():
    return rl.Dataset.from_dict(
        {f"Where was the {word} keeper?": [line] for word, line in zip(WORDS, LINES, strict=True)}
    )


class TopTwo(BaseDocumentCompressor):
    top_n: int = 2

    def compress_documents(self, documents, query, callbacks=None):
        return documents[: self.top_n]


def stage_of(system, **options):
    (stage,) = retriever_stages(system, **options)
    return stage


@pytest.mark.parametrize(
    ("build", "fixed"),
    [
        (lambda bm25: bm25 | turned, (AFTER,)),
        (lambda bm25: (bm25 | turned).with_config(tags=["tagged"]), (AFTER,)),
        (lambda bm25: bm25.with_retry() | turned, (AFTER,)),
        (lambda bm25: RunnableLambda(str.lower) | bm25, ()),
        (lambda bm25: RunnableLambda(str.lower) | bm25 | turned, (AFTER.replace("1", "2"),)),
        (
            lambda bm25: EnsembleRetriever(retrievers=[bm25 | turned]),
            (AFTER.replace("RunnableSequence", "EnsembleRetriever.retrievers[0]"),),
        ),
    ],
)
def test_the_retriever_in_a_sequence_is_deepened_on_a_copy(bm25, build, fixed):
    system = build(bm25)
    stage = stage_of(system)
    assert len(stage.retriever.retrieve_one("Which keeper?", 7)) == 7
    assert stage.depth_fixed == fixed
    assert len(system.invoke("Which keeper?")) == bm25.k == 2


def test_a_sequence_with_two_retrievers_is_left_as_it_is(bm25):
    two = bm25 | RunnableLambda(lambda documents: documents[0].page_content) | bm25
    stage = stage_of(two)
    assert stage.depth_fixed == ("RunnableSequence",)
    assert len(stage.retriever.retrieve_one("Which keeper?", 7)) == 2


@pytest.mark.slow
def test_a_function_that_cuts_is_marked(bm25, dataset):
    cutting = bm25 | RunnableLambda(lambda documents: documents[:3])
    evaluation = rl.evaluate(cutting, dataset, ks=(1, 5), depth="deep", candidates=8)
    assert evaluation.truncated == {"retrieve": 3}
    assert f"retrieve: k could not be set on {AFTER}" in evaluation.notes


def test_a_compressor_inside_a_sequence_keeps_its_depth(bm25, dataset):
    narrow = ContextualCompressionRetriever(base_retriever=bm25, base_compressor=TopTwo())
    evaluation = rl.evaluate(narrow | turned, dataset, ks=(1, 5))
    for query, trace in zip(dataset.queries, evaluation.run.traces, strict=True):
        asked = [document.page_content for document in (narrow | turned).invoke(query.text)]
        assert [hit.chunk.text for hit in trace.stages[0].ranking] == asked
    assert evaluation.truncated == {"retrieve": 2}
