"""Causes are claimed where a change alone finds a lost fact; proposals are measured on other questions."""

from __future__ import annotations

from collections.abc import Sequence
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
    for damaged in ("[]", "{", file.read_text().replace('"language"', '"sabotage"')):
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
