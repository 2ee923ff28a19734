"""Causes are claimed where a change alone finds a lost fact; proposals are measured on other questions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rapidfuzz import fuzz

import raglift as rl
from raglift.errors import ConfigurationError, RunError
from raglift.repairing import Change, LostFact, Repairs, Tried, read_repairs
from raglift.repairing.records import effect_of
from raglift.repairing.systems import System, Trials, without_copies
from raglift.results.evaluation import Evaluation
from raglift.retrieval import BM25Retriever
from raglift.retrieval.rerankers import Pair, PairReranker, Truncated
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.filters import Filter
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

FILLER = "The sea was calm and the boats lay still. "


def documents(count: int = 12) -> tuple[Document, ...]:
    topics = ["lamp", "horn", "ferry", "oyster", "peat", "rope", "hen", "tyre", "moor", "cabin", "stamp", "taxi"]
    return tuple(
        Document(f"d{n}", f"{FILLER * 3}The {topic} is kept in shed {n}. {FILLER * 3}", {"year": 2020 + n})
        for n, topic in enumerate(topics[:count])
    )


def query(number: int, text: str, passage: str, **more: Any) -> Query:
    document = next(one for one in documents() if passage in one.text)
    start = document.text.index(passage)
    return Query(f"q{number}", text, (Fact((Passage(passage, document.id, start, start + len(passage)),)),), **more)


def dataset(*queries: Query, more: Sequence[Document] = ()) -> Dataset:
    return Dataset(queries, (*documents(), *more), "sheds")


def evaluated(data: Dataset, retriever: str, chunker: str = "recursive:600/0", **settings: Any) -> Evaluation:
    """The evaluation of a system of raglift's own parts, which its run names."""
    from raglift.adapters.splitters import chunker_by_name
    from raglift.running.systems import LocalSystem, build_retriever

    system = build_retriever(data, LocalSystem(retriever, chunker_by_name(chunker)), progress=False)
    usual = {"ks": (1, 3), "depth": "deep", "candidates": 6, "progress": False, "latency": 0}
    found = rl.evaluate(system, data, **{**usual, **settings})
    parts = {"retriever": retriever, "chunker": chunker, "reranker": "none"}
    return replace(found, run=replace(found.run, spec={**found.run.spec, "parts": parts}))


def cause_of(repairs: Repairs, query_id: str = "q0") -> str:
    (lost,) = [one for one in repairs.lost if one.query_id == query_id]
    return lost.cause


LAMP = query(0, "where is the lamp kept", "The lamp is kept in shed 0.")


def test_a_passage_that_chunks_cut_is_mended_by_an_overlap_or_another_size() -> None:
    data = dataset(LAMP, query(1, "the horn", "The horn is kept in shed 1."))
    evaluation = evaluated(data, "bm25", "recursive:140/0", match=rl.MatchRule("containment", minimum_length=30))
    repairs = evaluation.repairs(proposing=False)
    assert {one.cause for one in repairs.lost} <= {"cut", "overlap", "unexplained"}
    assert cause_of(repairs) in ("cut", "overlap")
    assert repairs.lost[0].mend is not None


def test_an_analyzer_of_another_language_is_a_cause() -> None:
    data = dataset(query(0, "keeping lamps", "The lamp is kept in shed 0."))
    repairs = evaluated(data, "bm25(language=none)").repairs(proposing=False)
    assert cause_of(repairs) == "language"
    assert repairs.lost[0].mend.change.settings == "--retriever bm25"  # type: ignore[union-attr]


def test_a_filter_that_excludes_the_document_is_a_cause_without_asking_again() -> None:
    data = dataset(replace(LAMP, filter=Filter.of({"year": 2021})))
    chunks = [
        replace(chunk, metadata=data.document_by_id[str(chunk.doc_id)].metadata)
        for chunk in rl.RecursiveChunker(600, overlap=0).split(data.documents)
    ]
    retriever = BM25Retriever(chunks)
    evaluation = rl.evaluate(retriever, data, ks=(1, 3), latency=0, chunks=chunks)
    assert cause_of(evaluation.repairs(proposing=False)) == "filter"
    asked = evaluation.repairs(system=retriever, proposing=False)
    assert asked.lost[0].tried[0].rank == 1


