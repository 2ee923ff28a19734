"""LangChain sequences (`retriever | function`): the retriever is deepened, and what may cut after it is named."""

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.runnables import RunnableLambda

import raglift as rl
from raglift.adapters.langchain import retriever_stages

from .langchain_objects import SharedWords

WORDS = ["old", "young", "tall", "sad", "glad", "third", "lame", "blind", "deaf"]
LINES = [f"The {word} keeper read a letter." for word in WORDS]
AFTER = "RunnableSequence.steps[1]: RunnableLambda (after the retriever)"
turned = RunnableLambda(lambda documents: documents[::-1])


@pytest.fixture
def words():
    return SharedWords.over(LINES, k=2)


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
        (lambda words: words | turned, (AFTER,)),
        (lambda words: (words | turned).with_config(tags=["tagged"]), (AFTER,)),
        (lambda words: words.with_retry() | turned, (AFTER,)),
        (lambda words: RunnableLambda(str.lower) | words, ()),
        (lambda words: RunnableLambda(str.lower) | words | turned, (AFTER.replace("1", "2"),)),
        (
            lambda words: EnsembleRetriever(retrievers=[words | turned]),
            (AFTER.replace("RunnableSequence", "EnsembleRetriever.retrievers[0]"),),
        ),
    ],
)
def test_the_retriever_in_a_sequence_is_deepened_on_a_copy(words, build, fixed):
    system = build(words)
    stage = stage_of(system)
    assert len(stage.retriever.retrieve_one("Which keeper?", 7)) == 7
    assert stage.depth_fixed == fixed
    assert len(system.invoke("Which keeper?")) == words.k == 2


def test_a_sequence_with_two_retrievers_is_left_as_it_is(words):
    two = words | RunnableLambda(lambda documents: documents[0].page_content) | words
    stage = stage_of(two)
    assert stage.depth_fixed == ("RunnableSequence",)
    assert len(stage.retriever.retrieve_one("Which keeper?", 7)) == 2


@pytest.mark.slow
def test_a_function_that_cuts_is_marked(words, dataset):
    cutting = words | RunnableLambda(lambda documents: documents[:3])
    evaluation = rl.evaluate(cutting, dataset, ks=(1, 5), depth="deep", candidates=8)
    assert evaluation.truncated == {"retrieve": 3}
    assert f"retrieve: k could not be set on {AFTER}" in evaluation.notes


def test_a_compressor_inside_a_sequence_keeps_its_depth(words, dataset):
    narrow = ContextualCompressionRetriever(base_retriever=words, base_compressor=TopTwo())
    evaluation = rl.evaluate(narrow | turned, dataset, ks=(1, 5))
    for query, trace in zip(dataset.queries, evaluation.run.traces, strict=True):
        asked = [document.page_content for document in (narrow | turned).invoke(query.text)]
        assert [hit.chunk.text for hit in trace.stages[0].ranking] == asked
    assert evaluation.truncated == {"retrieve": 2}
