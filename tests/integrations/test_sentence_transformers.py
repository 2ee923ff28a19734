"""The evaluator for sentence-transformers against its own, on the same model and texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.retrieval import DenseRetriever, SentenceTransformerEmbedder, build_index, load_sentence_transformer

pytestmark = pytest.mark.slow

DATA = rl.load_dataset("lighthouse")
CHUNKS = rl.RecursiveChunker(400, overlap=0).split(DATA.documents)[:30]
QUERIES = {query.id: query.text for query in DATA}
# A copy is as similar as its original, and its id comes first; a document that the corpus lacks is never found
CORPUS = {f"c{number}": chunk.text for number, chunk in enumerate(CHUNKS)} | {"a-copy": CHUNKS[3].text}
RELEVANT = {
    query.id: {f"c{number}" for number, chunk in enumerate(CHUNKS) if chunk.doc_id in documents} | {"lacking"}
    for query in DATA
    for documents in [{passage.doc_id for fact in query.facts for passage in fact.passages}]
    if documents
}


@pytest.fixture(scope="module")
def model() -> Any:
    return load_sentence_transformer("minilm", "float32")


def test_its_figures_with_intervals_and_the_model_as_it_was(model: Any, tmp_path: Path) -> None:
    from sentence_transformers.base.evaluation import SequentialEvaluator
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    from raglift.integrations import SentenceTransformersEvaluator

    theirs = InformationRetrievalEvaluator(QUERIES, CORPUS, RELEVANT, name="dev")
    expected = theirs(model)
    model.train()
    model[0].eval()
    ours = SentenceTransformersEvaluator(QUERIES, CORPUS, RELEVANT, name="dev")
    found = SequentialEvaluator([ours])(model, output_path=str(tmp_path), epoch=0.5, steps=20)
    assert (model.training, model[0].training) == (True, False)
    model.eval()

    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-6)
    assert 0.1 < expected["dev_cosine_ndcg@10"] < 0.9
    assert ours.primary_metric == theirs.primary_metric == "dev_cosine_ndcg@10"
    assert found["sequential_score"] == found["dev_cosine_ndcg@10"]
    assert all(found[f"{key}_low"] < found[key] < found[f"{key}_high"] for key in expected)
    assert len(found) == 3 * len(expected) + 1
    saved = rl.load_evaluation(tmp_path / "raglift_dev_epoch_0.5_steps_20")
    assert saved.scores.of("retrieve", "ndcg@10") == pytest.approx(
        ours.evaluation.scores.of("retrieve", "ndcg@10"), nan_ok=True
    )


def test_a_dataset_is_searched_in_chunks(model: Any) -> None:
    from raglift.integrations import SentenceTransformersEvaluator

    data, chunks = rl.Dataset(DATA.queries[:8], DATA.documents), CHUNKS[:10]
    evaluator = SentenceTransformersEvaluator(data, chunks=chunks, metrics=["recall@5", "rr@10"])
    figures = evaluator(model)
    retriever = DenseRetriever(build_index(chunks, SentenceTransformerEmbedder("minilm", dtype="float32")))
    expected = rl.evaluate(retriever, data, metrics=["recall@5", "rr@10"]).scores
    assert figures["cosine_mrr@10"] == pytest.approx(expected.mean("retrieve", "rr@10"))
    assert figures["cosine_recall@5"] == pytest.approx(expected.mean("retrieve", "recall@5"))
    assert evaluator.primary_metric == "cosine_mrr@10"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((QUERIES,), "queries, corpus and relevant_docs"),
        ((QUERIES, {}, RELEVANT), "queries, corpus and relevant_docs"),
        ((DATA, CORPUS, RELEVANT), "queries, corpus and relevant_docs"),
        ((rl.Dataset(DATA.queries[:0], DATA.documents),), "no questions"),
        ((QUERIES, CORPUS, {"fog-signal-interval": "c1"}), "set of ids"),
        ((QUERIES, CORPUS, {7: {"c1"}}), "no query with relevant documents"),
    ],
    ids=["no corpus", "empty corpus", "both", "no queries", "one id", "other ids"],
)
def test_what_it_does_not_take(arguments: tuple[Any, ...], expected: str) -> None:
    from raglift.integrations import SentenceTransformersEvaluator

    with pytest.raises(ConfigurationError, match=expected):
        SentenceTransformersEvaluator(*arguments)
