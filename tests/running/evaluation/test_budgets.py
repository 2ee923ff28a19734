"""evaluate() and rescore() at budgets of context tokens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from raglift.errors import ConfigurationError, MissingDependency
from raglift.metrics.budgets import ContextTokens, tokens
from raglift.metrics.rank_measures import RR, Recall
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.text.tokens import Encoding, load_encoding
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query


def words(name: str, count: int) -> Chunk:
    """Return a chunk of so many tokens: each " the" is one."""
    return Chunk(" the" * count, id=name)


def query(name: str, *wanted: str) -> Query:
    return Query(name, name, tuple(Fact((Passage(chunk_id=chunk),)) for chunk in wanted))


# What is wanted comes second, after 3 and 30 tokens, with 5 and 50 more after it
DATA = Dataset((query("few", "a"), query("many", "b"), Query("unlabelled", "unlabelled")), name="island")
RESULTS = {
    "few": [words("x", 3), words("a", 4), words("y", 5)],
    "many": [words("x", 30), words("b", 40), words("y", 50)],
    "unlabelled": [words("x", 1), words("y", 1), words("z", 1)],
}
WANTED_FIRST = {words("a", 4).text: 2.0, words("b", 40).text: 2.0, words("y", 5).text: 1.0, words("y", 50).text: 1.0}


def measure(reranker: object = None, candidates: int = 3, **options: object) -> Evaluation:
    return evaluate(FakeRetriever(RESULTS), DATA, reranker=reranker, depth="deep", candidates=candidates, **options)  # type: ignore[arg-type]


def names(evaluation: Evaluation) -> list[str]:
    return [str(metric) for metric in evaluation.scores.metrics]


def test_depths_are_numbers_of_hits_and_budgets_also_as_texts() -> None:
    evaluation = measure(ks=("tokens(50)", 2, tokens(7), 1), metrics=["recall", "rr@tokens(9)", "ndcg"])
    assert names(evaluation) == [
        *("recall@1", "recall@2", "recall@tokens(7)", "recall@tokens(50)"),
        "rr@tokens(9)",
        *("ndcg@1", "ndcg@2", "ndcg@tokens(7)", "ndcg@tokens(50)"),
    ]
    assert evaluation.run.spec["ks"] == [1, 2]
    assert evaluation.run.spec["budgets"] == [7, 9, 50]


def test_what_divides_by_k_is_taken_at_numbers_of_hits_alone() -> None:
    assert [name for name in names(measure(ks=(2, tokens(7)))) if name.startswith(("precision", "f1"))] == [
        "precision@2",
        "f1@2",
    ]
    assert names(measure(ks=(tokens(7),))) == [
        f"{name}@tokens(7)" for name in ("hit_rate", "recall", "rr", "ap", "ndcg")
    ]
    with pytest.raises(
        ConfigurationError, match=r"found precision@tokens\(7\); expected precision at a number of hits"
    ):
        measure(ks=(tokens(7),), metrics=["recall", "precision"])


@pytest.mark.parametrize("ks", ["tokens(5)", ("tokens(0)",)])
def test_what_is_no_depth_is_refused(ks: object) -> None:
    with pytest.raises(ConfigurationError, match="ks: found"):
        measure(ks=ks)


def test_lift_at_a_budget_is_of_the_same_candidates_in_another_order() -> None:
    evaluation = measure(FakeReranker(WANTED_FIRST), ks=(tokens(45),), metrics=["recall", "context_tokens"])
    assert evaluation.scores.of("retrieve", Recall @ tokens(45))[:2].tolist() == [1, 0]
    assert evaluation.scores.of("rerank", Recall @ tokens(45))[:2].tolist() == [1, 1]
    assert evaluation.lift(Recall @ tokens(45))[:2].tolist() == [0, 1]
    # 3 + 4 + 5, and 30; then 12, and 40
    assert evaluation.scores.of("retrieve", ContextTokens @ tokens(45))[:2].tolist() == [12, 30]
    assert evaluation.lift(ContextTokens @ tokens(45))[:2].tolist() == [0, 10]
    assert np.isnan(evaluation.lift(ContextTokens @ tokens(45))[2])


@pytest.mark.slow
def test_a_reranker_that_cuts_has_lift_only_where_its_hits_fill_the_budget() -> None:
    evaluation = measure(FakeReranker(WANTED_FIRST, top_n=2), ks=(tokens(9), tokens(10)))
    # What is left of the first query is 4 + 5 tokens; the one without labels, which has 2, is in no mean
    assert evaluation.truncated_tokens == {"rerank": 9}
    assert evaluation.mean_lift(RR @ tokens(9)) == 0.25
    assert evaluation.mean_lift(RR @ tokens(10)) is None
    assert evaluation.to_frame().set_index("metric")["truncated"]["rr@tokens(10)"]
    assert "† The metric looks deeper than the stage returned" in evaluation.to_text()


def test_candidates_that_end_before_the_budget_are_counted() -> None:
    note = (
        "tokens(20): the 3 candidates of 1 question come to fewer than 20 tokens, so their figures are of smaller "
        "prompts; ask for more (k, or candidates)"
    )
    notes = measure(ks=(tokens(12), tokens(20)), metrics=["recall"]).notes
    assert [each for each in notes if "candidates of" in each] == [note]
    assert "the 3 candidates of 2 questions come to fewer than 200 tokens" in str(measure(ks=(tokens(200),)))


def test_candidates_that_are_all_there_is_are_not_counted() -> None:
    assert not any("candidates of" in note for note in measure(ks=(tokens(20),), candidates=4).notes)
    everything = [chunk for ranking in RESULTS.values() for chunk in ranking]
    assert any("candidates of" in note for note in measure(ks=(tokens(20),), chunks=everything).notes)
    assert not any("candidates of" in note for note in measure(ks=(tokens(20),), chunks=everything[:3]).notes)


@pytest.fixture
def without_tiktoken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    load_encoding.cache_clear()
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    yield
    load_encoding.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("without_tiktoken")
def test_without_tiktoken_nothing_is_asked() -> None:
    retriever = FakeRetriever(RESULTS)
    for options in ({"ks": (tokens(9),)}, {"metrics": ["context_tokens@2"]}):
        with pytest.raises(MissingDependency, match=r"tiktoken.*raglift\[models\]"):
            evaluate(retriever, DATA, **options)
    assert retriever.asked == []
    evaluation = evaluate(retriever, DATA)
    with pytest.raises(MissingDependency, match=r"raglift\[models\]"):
        rescore(evaluation, ks=(tokens(9),))


@pytest.mark.slow
def test_rescored_and_loaded_are_the_same(tmp_path: Path) -> None:
    options = {"metrics": ["recall", "ndcg", "context_tokens"], "ks": (1, tokens(9), tokens(45))}
    reranker = FakeReranker(WANTED_FIRST, top_n=2)
    evaluation = measure(reranker, **options)
    evaluation.save(tmp_path / "run")
    loaded = load_evaluation(tmp_path / "run")
    again = [rescore(measure(reranker, ks=(1,)), **options), rescore(loaded, **options), loaded]  # type: ignore[arg-type]
    for other in again:
        np.testing.assert_array_equal(other.scores.values, evaluation.scores.values)
        assert other.scores.metrics == evaluation.scores.metrics
        assert (other.notes, other.truncated_tokens) == (evaluation.notes, evaluation.truncated_tokens)
        assert str(other) == str(evaluation)
        assert str(other.explain("many")) == str(evaluation.explain("many"))


@pytest.mark.slow
def test_each_text_is_counted_once_for_all_stages_metrics_and_scorings(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    counts = Encoding.counts
    monkeypatch.setattr(Encoding, "counts", lambda self, texts: (counted.extend(texts), counts(self, texts))[1])
    evaluation = measure(FakeReranker(WANTED_FIRST), ks=(tokens(9), tokens(45)))
    rescore(evaluation, ks=(tokens(30),)).explain("many")
    evaluation.explain("few")
    assert sorted(counted) == sorted({chunk.text for ranking in RESULTS.values() for chunk in ranking})


@pytest.mark.slow
def test_context_tokens_are_shown_as_what_they_are() -> None:
    evaluation = measure(FakeReranker(WANTED_FIRST), metrics=["context_tokens", "rr"], ks=(1, tokens(45)))
    lines = evaluation.to_text().splitlines()
    row = lines[lines.index("ContextTokens@1") + 1].split()  # a long name stands above its figures
    assert row[:3] == ["16.5", "22.0", "+5.5"]
    assert row[-2:] == ["–", "2"]
    assert "earned: ContextTokens" not in str(evaluation.explain("many"))
    assert "earned: RR@1 +1.000, RR@tokens(45) +1.000; cost: ContextTokens@1 +40, ContextTokens@tokens(45) +40" in (
        " ".join(str(evaluation.explain("many")).split())
    )
    assert "\nContextTokens     40          40\n" in str(evaluation.explain("many"))
    earned = evaluation.explain("few", stage="retrieve").earnings()
    assert earned["context_tokens@tokens(45)"].tolist() == [3, 4, 5]
