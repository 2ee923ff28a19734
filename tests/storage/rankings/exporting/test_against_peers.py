"""What other tools compute from an export, against raglift's own values: the same wherever it says that they are.

Labels are texts: chunks hold several facts, facts have alternatives, texts recur under other ids and ids under other
texts. What an export does not name as differing must come out the same, at every stage and depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.results.evaluation import Evaluation
from raglift.retrieval.bm25 import BM25Retriever
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

pytrec_eval = pytest.importorskip("pytrec_eval")

KS = (1, 2, 3, 5)
MEASURES = {"hit_rate": "success", "precision": "P", "recall": "recall", "ap": "map_cut", "ndcg": "ndcg_cut"}
UNCUT = {"rr@8": "recip_rank"}
"""No ranking has more hits."""
SENTENCES = [f"Sentence number {number} tells of the {word}." for number, word in enumerate("ABCDEFGH")]

few_examples = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
grades = st.integers(1, 3)
sentences = st.sampled_from(SENTENCES)
# A part of a sentence, which coverage counts
parts = st.builds(lambda text, start, end: text[start:end], sentences, st.integers(0, 9), st.integers(24, 34))
passages = st.one_of(
    st.builds(Passage, text=sentences, grade=grades),
    st.builds(lambda one, two, grade: Passage(f"{one} {two}", grade=grade), sentences, sentences, grades),
    st.builds(Passage, chunk_id=st.sampled_from([f"c{number}" for number in range(8)]), grade=grades),
)
facts = st.lists(passages, min_size=1, max_size=2).map(lambda found: Fact(tuple(found)))
chunks = st.builds(
    lambda number, texts: Chunk(" ".join(texts), id=f"c{number}"),
    st.integers(0, 11),
    st.lists(st.one_of(sentences, parts), min_size=1, max_size=2),
)
scores = st.one_of(
    st.none(), st.sampled_from([0.5, 0.5 + 1e-9, 0.25, 0.0]), st.floats(-1e3, 1e3, allow_nan=False, width=32)
)
hits = st.lists(st.tuples(chunks, scores), max_size=7)
unwanted = st.lists(st.builds(Passage, text=sentences), max_size=1).map(tuple)
cases = st.lists(st.tuples(st.lists(facts, max_size=3), unwanted, hits, st.booleans()), min_size=1, max_size=5)


def evaluated(found: list[Any], *, in_order: bool = True, **options: Any) -> Evaluation:
    """Evaluate a table of hits, with a reranker that orders by text."""
    queries = [
        Query(f"q{number}", f"question {number}?", tuple(wanted), judged_irrelevant=irrelevant)
        for number, (wanted, irrelevant, _, _) in enumerate(found)
    ]
    table = {}
    for query, (_, _, ranking, by_score) in zip(queries, found, strict=True):
        known = in_order and by_score and all(score is not None for _, score in ranking)
        ordered = sorted(ranking, key=lambda hit: -hit[1]) if known else ranking
        table[query.text] = [(chunk, score) for chunk, score in ordered]
    texts = {chunk.text: float(len(chunk.text) % 7) for *_, ranking, _ in found for chunk, _ in ranking}
    return rl.evaluate(
        FakeRetriever(table),
        Dataset(tuple(queries)),
        reranker=FakeReranker(texts),
        candidates=8,
        ks=KS,
        metrics=(*MEASURES, *UNCUT, "f1"),
        concurrency=1,
        progress=False,
        **options,
    )


def read_run(path: Path) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, name, rank, score, _ = line.split(" ")
        of_query = run.setdefault(query, {})
        assert name not in of_query
        assert len(of_query) + 1 == int(rank)
        of_query[name] = float(score)
    return run


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, name, grade = line.split(" ")
        assert name not in qrels.setdefault(query, {})
        qrels[query][name] = int(grade)
    return qrels


def peer_values(folder: Path, evaluation: Evaluation) -> Iterator[tuple[str, str, str, float]]:
    """Yield query, stage, metric and value as trec_eval's own code computes them; queries without hits are none."""
    qrels = read_qrels(folder / "qrels.txt")
    wanted = {f"{peer}.{','.join(map(str, KS))}" for peer in MEASURES.values()} | set(UNCUT.values())
    for number, stage in enumerate(evaluation.scores.stages, start=1):
        run = read_run(folder / f"run.{number}-{stage}.trec")
        for query, values in pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run).items():
            for name, peer in MEASURES.items():
                for k in KS:
                    yield query, stage, f"{name}@{k}", values[f"{peer}_{k}"]
            for name, peer in UNCUT.items():
                yield query, stage, name, values[peer]


