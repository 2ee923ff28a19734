"""Exact search beside an index: what is lost in facts and hits, and what remains known of it."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from raglift.base.cache import Cache
from raglift.components import BM25Retriever, DenseRetriever, HybridRetriever, approximate, build_index
from raglift.errors import ConfigurationError
from raglift.records.dataset import Dataset
from raglift.records.documents import Chunk
from raglift.records.labels import Fact, Passage, Query
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.evaluation import evaluate, rerank
from raglift.testing.fakes import FakeReranker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from raglift.components import DenseIndex
    from raglift.components.embedding import Kind

SUBJECTS = ("lamp", "horn", "boat", "wick", "coal", "tower", "keeper", "storm", "letter", "rock")
VERBS = ("lit", "sounded", "mended", "painted", "counted", "carried", "hidden", "sold", "found", "named")
TIMES = ("at dawn", "at dusk", "in winter", "in May", "on Monday", "by night")
TEXTS = [f"The {subject} is {verb} {time}." for subject in SUBJECTS for verb in VERBS for time in TIMES]
CHUNKS = [
    Chunk(text, id=f"c{number}", doc_id="log.md", metadata={"year": 2020 + number % 5})
    for number, text in enumerate(TEXTS)
]


class Words:
    """Random indexing: a text's vector is the sum of a fixed random vector for each of its words."""

    identity = "random indexing"

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        return [list(texts)]

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        return np.array([sum(map(self._of, text.lower().strip(".?").split())) for text in texts], dtype=np.float32)

    def _of(self, word: str) -> NDArray[np.float64]:
        return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(32)

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        return None


@pytest.fixture(scope="module")
def dense() -> DenseIndex:
    return build_index(CHUNKS, Words(), cache=Cache(None), progress=False)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(
        tuple(
            Query(f"q{number}", f"When is the {text.split()[1]} {text.split()[3]}?", (Fact((Passage(text),)),))
            for number, text in enumerate(TEXTS[::13])
        ),
        name="log",
    )


def measured(dense: DenseIndex, data: Dataset, index: str, dimensions: str | None = None, k: int = 5) -> Evaluation:
    return evaluate(DenseRetriever(approximate(dense, index, dimensions)), data, ks=(k,), progress=False)


def found_by_hand(vectors: NDArray[np.float32], queries: NDArray[np.float32], k: int) -> set[int]:
    """The queries of which the text of the label is among the first k of all inner products, lower numbers first."""
    return {
        number
        for number, query in enumerate(queries)
        if 13 * number in np.argsort(-(vectors @ query), kind="stable")[:k].tolist()
    }


@pytest.mark.parametrize("index", ["hnsw(M=2,ef=4,construction=4)", "ivf(nlist=20,nprobe=1)"])
def test_what_an_approximate_search_misses_is_lost_by_the_index(index: str, dense: DenseIndex, data: Dataset) -> None:
    evaluation = measured(dense, data, index)
    losses = evaluation.index_losses()
    queries = np.array(
        [vector / np.linalg.norm(vector) for vector in Words().embed([query.text for query in data], "query")]
    )
    exact = found_by_hand(dense.vectors, queries, 5)
    ranked = [{chunk.id for chunk in trace.stages[0].ranking.chunks} for trace in evaluation.run.traces]
    own = {number for number in range(len(data)) if f"c{13 * number}" in ranked[number]}
    step = losses.step("index")
    assert (step.before, step.after) == (len(exact), len(own))
    assert (step.lost, step.gained) == (len(exact - own), len(own - exact))
    assert step.lost > 0
    assert losses.step("compression").lost == losses.step("compression").hits_lost == 0
    assert step.query_ids == tuple(f"q{number}" for number in sorted(exact - own))
    assert evaluation.failure_analysis(5).of("lost_by_index").facts == len(exact - own)
    assert evaluation.failure_analysis(5).of("lost_by_compression").facts == 0
    difference = np.array([float(number in own) - float(number in exact) for number in range(len(data))])
    assert losses.step("together").difference.mean == pytest.approx(difference.mean())


