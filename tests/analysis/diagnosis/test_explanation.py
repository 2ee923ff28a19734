"""Why a query scored what it did: pieces, directions, and earnings that add up to each value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.errors import ConfigurationError, DatasetError
from raglift.matching.rule import MatchRule
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.rank_measures import RR, Recall
from raglift.metrics.registry import MEASURES
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

TEXT = "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book. "
COVERAGE = MatchRule("coverage")
Span = tuple[int, int]


def chunk(start: int, end: int, name: str = "") -> Chunk:
    return Chunk(TEXT[start:end], id=name, doc_id="tower", start=start, end=end)


def passage(start: int, end: int, grade: int = 1) -> Passage:
    return Passage(TEXT[start:end], "tower", start, end, grade=grade)


def measured(
    facts: list[list[Passage]], hits: list[Chunk], rule: MatchRule = COVERAGE, **options: object
) -> Evaluation:
    query = Query("q", "What did the keeper do?", tuple(Fact(tuple(alternatives)) for alternatives in facts))
    settings = {"ks": (1, 3), **options}
    return evaluate(FakeRetriever({query.text: hits}), Dataset((query,)), match=rule, **settings)  # type: ignore[arg-type]


def test_pieces_say_what_is_covered_in_which_direction_and_what_counts() -> None:
    facts = [[passage(19, 60)], [Passage(chunk_id="c9", grade=2)]]
    chunks = [chunk(0, 30), chunk(60, 80), chunk(20, 45), Chunk("another text", id="c9"), chunk(0, 89)]
    found = measured(facts, chunks).explain("q")
    overlaps = [
        [(p.fact, p.direction, p.start, p.end, p.length, p.counts, p.satisfies) for p in hit.overlaps]
        for hit in found.hits
    ]
    assert overlaps == [
        [(1, "chunk overlaps passage", 0, 11, 41, False, False)],
        [],
        [(1, "passage contains chunk", 1, 26, 41, True, True)],
        [(2, "same id", 0, 0, 0, True, True)],
        [(1, "chunk contains passage", 0, 41, 41, True, False)],
    ]


def test_of_two_alternatives_only_the_one_that_is_covered_enough_satisfies() -> None:
    facts = [[passage(38, 89), passage(0, 37)]]
    (hit,) = measured(facts, [chunk(0, 45)]).explain("q").hits
    assert [(overlap.passage, overlap.satisfies) for overlap in hit.overlaps] == [(1, False), (2, True)]


def test_a_better_alternative_satisfies_again() -> None:
    facts = [[passage(0, 37), passage(38, 54, grade=3)]]
    found = measured(facts, [chunk(0, 37), chunk(0, 30), chunk(38, 60)], metrics=["ndcg"], ks=(3,)).explain("q")
    assert [[overlap.satisfies for overlap in hit.overlaps] for hit in found.hits] == [[True], [False], [True]]
    assert [hit.earned[0] > 0 for hit in found.hits] == [True, False, True]


def test_by_containment_a_straddling_chunk_is_shown_and_is_no_match() -> None:
    (hit,) = measured([[passage(19, 60)]], [chunk(0, 45)], MatchRule()).explain("q").hits
    assert [(overlap.end, overlap.counts, overlap.satisfies) for overlap in hit.overlaps] == [(26, False, False)]
    assert "which is no match by itself" in str(measured([[passage(19, 60)]], [chunk(0, 45)], MatchRule()).explain("q"))


spans = st.tuples(st.integers(0, 80), st.integers(1, 60)).map(lambda s: (s[0], min(s[0] + s[1], 88)))
alternatives = st.one_of(
    st.builds(lambda s, grade: passage(*s, grade), spans.filter(lambda s: TEXT[slice(*s)].strip()), st.integers(1, 3)),
    st.builds(lambda name: Passage(chunk_id=name), st.sampled_from(["c0", "c1"])),
)
cuts = st.lists(st.tuples(spans, st.sampled_from(["c0", "c1", ""])), max_size=5)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(alternatives, min_size=1, max_size=2), min_size=1, max_size=3),
    cuts,
    st.sampled_from(["containment", "coverage"]),
    st.sampled_from(sorted(PROFILES)),
)
def test_what_the_hits_earned_adds_up_to_the_value_of_every_metric_in_every_profile(
    facts: list[list[Passage]], hits: list[tuple[Span, str]], match: str, profile: str
) -> None:
    chunks = [chunk(*span, name) for span, name in hits]
    built_in = [measure for measure in MEASURES.values() if not measure.origin]
    names = sorted(one.name for one in built_in if one.is_earned and not one.needs_irrelevant)
    rule = MatchRule.for_profile(profile, match)
    found = measured(facts, chunks, rule, metrics=names, ks=(1, 3), profile=profile).explain("q")
    earned = found.earnings()
    assert list(earned.columns) == [str(metric) for metric in found.metrics]
    values = np.nan_to_num(found.values)
    assert np.allclose(earned.to_numpy().reshape(-1, len(found.metrics)).sum(axis=0), values)


def test_what_no_hit_earns_is_left_out() -> None:
    evaluation = measured(
        [[passage(0, 30)]], [chunk(0, 30)], metrics=["idcg", "span_precision_omega", "rr"], chunks=[chunk(0, 30)]
    )
    assert evaluation.explain("q").metrics == (RR @ 1, RR @ 3)
    nothing = measured([[passage(0, 30)]], [chunk(0, 30)], metrics=["idcg"]).explain("q")
    assert (nothing.metrics, [hit.earned for hit in nothing.hits]) == ((), [()])


def test_a_stage_is_chosen_by_name_and_the_last_is_the_default() -> None:
    first, second = "so the wick was trimmed", "nothing to the point"
    query = Query("q", "?", (Fact((Passage("the wick was trimmed"),)),))
    system, reranker = FakeRetriever({"?": [first, second]}), FakeReranker({second: 1.0})
    evaluation = evaluate(system, Dataset((query,)), reranker=reranker, metrics=["rr"], ks=(2,))
    assert [evaluation.explain("q", stage=stage).values for stage in ("retrieve", None)] == [(1.0,), (0.5,)]
    with pytest.raises(ConfigurationError, match=r"stage: found 'rank'; expected one of retrieve, rerank"):
        evaluation.explain("q", stage="rank")
    with pytest.raises(DatasetError, match='expected one of "q"'):
        evaluation.explain("p")


def test_queries_that_failed_came_back_empty_or_have_no_labels() -> None:
    label = (Fact((Passage("the wick was trimmed"),)),)
    queries = (Query("fails", "a", label), Query("empty", "b", label), Query("unlabelled", "c"))
    system = FakeRetriever({"a": RuntimeError("no index"), "c": ["any"]})
    evaluation = evaluate(system, Dataset(queries), metrics=["recall"], ks=(1,))
    fails, empty, unlabelled = (evaluation.explain(query.id) for query in queries)
    assert "no index" in (fails.error or "")
    assert "failed: " in str(fails)
    assert (fails.values, fails.hits, empty.values, empty.error) == ((0.0,), (), (0.0,), None)
    assert math.isnan(unlabelled.values[0])
    assert unlabelled.hits[0].earned == (0.0,)
    assert "left out" in str(unlabelled)


def test_frames_have_a_row_a_piece_and_a_column_a_metric() -> None:
    found = measured([[passage(0, 37)], [passage(19, 54)]], [chunk(0, 60, "a"), chunk(61, 80, "b")]).explain("q")
    frame = found.to_frame()
    assert frame["rank"].tolist() == [1, 1, 2]
    assert frame["fact"].tolist()[:2] == [1, 2]
    assert frame["fact"].isna().tolist() == [False, False, True]
    assert found.earnings().loc[1, str(Recall @ 1)] == 1
    assert str(NDCG @ 3) in found.earnings()


def test_the_text_names_the_passage_the_hit_and_what_it_earned() -> None:
    text = str(
        measured([[passage(19, 60), passage(0, 10)]], [chunk(61, 80), chunk(15, 50)], metrics=["rr"]).explain("q")
    )
    assert "q: What did the keeper do?" in text
    assert "match by coverage (threshold 0.5)" in text
    assert "fact 1: tower 19–60 “the tower at dusk" in text
    assert "    or tower 0–10" in text
    assert "rank 2: tower 15–50" in text
    assert "fact 1: chunk overlaps passage, characters 0–31 of 41 (75%) → satisfied, grade 1" in text
    assert "earned: RR@3 +0.500" in text
    assert "1 of 2 hits matches a label.\n" in text
    assert "metric  k = 1  k = 3\n────────────────────\nRR      0.000  0.500\n" in text