def test_copies_that_come_first_are_a_cause() -> None:
    older = [Document(f"old{n}", documents()[0].text.replace("shed 0", f"shed {n + 50} lamp")) for n in range(5)]
    repairs = evaluated(dataset(LAMP, more=older), "bm25").repairs(proposing=False)
    assert cause_of(repairs) == "copies"


class Beginnings(PairReranker):
    """Scores by shared words, of the first characters of a text alone."""

    identity = "beginnings"

    def score(self, batch: Sequence[Pair]) -> list[float]:
        return [float(len({*query.split()} & {*text[:100].lower().split()} - {"the", "is"})) for query, text in batch]

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated]:
        return [Truncated(Truncated.TEXT * (len(text) > 100)) for _, text in pairs]


def test_a_reranker_that_reads_the_beginning_is_a_cause() -> None:
    other = [Document(f"x{n}", f"lamp calm sea boats {n}") for n in range(4)]
    data = dataset(LAMP, more=other)
    chunks = rl.RecursiveChunker(600, overlap=0).split(data.documents)
    retriever, reranker = BM25Retriever(chunks), Beginnings()
    evaluation = rl.evaluate(retriever, data, reranker=reranker, ks=(1, 3), candidates=6, latency=0, chunks=chunks)
    assert cause_of(evaluation.repairs(system=retriever, reranker=reranker, proposing=False)) == "reranker truncates"


def test_a_label_that_is_nowhere_and_a_document_that_is_not_indexed_are_causes() -> None:
    wrong = replace(LAMP, facts=(Fact((Passage("The lamp was never kept in any shed."),)),))
    data = dataset(wrong, query(1, "the horn", "The horn is kept in shed 1."))
    chunks = rl.RecursiveChunker(600, overlap=0).split([one for one in data.documents if one.id != "d1"])
    repairs = rl.evaluate(BM25Retriever(chunks), data, ks=(3,), latency=0, chunks=chunks).repairs()
    assert [one.cause for one in repairs.lost] == ["label", "missing document"]
    assert repairs.notes


def test_too_few_hits_are_a_cause() -> None:
    data = dataset(LAMP, *(query(n, "shed kept is", f"The {t} is kept in shed {n}.") for n, t in [(5, "rope")]))
    chunks = rl.RecursiveChunker(600, overlap=0).split(data.documents)
    retriever = BM25Retriever(chunks)
    evaluation = rl.evaluate(retriever, data, ks=(1,), k=1, latency=0, chunks=chunks)
    repairs = evaluation.repairs(system=retriever, k=12, proposing=False)
    assert cause_of(repairs, "q5") == "cut off"


def test_what_no_change_finds_is_unexplained_and_named_words_are_missing() -> None:
    data = dataset(query(0, "illumination storage", "The lamp is kept in shed 0."))
    (lost,) = evaluated(data, "bm25").repairs(proposing=False).lost
    assert lost.missing == ("illumination", "storage")
    assert lost.cause in ("unexplained", "retriever")  # embeddings may know that it is the same


def test_a_proposal_mends_more_than_it_breaks_on_questions_it_was_not_chosen_on() -> None:
    topics = ["lamp", "horn", "ferry", "oyster", "peat", "rope", "hen", "tyre", "moor", "cabin", "stamp", "taxi"]
    passages = [f"The {topic} is kept in shed {n}." for n, topic in enumerate(topics)]
    queries = [
        query(n * 10 + m, f"{'so ' * m}keeping {topics[n]}s", one) for n, one in enumerate(passages) for m in range(3)
    ]
    evaluation = evaluated(dataset(*queries), "bm25(language=none)")
    repairs = evaluation.repairs()
    best = repairs.proposals[0]
    assert "--retriever bm25" in best.settings
    assert best.is_worth_it
    assert best.broken == ()
    assert best.questions == 18
    assert set(repairs.to_frame()["cause"]) == {"language"}
    assert "Try BM25" in str(repairs)