@pytest.mark.parametrize(("index", "dimensions"), [("binary", None), ("flat", "8"), ("pq(m=4,bits=4)", None)])
def test_what_compressed_vectors_miss_is_lost_by_compression(
    index: str, dimensions: str | None, dense: DenseIndex, data: Dataset
) -> None:
    evaluation = measured(dense, data, index, dimensions)
    losses = evaluation.index_losses()
    assert losses.step("compression").lost > 0
    assert losses.step("index").lost == losses.step("index").hits_lost == 0
    assert losses.step("together").overlap < 1
    analysis = evaluation.failure_analysis(5)
    assert analysis.of("lost_by_compression").facts == losses.step("together").lost
    assert sum(one.facts for one in analysis.losses) == analysis.facts == len(data)


def test_both_kinds_of_loss_are_told_apart(dense: DenseIndex, data: Dataset) -> None:
    losses = measured(dense, data, "ivf(nlist=20,nprobe=1)", "8").index_losses()
    compression, index, together = losses.steps
    assert compression.lost > 0
    assert index.lost > 0
    assert compression.after == index.before
    assert together.after == together.before - compression.lost + compression.gained - index.lost + index.gained


def test_a_flat_index_loses_nothing(dense: DenseIndex, data: Dataset) -> None:
    losses = measured(dense, data, "flat").index_losses()
    assert [(step.lost, step.gained, step.hits_lost, step.p) for step in losses.steps] == [(0, 0, 0, 1.0)] * 3
    assert "no fact is lost" in str(losses)


def test_a_retriever_without_a_named_index_is_not_compared(dense: DenseIndex, data: Dataset) -> None:
    evaluation = evaluate(DenseRetriever(dense), data, ks=(5,), progress=False)
    assert "exact" not in evaluation.run.spec
    assert all(trace.exact is None for trace in evaluation.run.traces)
    with pytest.raises(ConfigurationError, match="found no exact search in this run"):
        evaluation.index_losses()


def test_exact_search_can_be_left_out(dense: DenseIndex, data: Dataset) -> None:
    retriever = DenseRetriever(approximate(dense, "binary"))
    assert "exact" not in evaluate(retriever, data, ks=(5,), exact=False, progress=False).run.spec
    with pytest.raises(ConfigurationError, match="exact: found 'yes'"):
        evaluate(retriever, data, exact="yes")  # type: ignore[arg-type]


def test_what_is_lost_is_saved_and_read_back(dense: DenseIndex, data: Dataset, tmp_path: Path) -> None:
    evaluation = measured(dense, data, "ivf(nlist=20,nprobe=1)", "pca(8)")
    loaded = load_evaluation(evaluation.save(tmp_path / "run"))
    assert loaded.run.traces == evaluation.run.traces
    assert loaded.run.cost == evaluation.run.cost
    assert loaded.index_losses().to_frame().equals(evaluation.index_losses().to_frame())
    assert str(loaded) == str(evaluation)


def test_a_fact_lost_before_the_reranker_stays_lost_after_it(dense: DenseIndex, data: Dataset) -> None:
    index = DenseRetriever(approximate(dense, "ivf(nlist=20,nprobe=1)"))
    deep = evaluate(index, data, ks=(5,), depth="deep", candidates=20, progress=False)
    reranked = rerank(deep, FakeReranker({}))
    before, after = deep.index_losses(20), reranked.index_losses()
    assert after.k == 20
    assert [step.lost for step in after.steps] == [step.lost for step in before.steps]
    assert reranked.failure_analysis(5).of("lost_by_index").facts == before.step("index").lost > 0
    together = evaluate(index, data, reranker=FakeReranker({}), ks=(5,), candidates=20, progress=False)
    assert together.index_losses().step("index").lost > 0


def test_a_hybrid_is_compared_with_the_hybrid_of_exact_search(dense: DenseIndex, data: Dataset) -> None:
    bm25 = BM25Retriever(CHUNKS)
    exact = HybridRetriever([DenseRetriever(dense), bm25])
    lossy = HybridRetriever([DenseRetriever(approximate(dense, "binary")), bm25])
    evaluation = evaluate(lossy, data, ks=(5,), progress=False)
    whole = evaluate(exact, data, ks=(5,), progress=False)
    for trace, other in zip(evaluation.run.traces, whole.run.traces, strict=True):
        assert trace.exact is not None
        assert [hit.chunk.id for hit in trace.exact.full] == [hit.chunk.id for hit in other.stages[0].ranking]
    assert evaluation.run.cost is not None
    assert evaluation.run.cost.index is not None
    assert evaluation.run.cost.index.index == "binary"


