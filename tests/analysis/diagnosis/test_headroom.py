"""A perfect reranker: no order of the candidates does better, and where it is said to be exact one does as well."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import Recall
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book. "
RULES = (MatchRule(), MatchRule("coverage"), MatchRule("coverage", threshold=0.9), MatchRule("coverage", threshold=1.0))
Span = tuple[int, int]


def chunk(span: Span) -> Chunk:
    return Chunk(TEXT[slice(*span)], doc_id="tower", start=span[0], end=span[1])


def passage(span: Span, grade: int = 1) -> Passage:
    return Passage(TEXT[slice(*span)], "tower", *span, grade=grade)


def measured(labels: list[list[Passage]], cuts: list[Span], rule: MatchRule, k: int) -> Evaluation:
    query = Query("q", "?", tuple(Fact(tuple(alternatives)) for alternatives in labels))
    system = FakeRetriever({"?": [chunk(cut) for cut in cuts]})
    return evaluate(system, Dataset((query,)), match=rule, ks=(k,), depth="deep", candidates=6)


def best_of_all_orders(labels: list[list[Passage]], cuts: list[Span], rule: MatchRule, k: int) -> tuple[float, float]:
    """Return the greatest recall and NDCG of any order of the chunks."""
    query = Query("q", "?", tuple(Fact(tuple(alternatives)) for alternatives in labels))
    orders = [Ranking.of((chunk(cut), None) for cut in order) for order in permutations(cuts, min(k, len(cuts)))]
    (judged,) = match_rankings([query] * len(orders), [orders], rule)
    recall, ndcg = (compute(judged, metric).max() for metric in (Recall @ k, NDCG @ k))
    return float(recall), float(ndcg)


def cut_off(start: int, length: int) -> Span:
    return start, min(start + length, len(TEXT))


spans = st.builds(cut_off, st.integers(0, len(TEXT) - 2), st.integers(1, 45)).filter(lambda s: TEXT[slice(*s)].strip())
facts = st.lists(st.builds(passage, spans, st.integers(1, 3)), min_size=1, max_size=2)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.lists(facts, min_size=1, max_size=4), st.lists(spans, max_size=5), st.sampled_from(RULES), st.integers(1, 4))
# one chunk covers a passage and all but the white space between two halves of another
@example([[passage((0, 10))], [passage((0, 21))]], [(0, 18)], MatchRule("coverage", threshold=0.9), 1)
def test_no_order_does_better_and_where_it_is_exact_one_does_as_well(
    labels: list[list[Passage]], cuts: list[Span], rule: MatchRule, k: int
) -> None:
    found = measured(labels, cuts, rule, k).headroom()
    recall, ndcg = best_of_all_orders(labels, cuts, rule, k)
    assert found.recall[0] >= recall - 1e-9
    assert found.ndcg[0] >= ndcg - 1e-9
    if found.exact[0]:
        assert (found.recall[0], found.ndcg[0]) == pytest.approx((recall, ndcg))


def test_white_space_after_a_covered_part_tips_nothing() -> None:
    """The first chunk satisfies one fact, and misses the other by the space after it: NDCG@1 is 1 all the same."""
    labels, threshold = [[passage((0, 10))], [passage((0, 19))]], 11 / 19
    found = measured(labels, [(0, 10)], MatchRule("coverage", threshold=threshold), 1).headroom()
    assert TEXT[10] == " "
    assert best_of_all_orders(labels, [(0, 10)], MatchRule("coverage", threshold=threshold), 1) == (0.5, 1.0)
    assert (found.mean_recall, found.mean_ndcg, found.is_exact) == (0.5, 1.0, True)


def test_each_chunk_proving_one_fact_is_exact_and_the_better_grade_comes_first() -> None:
    labels = [[passage((0, 10))], [passage((11, 34), grade=3)], [passage((38, 54), grade=2)]]
    cuts = [(0, 10), (38, 54), (60, 80), (11, 34)]
    found = measured(labels, cuts, MatchRule(), 2).headroom()
    assert found.is_exact
    assert found.mean_recall == pytest.approx(2 / 3)
    assert found.mean_ndcg == pytest.approx(1)
    assert str(found) == "A perfect order of these candidates would reach Recall@2 0.667, NDCG@2 1.000"


def test_two_chunks_that_only_together_cover_a_passage_cannot_both_be_first() -> None:
    found = measured([[passage((0, 40))]], [(0, 20), (20, 40)], MatchRule("coverage", threshold=0.9), 2).headroom()
    assert found.mean_recall == 1
    assert found.mean_ndcg == pytest.approx(1 / math.log2(3))
    assert found.is_exact


def test_it_is_about_the_candidates_whatever_the_reranker_dropped() -> None:
    query = Query("q", "?", (Fact((Passage("the wick was trimmed"),)),))
    texts = ["nothing to the point", "and the wick was trimmed at dusk"]
    evaluation = evaluate(
        FakeRetriever({"?": texts}),
        Dataset((query,)),
        reranker=FakeReranker({texts[0]: 1.0}, top_n=1),
        ks=(1,),
        depth="deployed",
    )
    assert evaluation.scores.mean("rerank", Recall @ 1) == 0
    assert evaluation.headroom().mean_recall == 1


def test_failed_queries_count_0_and_unlabelled_ones_are_left_out() -> None:
    label = (Fact((Passage("the wick was trimmed"),)),)
    queries = (Query("found", "a", label), Query("fails", "b", label), Query("unlabelled", "c"))
    system = FakeRetriever({"a": ["the wick was trimmed"], "b": RuntimeError("no index"), "c": ["any"]})
    found = evaluate(system, Dataset(queries), ks=(1, 3)).headroom()
    assert found.k == 3
    assert found.recall[:2].tolist() == found.ndcg[:2].tolist() == [1, 0]
    assert np.isnan(found.recall[2])
    assert found.mean_recall == 0.5
    assert found.is_exact


def test_without_labels_there_is_nothing_to_reach() -> None:
    found = evaluate(FakeRetriever({}), Dataset((Query("q", "?"),)), ks=(1,)).headroom()
    assert math.isnan(found.mean_recall)
    assert str(found) == "no question is labelled"


@pytest.mark.parametrize("k", [0, 7, True, 1.0])
def test_a_depth_that_was_not_asked_of_the_system_is_refused(k: int) -> None:
    with pytest.raises(ConfigurationError, match="expected an integer from 1 to 6"):
        measured([[passage((0, 10))]], [(0, 10)], MatchRule(), 2).headroom(k)


def test_a_perfect_reranker_takes_no_memory_for_places_that_no_fact_can_take() -> None:
    evaluation = measured([[passage((0, 30))]], [(0, 40)], MatchRule(), 1)
    deep = replace(evaluation, run=replace(evaluation.run, spec={**evaluation.run.spec, "candidates": 10**6}))
    tracemalloc.start()
    try:
        assert deep.headroom(10**6).mean_ndcg == 1
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_no_figure_is_below_that_of_a_stage_which_replaces_the_candidates_by_longer_texts() -> None:
    label = "The wick was trimmed before the lamp was lit."
    sentences, windows = ["The wick was trimmed", "The horn is blown"], ["The keeper came at dusk.", f"Then: {label}"]

    class Windows:
        """As a sentence window: each sentence is replaced by the text around it."""

        def rerank(self, queries: list[str], rankings: list[Ranking]) -> list[Ranking]:
            return [
                Ranking.of((replace(hit.chunk, text=text), None) for hit, text in zip(one, windows, strict=True))
                for one in rankings
            ]

    data = Dataset((Query("q", "?", (Fact((Passage(label),)),)),))
    rule = MatchRule(minimum_length=30)
    evaluation = evaluate(FakeRetriever({"?": sentences}), data, reranker=Windows(), match=rule, ks=(1, 2))
    found = evaluation.headroom(2)
    assert evaluation.scores.mean("rerank", Recall @ 2) == found.mean_recall == 1
    assert found.mean_ndcg == 1 > evaluation.scores.mean("rerank", NDCG @ 2)
    assert found.is_exact
    assert (found.stage, evaluation.headroom(1).stage) == ("rerank", "rerank")


def test_a_stage_that_adds_a_hit_to_one_question_and_cuts_the_others_lowers_no_figure() -> None:
    texts = {f"q{number}": ["A", "B", "C", f"The answer is {number}."] for number in range(3)}

    class Cutting:
        def rerank(self, queries: list[str], rankings: list[Ranking]) -> list[Ranking]:
            added = Ranking.of([(Chunk("The answer is 0, too."), None)])
            return [
                added if query == "q0" else Ranking(one.hits[:2]) for query, one in zip(queries, rankings, strict=True)
            ]

    facts = {query: (Fact((Passage(answer[-1]),)),) for query, answer in texts.items()}
    facts["q0"] = (*facts["q0"], Fact((Passage("The answer is 0, too."),)))
    data = Dataset(tuple(Query(query, query, of_query) for query, of_query in facts.items()))
    found = evaluate(FakeRetriever(texts), data, reranker=Cutting(), ks=(1, 2)).headroom(2)
    assert found.recall.tolist() == [0.5, 1, 1]
    assert found.ndcg.tolist()[1:] == [1, 1]