def test_agents_and_runs_without_documents_are_refused() -> None:
    evaluation = evaluated(dataset(LAMP), "bm25(language=none)")
    without = replace(evaluation, dataset=replace(evaluation.dataset, documents=()))
    with pytest.raises(ConfigurationError, match="documents"):
        without.repairs()
    with pytest.raises(ConfigurationError, match="k: found 0"):
        evaluation.repairs(k=0)


def test_failure_analysis_explanations_and_the_page_name_the_cause_that_is_kept_with_a_run(tmp_path: Path) -> None:
    data = dataset(query(0, "keeping lamps", "The lamp is kept in shed 0."))
    evaluation = evaluated(data, "bm25(language=none)")
    assert evaluation.failure_analysis().causes == ()
    evaluation.with_repairs(evaluation.repairs()).save(tmp_path / "run")
    loaded = rl.load_evaluation(tmp_path / "run")
    assert loaded.failure_analysis().causes == (("language", 1),)
    assert loaded.failure_analysis(1).causes == ()  # found out at k = 3
    ((fact, reason),) = loaded.explain("q0").causes
    assert (fact, reason.partition(":")[0]) == (1, "language")
    loaded.report(tmp_path / "page.html")
    assert 'href="#queries?query=q0"' in (tmp_path / "page.html").read_text()


def test_kept_repairs_are_read_as_they_were_and_damaged_ones_refused(tmp_path: Path) -> None:
    queries = [
        query(n, f"keeping {topic}s", f"The {topic} is kept in shed {n}.") for n, topic in enumerate(["lamp", "horn"])
    ]
    evaluation = evaluated(dataset(*queries), "bm25(language=none)")
    repairs = evaluation.repairs()
    evaluation.save(tmp_path / "run")
    assert read_repairs(tmp_path / "run") is None
    repairs.save(tmp_path / "run")
    assert read_repairs(tmp_path / "run") == repairs
    file = tmp_path / "run" / "repairs.json"
    text = file.read_text()
    too_large = text.replace('"questions": 2', f'"questions": {10**400}')
    for damaged in ("[]", "{", too_large, text.replace('"language"', '"sabotage"')):
        file.write_text(damaged)
        with pytest.raises(RunError, match=r"repairs\.json: damaged"):
            rl.load_evaluation(tmp_path / "run")


def tried(cause: str, rank: int, agreeing: float, *, only_shuffles: bool = False) -> Tried:
    return Tried(Change(cause, f"another {cause}"), rank, agreeing, only_shuffles)


@pytest.mark.parametrize(
    ("one", "explains"),
    [
        (tried("headings", 2, 1.0), True),
        (tried("chunk size", 1, 5 / 11), False),
        (tried("chunk size", 1, 6 / 11), True),
        (tried("chunk size", 1, 1.0, only_shuffles=True), False),
        (tried("k", 4, 1.0), False),
    ],
)
def test_a_change_explains_only_what_neighbours_find_and_what_does_not_break_as_much(
    one: Tried, explains: bool
) -> None:
    assert one.explains is explains


def test_the_mend_of_a_fact_without_a_cause_is_one_without_a_doubt() -> None:
    changes = (tried("chunk size", 1, 0.2), tried("k", 4, 1.0))
    lost = LostFact("q", "?", 1, "x", "not_retrieved", "unexplained", changes)
    assert lost.mend is changes[1]
    assert replace(lost, cause="chunk size").mend is changes[0]
    steady = tried("chunk size", 2, 1.0)
    assert replace(lost, cause="chunk size", tried=(*changes, steady)).mend is steady


@pytest.mark.parametrize(
    ("mended", "broken", "shuffles"), [(1, 2, False), (5, 3, True), (6, 3, False), (35, 31, True), (1, 0, False)]
)
def test_a_change_that_breaks_more_than_half_as_much_as_it_mends_only_shuffles(
    mended: int, broken: int, shuffles: bool
) -> None:
    before, after = np.array([0.0] * mended + [1.0] * broken), np.array([1.0] * mended + [0.0] * broken)
    effect = effect_of(Change("headings", "headings"), before, after)
    assert (effect.mended, effect.broken, effect.only_shuffles) == (mended, broken, shuffles)