def test_bytes_build_time_and_speed_stand_beside_the_losses(dense: DenseIndex, data: Dataset) -> None:
    cost = measured(dense, data, "int8").index_losses().cost
    assert cost is not None
    assert cost.exact_bytes == dense.vectors.nbytes
    assert cost.bytes < cost.exact_bytes / 3
    assert cost.build_seconds is not None
    assert cost.build_seconds > 0
    assert cost.queries_per_second is not None
    assert cost.queries_per_second > 0


def test_a_depth_that_exact_search_was_not_asked_for_is_refused(dense: DenseIndex, data: Dataset) -> None:
    with pytest.raises(ConfigurationError, match="expected an integer from 1 to 10"):
        measured(dense, data, "int8").index_losses(11)


# Filters.


@pytest.fixture(scope="module")
def filtered(data: Dataset) -> Dataset:
    years = [2020 + 13 * number % 5 for number in range(len(data))]
    queries = (replace(query, filter={"year": year}) for query, year in zip(data, years, strict=True))  # type: ignore[arg-type]
    return Dataset(tuple(queries), name="filtered log")


@pytest.mark.parametrize("index", [None, "flat", "hnsw(M=8,ef=64)", "int8", "binary", "pq(m=4,bits=4)"])
def test_raglifts_retrievers_look_among_matching_chunks_alone(
    index: str | None, dense: DenseIndex, filtered: Dataset
) -> None:
    retriever = DenseRetriever(dense if index is None else approximate(dense, index))
    evaluation = evaluate(retriever, filtered, ks=(5,), progress=False)
    assert evaluation.run.spec["filtered"] == {"stage": "retrieve", "k": 10, "taken": True}
    for query, trace in zip(filtered, evaluation.run.traces, strict=True):
        assert query.filter is not None
        assert trace.matching == len(CHUNKS) // 5
        assert len(trace.stages[0].ranking) == 10
        assert all(query.filter.matches(chunk.metadata) for chunk in trace.stages[0].ranking.chunks)
    assert not [note for note in evaluation.notes if "filter" in note]


def test_bm25_and_hybrids_take_filters(dense: DenseIndex, filtered: Dataset) -> None:
    for retriever in (BM25Retriever(CHUNKS), HybridRetriever([DenseRetriever(dense), BM25Retriever(CHUNKS)])):
        evaluation = evaluate(retriever, filtered, ks=(5,), progress=False)
        for query, trace in zip(filtered, evaluation.run.traces, strict=True):
            assert query.filter is not None
            assert all(query.filter.matches(chunk.metadata) for chunk in trace.stages[0].ranking.chunks)


def test_a_function_gets_the_filter_as_labels_have_it(filtered: Dataset) -> None:
    asked = []

    def search(query: str, k: int, filter: dict | None = None) -> list[Chunk]:  # noqa: A002 — the name that is passed
        asked.append(filter)
        return [chunk for chunk in CHUNKS if chunk.metadata["year"] == (filter or {})["year"]][:k]

    evaluation = evaluate(search, filtered, chunks=iter(CHUNKS), ks=(5,), progress=False)
    assert asked == [query.filter.to_dict() for query in filtered if query.filter]
    assert not [note for note in evaluation.notes if "filter" in note]


def test_a_system_that_takes_no_filter_is_told(filtered: Dataset) -> None:
    evaluation = evaluate(lambda query, k: CHUNKS[:k], filtered, ks=(5,), progress=False)
    told = [note for note in evaluation.notes if "filter" in note]
    assert "retrieve takes none: it was asked without" in told[0]
    assert f"returned {8 * len(filtered)} hits that do not match the filter" in told[1].replace(",", "")
    assert "how many chunks match the filters is not known" in told[2]


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("filtered afterwards", "under-returns for"),
        ("ignored", "do not match the filter"),
    ],
)
def test_a_planted_filter_fault_is_named(planted: str, told: str, dense: DenseIndex, filtered: Dataset) -> None:
    own = DenseRetriever(dense)

    def search(query: str, k: int, filter: dict | None = None) -> list[Chunk]:  # noqa: A002 — the name that is passed
        hits = own.retrieve([query], k)[0].chunks
        if planted == "ignored":
            return list(hits)
        return [chunk for chunk in hits if chunk.metadata["year"] == (filter or {})["year"]]

    evaluation = evaluate(search, filtered, chunks=CHUNKS, ks=(5,), progress=False)
    (note,) = [note for note in evaluation.notes if "filter" in note]
    assert told in note
    assert note in " ".join(str(evaluation).split())
