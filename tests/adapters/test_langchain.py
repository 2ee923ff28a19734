"""LangChain retrievers as stages, with real retrievers over a real (small) text."""

import copy

import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
    RePhraseQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListLLM
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableBranch, RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter
from pydantic import PrivateAttr

import raglift as rl
from raglift.adapters.filters import langchain_filter
from raglift.adapters.langchain import retriever_stages
from raglift.types.filters import Filter

from .langchain_objects import Lengths, SharedWords

TEXT = """Well, Prince, so Genoa and Lucca are now just family estates of the Buonapartes.
It was in July, 1805, and the speaker was the well-known Anna Pavlovna Scherer.
With these words she greeted Prince Vasili, a man of high rank and importance.
Anna Pavlovna had had a cough for some days and was suffering from la grippe.
All her invitations without exception were written in French that morning.
Heavens, what a virulent attack, replied the prince, not in the least disconcerted.
He spoke in that refined French in which our grandfathers not only spoke but thought.
He kissed her hand, presenting his bald, scented, and shining head.
First of all, dear friend, tell me how you are, said he without altering his tone.
Can one be well while suffering morally, said Anna Pavlovna.
And the fete at the English ambassador's, said the prince, today is Wednesday.
Prince Vasili always spoke languidly, like an actor repeating a stale part."""
DOCUMENTS = [
    Document(page_content=line, id=f"line-{number}", metadata={"source": "war.txt", "part": number % 2})
    for number, line in enumerate(TEXT.splitlines())
]
QUERY = "Which words did Prince Vasili speak?"
EMBEDDING = DeterministicFakeEmbedding(size=16)
DATASET = rl.Dataset.from_dict({line: [line] for line in TEXT.splitlines()})
AFTER = "RunnableSequence.steps[1]: RunnableLambda (after the retriever)"
turned = RunnableLambda(lambda documents: documents[::-1])


@pytest.fixture(scope="module")
def store():
    return InMemoryVectorStore.from_documents(DOCUMENTS, EMBEDDING)


@pytest.fixture
def words():
    return SharedWords(documents=DOCUMENTS, k=2)


@pytest.fixture
def dense(store):
    return store.as_retriever(search_kwargs={"k": 3})


class FirstLines(BaseRetriever):
    """A retriever of the user's own, whose depth nobody can set."""

    def _get_relevant_documents(self, query, *, run_manager):
        return DOCUMENTS[:3]


class Routed(BaseRetriever):
    """A retriever of the user's own, around others."""

    by_topic_retrievers: dict[str, BaseRetriever]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.by_topic_retrievers["war"].invoke(query)


class Reranked(BaseRetriever):
    """A retriever of the user's own that reranks by itself."""

    k: int = 2
    top_n: int = 1

    def _get_relevant_documents(self, query, *, run_manager):
        return DOCUMENTS[: self.k][: self.top_n]


def only_stage(system, **options):
    (stage,) = retriever_stages(system, **options)
    return stage


def retrieve(system, k=10, **options):
    return only_stage(system, **options).retriever.retrieve_one(QUERY, k)


def texts(documents):
    return [document.page_content for document in documents]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search_type", "arguments", "scored"),
    [
        ("similarity", {}, True),
        ("similarity", {"part": 1}, True),
        ("similarity_score_threshold", {"score_threshold": 0.2}, True),
        ("mmr", {"lambda_mult": 0.3}, False),
    ],
)
def test_a_vector_search_gives_what_the_retriever_itself_gives(search_type, arguments, scored):
    from langchain_qdrant import QdrantVectorStore

    metadata = [document.metadata for document in DOCUMENTS]
    store = QdrantVectorStore.from_texts(TEXT.splitlines(), EMBEDDING, metadata, location=":memory:")
    if "part" in arguments:
        arguments = {"filter": langchain_filter(store, Filter.of(arguments))}
    retriever = store.as_retriever(search_type=search_type, search_kwargs={"k": 6} | arguments)
    ranking = retrieve(retriever, k=6)
    expected = retriever.invoke(QUERY)
    assert [chunk.id for chunk in ranking.chunks] == [document.metadata["_id"] for document in expected]
    assert all((hit.score is not None) == scored for hit in ranking)
    assert len(ranking) > 1


@pytest.mark.slow
def test_a_vector_store_is_asked_for_scores(store):
    expected = [(document.id, score) for document, score in store.similarity_search_with_score(QUERY, k=5)]
    stage = only_stage(store)
    assert stage.system == "InMemoryVectorStore"
    assert [(hit.chunk.id, hit.score) for hit in stage.retriever.retrieve_one(QUERY, 5)] == expected


def test_a_store_that_changed_only_its_plain_search_is_asked_for_that():
    class Reversed(InMemoryVectorStore):
        def similarity_search(self, query, k=4, **kwargs):
            return super().similarity_search(query, k, **kwargs)[::-1]

    store = Reversed.from_documents(DOCUMENTS, EMBEDDING)
    ranking = retrieve(store, k=4)
    assert [chunk.text for chunk in ranking.chunks] == texts(store.similarity_search(QUERY, k=4))
    assert ranking[0].score is None


@pytest.mark.slow
def test_mmr_fetches_enough_to_reach_the_depth():
    lines = [f"{n} {line}" for n in range(4) for line in TEXT.splitlines()]
    retriever = InMemoryVectorStore.from_texts(lines, EMBEDDING).as_retriever(search_type="mmr")
    assert len(retrieve(retriever, k=40)) == 40