def ours(evaluation: Evaluation, query: str, stage: str, metric: str) -> float:
    number = evaluation.scores.query_ids.index(query)
    return float(evaluation.scores.of(stage, metric)[number])


@pytest.mark.slow
@pytest.mark.parametrize("match", ["containment", "coverage"])
@given(found=cases)
@few_examples
def test_trec_eval_agrees_on_every_query_that_is_not_named(match: str, found: list[Any]) -> None:
    evaluation = evaluated(found, match=match)
    with TemporaryDirectory() as folder:
        export = evaluation.to_trec(Path(folder) / "export", all_stages=True)
        for query, stage, metric, value in peer_values(export.folder, evaluation):
            if query not in export.differing:
                assert ours(evaluation, query, stage, metric) == pytest.approx(value, abs=1e-9), (query, stage, metric)


@pytest.mark.slow
@pytest.mark.parametrize("match", ["containment", "coverage"])
def test_trec_eval_agrees_on_real_text(match: str, tmp_path: Path) -> None:
    """The lighthouse's questions, labelled by locations in its texts; chunks overlap, so some facts have several."""
    pytest.importorskip("bm25s")
    dataset = rl.load_dataset("lighthouse")
    chunks = rl.RecursiveChunker(1000, 100).split(dataset.documents)
    evaluation = rl.evaluate(
        BM25Retriever(chunks),
        dataset,
        depth="deep",
        candidates=20,
        ks=(1, 5, 20),
        metrics=("ndcg", "ap", "rr", "recall"),
        match=match,
    )
    export = rl.load_evaluation(evaluation.save(tmp_path / "run")).to_trec(tmp_path / "out", all_stages=True)
    same = {query.id for query in dataset.queries if query.is_labelled} - set(export.differing)
    assert len(same) > 10
    assert export.differing
    assert not any("no labels for another run" in note for note in export.notes)
    qrels = read_qrels(export.folder / "qrels.txt")
    run = read_run(export.folder / "run.1-retrieve.trec")
    peers = {"ndcg@5": "ndcg_cut_5", "ap@20": "map", "rr@20": "recip_rank", "recall@20": "recall_20"}
    wanted = {"ndcg_cut.5", "map", "recip_rank", "recall.20"}
    values = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    for query in same:
        for metric, peer in peers.items():
            assert ours(evaluation, query, "retrieve", metric) == pytest.approx(values[query][peer], abs=1e-9)


ids = st.sampled_from([f"c{number}" for number in range(12)])
labels_of_ids = st.dictionaries(ids, st.integers(0, 3), max_size=5)
one_to_one = st.lists(st.tuples(labels_of_ids, st.lists(ids, unique=True, max_size=8)), min_size=1, max_size=5)


def by_ids(found: list[tuple[dict[str, int], list[str]]]) -> Evaluation:
    return evaluated(
        [
            (
                [Fact((Passage(chunk_id=name, grade=grade),)) for name, grade in labels.items() if grade],
                tuple(Passage(chunk_id=name) for name, grade in labels.items() if not grade),
                [(Chunk(f"{name} {'x' * (hash_of(name) % 5)}", id=name), None) for name in ranking],
                False,
            )
            for labels, ranking in found
        ]
    )


def hash_of(name: str) -> int:
    return sum(map(ord, name)) * 7


@pytest.mark.slow
@given(one_to_one)
@few_examples
def test_trec_eval_agrees_on_every_query_whose_labels_are_ids(found: list[tuple[dict[str, int], list[str]]]) -> None:
    evaluation = by_ids(found)
    with TemporaryDirectory() as folder:
        export = evaluation.to_trec(Path(folder) / "export", all_stages=True)
        assert export.differing == ()
        answered = set()
        for query, stage, metric, value in peer_values(export.folder, evaluation):
            answered.add(query)
            assert ours(evaluation, query, stage, metric) == pytest.approx(value, abs=1e-9), (query, stage, metric)
        labelled = [number for number, (labels, _) in enumerate(found) if any(labels.values())]
        assert answered == {f"q{number}" for number in labelled if found[number][1]}
