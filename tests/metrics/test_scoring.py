from __future__ import annotations

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import Scores, rankings_by_stage, score
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import AP, RR, Precision, Recall
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric
from raglift.types.rankings import Ranking, Run, StageInfo, StageTrace, Trace

RELEVANT = (Fact((Passage(chunk_id="a"),)), Fact((Passage(chunk_id="b"),)))

DATASET = Dataset(
    (
        Query("found", "?", RELEVANT),
        Query("empty", "?", RELEVANT),  # nothing comes back
        Query("failed", "?", RELEVANT),  # in the first stage
        Query("failed-later", "?", RELEVANT),  # in the second
        Query("unlabelled", "?"),
        Query("unanswerable", "?", answerable=False),
    )
)


def ranking(*ids: str) -> Ranking:
    return Ranking.of((Chunk("text", id=name), None) for name in ids)


def trace(query_id: str, *rankings: Ranking, error: str | None = None) -> Trace:
    stages = zip(("retrieve", "rerank"), rankings, strict=False)
    return Trace(query_id, tuple(StageTrace(name, ranked, 0.0) for name, ranked in stages), error)


RUN = Run(
    (StageInfo("retrieve", "fake"), StageInfo("rerank", "fake")),
    (
        trace("found", ranking("x", "a", "b"), ranking("a", "x", "b")),
        trace("empty", ranking(), ranking()),
        trace("failed", error="retrieve: TimeoutError"),
        trace("failed-later", ranking("a", "b"), error="rerank: TimeoutError"),
        trace("unlabelled", ranking("a"), ranking("a")),
        trace("unanswerable", ranking("a"), ranking("a")),
    ),
    {},
)


def scored(*metrics: Metric, profile: str = "default") -> Scores:
    match_table = match_rankings(DATASET.queries, rankings_by_stage(RUN), MatchRule())
    return score(RUN, DATASET, match_table, metrics, profile)


def test_every_query_has_a_ranking_at_every_stage() -> None:
    retrieved, reranked = rankings_by_stage(RUN)
    assert [len(of_query) for of_query in retrieved] == [3, 0, 0, 2, 1, 1]
    assert [len(of_query) for of_query in reranked] == [3, 0, 0, 0, 1, 1]


def test_what_failed_or_came_back_empty_counts_0_and_what_has_no_labels_is_left_out() -> None:
    scores = scored(RR @ 3, Recall @ 2)
    nan = np.nan
    np.testing.assert_array_equal(scores.of("retrieve", RR @ 3), [0.5, 0, 0, 1, nan, nan])
    np.testing.assert_array_equal(scores.of("rerank", RR @ 3), [1, 0, 0, 0, nan, nan])
    np.testing.assert_array_equal(scores.of("retrieve", Recall @ 2), [0.5, 0, 0, 1, nan, nan])


def test_a_mean_is_over_all_labelled_queries() -> None:
    scores = scored(RR @ 3)
    assert (scores.n("retrieve", RR @ 3), scores.mean("retrieve", RR @ 3)) == (4, 1.5 / 4)
    assert (scores.n("rerank", RR @ 3), scores.mean("rerank", RR @ 3)) == (4, 1 / 4)


def test_a_profile_may_leave_out_what_came_back_empty_but_not_what_failed() -> None:
    scores = scored(RR @ 3, profile="autorag")
    nan = np.nan
    np.testing.assert_array_equal(scores.of("retrieve", RR @ 3), [(1 / 2 + 1 / 3) / 2, nan, 0, 0.75, nan, nan])
    np.testing.assert_array_equal(scores.of("rerank", RR @ 3), [(1 + 1 / 3) / 2, nan, 0, 0, nan, nan])
    assert scores.n("rerank", RR @ 3) == 3


def test_a_run_in_which_everything_failed() -> None:
    queries = Dataset((Query("q", "?", RELEVANT),))
    run = Run((StageInfo("retrieve", "fake"),), (trace("q", error="retrieve: OSError"),), {})
    match_table = match_rankings(queries.queries, rankings_by_stage(run), MatchRule())
    for profile in ("default", "tutorial", "autorag"):
        scores = score(run, queries, match_table, [Precision @ 3, AP @ 3, NDCG @ 3], profile)
        assert scores.values.tolist() == [[[0], [0], [0]]]


def test_what_was_not_scored_is_named() -> None:
    scores = scored(RR @ 3)
    with pytest.raises(ConfigurationError, match="stage: found 'judge'; expected one of retrieve, rerank"):
        scores.of("judge", RR @ 3)
    with pytest.raises(ConfigurationError, match="metric: found ndcg@3, which was not scored; expected one of rr@3"):
        scores.of("retrieve", NDCG @ 3)
