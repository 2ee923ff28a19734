"""Settings from stored rankings: the same figures as systems with these settings, without asking any."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.results.evaluation import Evaluation
from raglift.retrieval.retrievers import HybridRetriever
from raglift.running import LocalSystem, build_retriever
from raglift.types.rankings import Ranking


@pytest.fixture(scope="module")
def data() -> rl.Dataset:
    return rl.load_dataset("lighthouse")


def retriever(data: rl.Dataset, name: str, size: int = 600) -> object:
    return build_retriever(data, LocalSystem(name, rl.RecursiveChunker(size, 0), "bge-small"))


@pytest.fixture(scope="module")
def sparse(data: rl.Dataset) -> Evaluation:
    return rl.evaluate(retriever(data, "bm25"), data, depth="deep", candidates=20)


class Reversing:
    """A reranker that puts the last candidate first."""

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        return [Ranking.of((chunk, None) for chunk in reversed(ranking.chunks)) for ranking in rankings]


@pytest.mark.slow
def test_a_fusion_has_the_figures_of_a_hybrid_retriever(data: rl.Dataset, sparse: Evaluation):
    parts = [retriever(data, "bm25"), retriever(data, "bm25(k1=0.4,b=0.1)")]
    other = rl.evaluate(parts[1], data, depth="deep", candidates=20)
    found = rl.tune([sparse, other], metric="ndcg@10", constants=[60, 7])
    assert [setting.constant for setting in found.settings[:2]] == [60, 60]
    for number in (0, 5, len(found.settings) - 1):
        setting = found.settings[number]
        hybrid = HybridRetriever(parts, setting.weights, constant=int(setting.constant or 0), depth=20)
        measured = rl.evaluate(hybrid, data, depth="deep", candidates=20, metrics=["ndcg@10"])
        assert found.means[number] == pytest.approx(measured.scores.mean("retrieve", "ndcg@10"))
    assert "on questions that took no part in the choice" in " ".join(str(found).split())


@pytest.mark.slow
def test_fewer_candidates_have_the_figures_of_a_reranker_that_gets_them(data: rl.Dataset, sparse: Evaluation):
    reranked = rl.evaluate(retriever(data, "bm25"), data, reranker=Reversing(), candidates=20)
    found = rl.tune(reranked, metric="ndcg@10", candidates=[5, 10])
    assert [setting.candidates for setting in found.settings] == [None, 5, 10]
    assert found.means[0] == pytest.approx(reranked.scores.mean("rerank", "ndcg@10"))
    ten = rl.evaluate(retriever(data, "bm25"), data, reranker=Reversing(), candidates=10)
    assert found.means[2] == pytest.approx(ten.scores.mean("rerank", "ndcg@10"))


def f1_of_what_is_kept(evaluation: Evaluation, k: int | None, lowest: float | None) -> float:
    """Return F1@10 of a system that returns no more than those hits."""
    kept = {}
    for query in evaluation.dataset.queries:
        hits = evaluation.hits(query.id)
        passed = [hit for hit in hits if lowest is None or (hit.score or 0.0) >= lowest][:k]
        kept[query.text] = Ranking.of((hit.chunk, hit.score) for hit in passed)

    class Kept:
        def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
            return [kept[query] for query in queries]

    return rl.evaluate(Kept(), evaluation.dataset, metrics=["f1@10"]).scores.mean("retrieve", "f1@10")


@pytest.mark.slow
def test_runs_over_other_chunks_are_told(data: rl.Dataset, sparse: Evaluation):
    other = rl.evaluate(retriever(data, "bm25", size=300), data, depth="deep", candidates=20)
    with pytest.raises(ConfigurationError, match=r"found [\d,]+ chunks of 'a' and [\d,]+ of 'b'; expected runs"):
        rl.tune({"a": sparse, "b": other})


@pytest.mark.slow
def test_depths_and_cut_offs_are_tried(sparse: Evaluation):
    found = rl.tune({"bm25": sparse}, metric="f1@10", ks=[1, 3], cut_offs=[5.0])
    assert {(setting.k, setting.cut_off) for setting in found.settings} == {
        (k, score) for k in (None, 1, 3) for score in (None, 5.0)
    }
    means = {(one.k, one.cut_off): mean for one, mean in zip(found.settings, found.means, strict=True)}
    for (k, lowest), mean in means.items():
        assert mean == pytest.approx(f1_of_what_is_kept(sparse, k, lowest))
    assert len(set(means.values())) > 2
    assert list(found.to_frame()["mean"]) == list(found.means)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weights": [[0.5, 0.5]]}, "weights, constants: found them with one system"),
        ({"candidates": [5]}, "candidates: found them without a reranker"),
        ({"ks": [0]}, "ks: found 0; expected integers of 1 or more"),
        ({"metric": "context_tokens@5", "ks": [1]}, "expected a measure of quality"),
        ({}, "found one system without a reranker, and nothing to try"),
    ],
)
def test_wrong_options_are_told(sparse: Evaluation, options: dict[str, object], told: str):
    with pytest.raises(ConfigurationError, match=told):
        rl.tune(sparse, **options)


@pytest.mark.slow
def test_weights_are_one_for_each_system(sparse: Evaluation):
    with pytest.raises(ConfigurationError, match="expected a number above 0 for each of 2 systems"):
        rl.tune({"a": sparse, "b": sparse}, weights=[[1.0]])


def test_something_else_than_evaluations_is_told():
    with pytest.raises(ConfigurationError, match="tune: expected evaluations"):
        rl.tune({"a": 3})


def test_candidates_of_a_reranker_are_tried_up_to_as_many_as_there_are(ranked: Callable[..., Evaluation]):
    found = rl.tune(ranked([1, 2, 3, 4, 5, None] * 4, reranked=[1, 1, 2, 4, 3, None] * 4), metric="rr@3")
    assert [setting.candidates for setting in found.settings] == [None, 5]


@pytest.mark.slow
def test_weights_that_are_given_are_those_that_are_tried(ranked: Callable[..., Evaluation]):
    systems = {"a": ranked([1, 2] * 12), "b": ranked([2, 1] * 12)}
    found = rl.tune(systems, metric="rr@3", weights=[[1, 3], [3, 1]], constants=[60])
    assert [setting.weights for setting in found.settings] == [(0.5, 0.5), (1.0, 3.0), (3.0, 1.0)]


@pytest.mark.slow
def test_of_many_systems_one_weight_is_varied_at_a_time(ranked: Callable[..., Evaluation]):
    systems = {name: ranked([1, 2] * 12) for name in "abcd"}
    found = rl.tune(systems, metric="rr@3", constants=[60])
    assert len(found.settings) == 1 + 4 * 9
    assert all(sum(setting.weights) == pytest.approx(1.0) for setting in found.settings)
    assert all(len(set(setting.weights)) <= 2 for setting in found.settings)
    assert found.settings[1].weights == pytest.approx((0.1, 0.3, 0.3, 0.3))


def test_more_settings_than_can_be_tried_are_refused(ranked: Callable[..., Evaluation]):
    with pytest.raises(ConfigurationError, match=r"tune: found 2,0\d\d settings; expected at most 2,000"):
        rl.tune(
            ranked([1, 2] * 12), metric="rr@3", ks=[1, 2, 3, 4, 5], cut_offs=[number / 500 for number in range(340)]
        )


def test_runs_without_a_chunk_in_common_are_told():
    data = rl.Dataset.from_dict({f"who is number {number}?": ["the keeper"] for number in range(12)})
    one, other = (
        rl.evaluate(lambda query, start=start: [{"id": f"{start}{query}", "text": "the keeper"}], data)
        for start in ("a", "b")
    )
    with pytest.raises(ConfigurationError, match="found no chunk id that both 'one' and 'other' returned; expected"):
        rl.tune({"one": one, "other": other})


def test_sessions_are_not_tuned():
    data = rl.Dataset.from_dict({"who?": ["the keeper"]})
    session = rl.Session(data.queries[0].id, [rl.Call.of("who", [rl.Chunk("the keeper", id="a")])])
    with pytest.raises(ConfigurationError, match="tune: found sessions; expected systems that search once"):
        rl.tune(rl.evaluate_sessions([session], data), metric="session_recall@10")