def test_depth_is_raised_on_copies_of_nested_retrievers_only(words, dense):
    ensemble = EnsembleRetriever(retrievers=[words, dense], weights=[0.5, 0.5])
    before = copy.deepcopy((words.k, dense.search_kwargs, ensemble.weights))
    stage = only_stage(ensemble)
    assert len(stage.retriever.retrieve_one(QUERY, 12)) == 12
    assert (words.k, dense.search_kwargs, ensemble.weights) == before
    assert ensemble.retrievers[0] is words
    assert ensemble.retrievers[1] is dense
    assert stage.system == "EnsembleRetriever(SharedWords + VectorStoreRetriever(InMemoryVectorStore))"
    assert stage.depth_fixed == ()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda words: words.with_retry(),
        lambda words: words.with_config(tags=["tagged"]),
        lambda words: words.with_fallbacks([FirstLines()]),
        lambda words: RunnableBranch((lambda query: True, words), FirstLines()),
        lambda words: RunnableBranch((lambda query: False, FirstLines()), words) | list,
        lambda words: MergerRetriever(retrievers=[words, words]),
        lambda words: RePhraseQueryRetriever.from_llm(words, FakeListLLM(responses=["Prince"])),
        lambda words: MultiQueryRetriever.from_llm(words, FakeListLLM(responses=["Prince\nFrench"])),
        lambda words: words.configurable_fields(k=ConfigurableField(id="k")).with_config(configurable={"k": 1}),
        lambda words: words.configurable_fields(k=ConfigurableField(id="k")).with_retry(),
        lambda words: Routed(by_topic_retrievers={"war": words}),
    ],
)
def test_wrappers_let_the_depth_through(words, wrap):
    assert len(retrieve(wrap(words), k=9)) == 9
    assert words.k == 2


def test_a_private_retriever_is_reached_as_well(store):
    class Careful(BaseRetriever):
        k: int = 2
        _inner: BaseRetriever = PrivateAttr()

        def model_post_init(self, context):
            self._inner = store.as_retriever(search_kwargs={"k": self.k})

        def _get_relevant_documents(self, query, *, run_manager):
            return self._inner.invoke(query)

    careful = Careful()
    assert len(retrieve(careful, k=9)) == 9
    assert careful._inner.search_kwargs == {"k": 2}


def test_parents_are_found_through_more_children_and_their_number_is_said_to_be_unset():
    parents = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(EMBEDDING),
        docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(separator=" ", chunk_size=30, chunk_overlap=0),
    )
    parents.add_documents(DOCUMENTS)
    assert len(retrieve(parents, k=30)) > len(parents.invoke(QUERY))
    assert parents.search_kwargs == {}
    assert only_stage(parents).depth_fixed == ("ParentDocumentRetriever (k counts child chunks)",)


def test_parts_whose_depth_cannot_be_set_are_named(words):
    function = RunnableLambda(lambda query: DOCUMENTS[:2])
    assert only_stage(function).depth_fixed == ("RunnableLambda",)
    assert only_stage(function.with_retry()).depth_fixed == ("RunnableLambda",)
    nested = EnsembleRetriever(retrievers=[words, MergerRetriever(retrievers=[FirstLines()]), function])
    assert only_stage(nested).depth_fixed == (
        "EnsembleRetriever.retrievers[1].retrievers[0]: FirstLines",
        "EnsembleRetriever.retrievers[2]: RunnableLambda",
    )


def test_a_compressor_inside_an_ensemble_raises_its_depth_unless_as_deployed(words):
    narrow = ContextualCompressionRetriever(
        base_retriever=words, base_compressor=CrossEncoderReranker(model=Lengths(), top_n=1)
    )
    ensemble = EnsembleRetriever(retrievers=[narrow])
    assert len(retrieve(ensemble, k=9)) == 9
    assert len(retrieve(ensemble, k=9, as_deployed=True)) == 1
    assert only_stage(ensemble).depth_fixed == ()
    assert only_stage(ensemble, as_deployed=True).has_own_depth


def test_a_top_n_beside_a_k_is_a_rerankers():
    assert len(retrieve(Reranked(), k=9)) == 9
    assert len(retrieve(Reranked(), k=9, as_deployed=True)) == 1
    assert only_stage(Reranked(), as_deployed=True).has_own_depth


# Sequences: the retriever is deepened, and what may cut after it is named.


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
    assert len(retrieve(system, k=7)) == 7
    assert only_stage(system).depth_fixed == fixed
    assert len(system.invoke(QUERY)) == words.k == 2


def test_a_sequence_with_two_retrievers_is_left_as_it_is(words):
    two = words | RunnableLambda(lambda documents: documents[0].page_content) | words
    assert only_stage(two).depth_fixed == ("RunnableSequence",)
    assert len(retrieve(two, k=7)) == 2


@pytest.mark.slow
def test_a_function_that_cuts_is_marked(words):
    cutting = words | RunnableLambda(lambda documents: documents[:3])
    evaluation = rl.evaluate(cutting, DATASET, ks=(1, 5), depth="deep", candidates=8)
    assert evaluation.truncated == {"retrieve": 3}
    assert f"retrieve: k could not be set on {AFTER}" in evaluation.notes


def test_a_compressor_inside_a_sequence_keeps_its_depth(words):
    narrow = ContextualCompressionRetriever(
        base_retriever=words, base_compressor=CrossEncoderReranker(model=Lengths(), top_n=2)
    )
    evaluation = rl.evaluate(narrow | turned, DATASET, ks=(1, 5))
    for query, trace in zip(DATASET.queries, evaluation.run.traces, strict=True):
        assert [hit.chunk.text for hit in trace.stages[0].ranking] == texts((narrow | turned).invoke(query.text))
    assert evaluation.truncated == {"retrieve": 2}