def test_what_won_against_a_fact_has_its_words_and_score() -> None:
    data = dataset(query(0, "horn, horn and lamp: the horn", "The lamp is kept in shed 0."))
    evaluation = evaluated(data, "bm25", ks=(1,), k=6)
    (lost,) = evaluation.repairs(k=1, proposing=False).lost
    assert lost.rival is not None
    assert (lost.rival.doc_id, lost.rival.words, lost.missing) == ("d1", ("horn",), ("horn",))
    assert lost.rival.score >= lost.rival.passage_score  # type: ignore[operator]


class Flaky:
    """Finds nothing for the first so many questions, and then fails for one."""

    def __init__(self, retriever: BM25Retriever, first: int, fails: str = "") -> None:
        self.retriever, self.left, self.fails = retriever, first, fails

    def retrieve_one(self, query: str, k: int) -> Ranking:
        if self.fails and self.fails in query and self.left <= 0:
            raise OSError("gone")
        self.left -= 1
        return self.retriever.retrieve([query], k)[0] if self.left < 0 else Ranking(())


def test_a_system_that_finds_it_when_asked_again_is_said_to_and_one_that_fails_too() -> None:
    data = dataset(LAMP, query(1, "the horn", "The horn is kept in shed 1."))
    chunks = rl.RecursiveChunker(600, overlap=0).split(data.documents)
    flaky = Flaky(BM25Retriever(chunks), 2, fails="horn")
    evaluation = rl.evaluate(flaky, data, ks=(3,), latency=0, chunks=chunks)
    repairs = evaluation.repairs(system=flaky, proposing=False)
    assert cause_of(repairs) == "asked again"
    assert "No change" not in str(repairs)  # nothing was tried on all questions
    assert cause_of(repairs, "q1") == "unexplained"
    assert len(repairs.notes) == 1


def test_a_system_of_several_stages_is_asked_again_with_its_reranker() -> None:
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_core.documents import Document as TheirDocument
    from langchain_core.documents.compressor import BaseDocumentCompressor
    from langchain_core.retrievers import BaseRetriever

    class Backwards(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return documents[::-1]

    bm25 = BM25Retriever(rl.RecursiveChunker(600, overlap=0).split(dataset(LAMP).documents))

    class Theirs(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[TheirDocument]:
            (ranking,) = bm25.retrieve([query], 6)
            return [TheirDocument(hit.chunk.text, metadata={"id": hit.chunk.id}) for hit in ranking]

    retriever = Theirs()
    system = ContextualCompressionRetriever(base_retriever=retriever, base_compressor=Backwards())
    data = dataset(LAMP)
    evaluation = rl.evaluate(system, data, ks=(1,), latency=0)
    assert cause_of(evaluation.repairs(system=system, k=1, proposing=False)) == "reranker"


@pytest.mark.parametrize("named", [{"chunker": "antigravity:fly"}, {"retriever": "dense", "embedding": "openai:large"}])
def test_a_run_names_neither_code_to_import_nor_a_provider_to_send_documents_to(named: dict[str, str]) -> None:
    data = dataset(query(0, "illumination storage", "The lamp is kept in shed 0."))
    evaluation = evaluated(data, "bm25")
    parts = {**evaluation.run.spec["parts"], **named}
    repairs = replace(evaluation, run=replace(evaluation.run, spec={**evaluation.run.spec, "parts": parts})).repairs()
    assert [len(one.tried) for one in repairs.lost] == [0]
    assert len(repairs.notes) == 1
    assert "antigravity" not in sys.modules


def compression(top_n: int, source: str = "d{}") -> Any:
    """A compression retriever of LangChain that finds shed n at rank n + 1, and turns its hits around."""
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_core.documents import Document as TheirDocument
    from langchain_core.documents.compressor import BaseDocumentCompressor
    from langchain_core.retrievers import BaseRetriever

    class Backwards(BaseDocumentCompressor):
        top_n: int

        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return documents[::-1][: self.top_n]

    class InOrder(BaseRetriever):
        k: int = 6

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[TheirDocument]:
            found = documents()[: self.k]
            return [TheirDocument(one.text, metadata={"source": source.format(n)}) for n, one in enumerate(found)]

    return ContextualCompressionRetriever(base_retriever=InOrder(), base_compressor=Backwards(top_n=top_n))


def test_what_a_reranker_ranks_below_k_is_not_cut_off() -> None:
    system = compression(top_n=1)
    evaluation = rl.evaluate(system, dataset(LAMP), ks=(1,), latency=0)
    assert cause_of(evaluation.repairs(proposing=False)) == "unexplained"
    assert cause_of(evaluation.repairs(system=system, proposing=False)) == "reranker"


def test_a_system_is_asked_again_with_its_own_top_n() -> None:
    system = compression(top_n=2)
    third = query(0, "where is the oyster kept", "The oyster is kept in shed 3.")
    evaluation = rl.evaluate(system, dataset(third), ks=(3,), latency=0)
    (lost,) = evaluation.repairs(system=system, proposing=False).lost
    assert [(one.change.cause, one.rank) for one in lost.tried] == [("cut off", 3)]


def test_hits_of_a_system_that_is_asked_again_are_of_the_documents_that_their_paths_name() -> None:
    system = compression(top_n=1, source="kb/d{}")
    evaluation = rl.evaluate(system, dataset(LAMP), ks=(1,), latency=0)
    assert cause_of(evaluation.repairs(system=system, proposing=False)) == "reranker"


def test_options_are_not_proposed_for_what_is_changed_in_the_code_of_the_user() -> None:
    queries = [query(n, f"question {n}", "The lamp is kept in shed 0.") for n in range(24)]
    system = compression(top_n=1)
    evaluation = rl.evaluate(system, dataset(*queries), ks=(1,), latency=0)
    (proposal,) = [one for one in evaluation.repairs(system=system).proposals if len(one.changes) == 1]
    assert (proposal.changes[0].cause, proposal.settings) == ("reranker", "")


def test_hits_that_repeat_a_relevant_one_are_copies() -> None:
    from raglift.repairing.systems import without_copies
    from raglift.types.documents import Chunk

    texts = [
        "the lamp is in shed one",
        "the lamp is in shed two",
        "the horn sounds at noon in fog",
        "the lamp is in shed 3",
    ]
    ranking = Ranking.of((Chunk(text, str(n), f"d{n}"), 1.0) for n, text in enumerate(texts))
    assert [hit.chunk.id for hit in without_copies(ranking, {2})] == ["1", "2"]


def test_filters_hold_in_every_way_of_retrieving() -> None:
    data = dataset(replace(LAMP, filter=Filter.of({"year": 2021})), query(1, "the horn", "The horn is kept in shed 1."))
    trials = Trials(data, rl.MatchRule(), {}, progress=False)
    for retriever in ("bm25", "dense", "hybrid"):
        system = System(retriever, "recursive:600/0", "bge-small", "none", 6, 3)
        for one in (system, replace(system, embeds_whole=True)):
            filtered, other = trials.retrieved(one.source)
            assert (len(filtered.hits), len(other.hits) > 0) == (0, True)
            assert len(trials.retrieved(replace(one, is_filtered=False).source)[0].hits) > 0


def searched(*queries: Query, depth: int = 6) -> tuple[Dataset, BM25Retriever, Any]:
    """A dataset, BM25 over it, and a LangChain retriever that returns so many of its hits, with paths of files."""
    from langchain_core.documents import Document as TheirDocument
    from langchain_core.retrievers import BaseRetriever

    data = dataset(*queries)
    bm25 = BM25Retriever(rl.RecursiveChunker(600, overlap=0).split(data.documents))

    class Theirs(BaseRetriever):
        k: int = depth

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[TheirDocument]:
            (ranking,) = bm25.retrieve([query], self.k)
            hits = [(hit.chunk.text, f"/data/{hit.chunk.doc_id}.txt") for hit in ranking]
            return [TheirDocument(text, metadata={"source": path}) for text, path in hits]

    return data, bm25, Theirs()


HORN = query(0, "horn, horn and lamp: the horn", "The lamp is kept in shed 0.")


def test_a_system_that_returns_few_hits_is_asked_again_for_as_many_and_documents_are_found_by_their_paths() -> None:
    data, _, system = searched(HORN, depth=1)
    evaluation = rl.evaluate(system, data, latency=0)
    (lost,) = evaluation.repairs(system=system, k=3, proposing=False).lost
    assert lost.cause == "cut off"
    assert (lost.tried[0].rank, lost.tried[0].change.title) == (2, "3 hits in place of 1")


def test_what_was_reranked_is_asked_again_with_its_reranker_alone() -> None:
    data, bm25, _ = searched(HORN)
    evaluation = rl.evaluate(bm25, data, reranker=Beginnings(), ks=(1,), candidates=4, latency=0)
    with pytest.raises(ConfigurationError, match="without a reranker"):
        evaluation.repairs(system=bm25)
    with pytest.raises(ConfigurationError, match="without a system"):
        evaluation.repairs(reranker=Beginnings())


def lamps() -> list[tuple[str, str, dict[str, Any]]]:
    return [(one.id, one.text, {"doc_id": one.id, "year": 2020 + number}) for number, one in enumerate(documents())]


def langchain_with_filter() -> Any:
    from langchain_core.documents import Document as TheirDocument
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([TheirDocument(text, metadata=metadata, id=key) for key, text, metadata in lamps()])
    wrong = {"k": 60, "filter": lambda document: document.metadata["year"] == 1999}
    return store.as_retriever(search_kwargs=wrong)


def llama_index_with_filter() -> Any:
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

    nodes = [TextNode(id_=key, text=text, metadata=metadata) for key, text, metadata in lamps()]
    wrong = MetadataFilters(filters=[MetadataFilter(key="year", value=1999)])
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(8)).as_retriever(similarity_top_k=60, filters=wrong)


def langchain_bound_to_a_filter() -> Any:
    retriever = langchain_with_filter()
    wrong = retriever.search_kwargs.pop("filter")
    return retriever.bind(filter=wrong)


@pytest.mark.parametrize("make", [langchain_with_filter, langchain_bound_to_a_filter, llama_index_with_filter])
def test_a_filter_of_the_retriever_itself_is_a_cause(make: Callable[[], Any]) -> None:
    data, system = dataset(LAMP), make()
    evaluation = rl.evaluate(system, data, ks=(60,), latency=0)
    repairs = evaluation.repairs(data, system=system, proposing=False)
    assert cause_of(repairs) == "filter"
    assert evaluation.mean("recall@60") == rl.evaluate(system, data, ks=(60,)).mean("recall@60") == 0  # it is kept


def test_a_filter_that_a_retriever_does_not_take_is_no_cause() -> None:
    data, _, system = searched(replace(HORN, filter=Filter.of({"year": 2021})))
    evaluation = rl.evaluate(system, data, ks=(1,), latency=0)
    assert cause_of(evaluation.repairs(proposing=False)) == "unexplained"


def test_a_text_that_is_nowhere_is_no_cause_beside_an_alternative_or_where_it_is_folded() -> None:
    data, bm25, _ = searched(HORN)
    (ranking,) = bm25.retrieve(["lamp"], 1)
    nowhere, chunk = Passage("The lamp was never in a shed."), Passage(chunk_id=ranking.hits[0].chunk.id)
    folded = Passage("The horn is kept in shed １.")
    data = replace(data, queries=(replace(HORN, facts=(Fact((nowhere, chunk)), Fact((folded,)), Fact((nowhere,)))),))
    rule = rl.MatchRule(unicode_folding=True)
    chunks = rl.RecursiveChunker(140, overlap=0).split(data.documents)
    lost = rl.evaluate(BM25Retriever(chunks), data, ks=(1,), latency=0, match=rule).repairs(proposing=False).lost
    assert [one.fact for one in lost if one.cause == "label"] == [3]


@pytest.mark.parametrize("within_a_loop", [False, True])
def test_an_async_system_is_asked_again_in_a_notebook_too(*, within_a_loop: bool) -> None:
    import asyncio

    data, bm25, _ = searched(HORN)

    class Async:
        async def aretrieve_one(self, query: str, k: int) -> Ranking:
            return bm25.retrieve([query], k)[0]

    evaluation = rl.evaluate(Async(), data, ks=(1,), k=1, latency=0)

    async def asked() -> Repairs:
        return evaluation.repairs(system=Async(), k=3, proposing=False)

    repairs = asyncio.run(asked()) if within_a_loop else evaluation.repairs(system=Async(), k=3, proposing=False)
    assert (repairs.notes, repairs.lost[0].tried[0].rank) == ((), 2)


def test_errors_of_a_system_that_takes_all_questions_at_once_count_as_no_hits() -> None:
    class Down:
        def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
            raise OSError("down")

    data, bm25, _ = searched(HORN)
    repairs = rl.evaluate(bm25, data, ks=(1,), latency=0).repairs(system=Down(), proposing=False)
    assert (cause_of(repairs), len(repairs.notes)) == ("unexplained", 1)


def test_a_run_with_repairs_can_be_overwritten_and_they_go_with_what_they_are_of(tmp_path: Path) -> None:
    evaluation = evaluated(dataset(query(0, "keeping lamps", "The lamp is kept in shed 0.")), "bm25(language=none)")
    evaluation.with_repairs(evaluation.repairs()).save(tmp_path / "run")
    evaluation.save(tmp_path / "run", overwrite=True)
    assert rl.load_evaluation(tmp_path / "run").known_repairs is None


def test_no_proposal_is_denied_where_nothing_was_tried_on_all_questions() -> None:
    evaluation = evaluated(dataset(query(0, "keeping lamps", "The lamp is kept in shed 0.")), "bm25(language=none)")
    tried, untried = evaluation.repairs(), evaluation.repairs(proposing=False)
    assert ("No change" in str(tried), "No change" in str(untried)) == (True, False)


def test_what_needs_a_package_that_is_not_installed_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from raglift.repairing import changes

    evaluation = evaluated(dataset(HORN), "bm25", ks=(1,))
    monkeypatch.setattr(changes.importlib.util, "find_spec", lambda _: None)
    (lost,) = evaluation.repairs(k=1, proposing=False).lost
    assert [name for name, _ in lost.alone] == ["BM25"]


def test_a_run_names_no_code_that_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_a_stranger.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    data = dataset(query(0, "keeping lamps", "The lamp is kept in shed 0."))
    found = evaluated(data, "bm25(language=none)")
    parts = {**found.run.spec["parts"], "chunker": "of_a_stranger:splitter"}
    named = replace(found, run=replace(found.run, spec={**found.run.spec, "parts": parts}))
    repairs = named.repairs()
    assert (len(repairs.lost), len(repairs.notes)) == (1, 1)


def test_a_run_with_kept_repairs_is_overwritten_as_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    evaluation = evaluated(dataset(query(0, "keeping lamps", "The lamp is kept in shed 0.")), "bm25(language=none)")
    kept = evaluation.with_repairs(Repairs("bm25", 3, 1, (), (), ()))
    kept.save("~/run")
    assert (tmp_path / "run" / "repairs.json").is_file()
    loaded = rl.load_evaluation("~/run")
    assert loaded.known_repairs == kept.known_repairs
    assert loaded.known_repairs is not None
    (tmp_path / "run" / "repairs.json").unlink()
    loaded.known_repairs.save("~/run")
    assert (tmp_path / "run" / "repairs.json").is_file()
    evaluation.save("~/run", overwrite=True)
    assert rl.load_evaluation("~/run").known_repairs is None


def test_texts_with_little_in_common_are_no_copies_and_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = np.random.default_rng(0).choice(list("abcdefgh "), size=(2, 500))
    first, other = ("".join(row) for row in letters)
    copy = f"{other}{first[:200]}x{first[201:]}"
    ranking = Ranking.of(
        (Chunk(id=name, text=text, doc_id=name), None) for name, text in (("a", first), ("b", other), ("c", copy))
    )
    aligned: list[str] = []
    usual = fuzz.partial_ratio
    monkeypatch.setattr(fuzz, "partial_ratio", lambda *texts, **more: aligned.append(texts[0]) or usual(*texts, **more))
    assert [hit.chunk.id for hit in without_copies(ranking, {1})] == ["a", "b"]
    assert aligned == [copy]
