"""Measures of sessions: values computed by hand, a slow implementation, and one call against everything else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import choose_metrics, compute
from raglift.metrics.parsing import parse
from raglift.metrics.rank_measures import Recall
from raglift.metrics.registry import MEASURES
from raglift.metrics.session_measures import repeated_characters
from raglift.metrics.session_prefixes import calls, match_run
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Calls, Metric, Tokens
from raglift.types.rankings import Call, Ranking, Run, StageInfo, Trace
from raglift.types.sessions import Session, session_trace, stage_names

Labels = list[list[tuple[str, int]]]
Calls_ = list[list[str]]


def chunk(name: str) -> Chunk:
    return Chunk(f"text of {name}", id=name)


def query_of(facts: Labels) -> Query:
    made = (Fact(tuple(Passage(chunk_id=name, grade=grade) for name, grade in fact)) for fact in facts)
    return Query("q", "?", tuple(made))


def table_of(facts: Labels, searches: Calls_, context: list[str] | None = None, **options: Any) -> MatchTable:
    made = [Call.of("?", [chunk(name) for name in names]) for names in searches]
    kept = None if context is None else [chunk(name) for name in context]
    return table_of_trace(query_of(facts), session_trace(Session("q", made, kept), ["retrieve"]), **options)


def table_of_trace(query: Query, trace: Trace, rule: MatchRule | None = None) -> MatchTable:
    run = Run((StageInfo("retrieve", "agent"),), (trace,), {})
    rankings = [[done.ranking for done in trace.stages]]
    return match_run(run, rankings, [query], rule or MatchRule())[0]


def value(metric: str, facts: Labels, searches: Calls_, context: list[str] | None = None) -> float:
    return float(compute(table_of(facts, searches, context), parse(metric))[0])


AB = [[("a", 1)], [("b", 1)]]
"""Two facts, each of which one chunk proves."""


# A first call of ten useless hits and a perfect second one, as in elastic/kibana#290921.

USELESS = [f"x{number}" for number in range(10)]
SECOND_HOP = [USELESS, ["a", "b"]]


@pytest.mark.parametrize("metric", ["recall@10", "ndcg@10", "rr@10", "ap@10"])
def test_hits_one_call_after_the_other_and_cut_at_10_hide_a_perfect_second_call(metric: str) -> None:
    assert value(metric, AB, SECOND_HOP) == 0.0


def test_session_measures_count_a_perfect_second_call() -> None:
    assert value("session_recall@10", AB, SECOND_HOP) == 1.0
    found = (1 + 1 / math.log2(3)) / 1.5  # both at the discount of call 2: 1 + log4(2)
    ideal = 1 + 1 / 1.5  # of two calls: each fact at position 1 of one
    assert value("session_ndcg@10", AB, SECOND_HOP) == pytest.approx(found / ideal, abs=1e-12)
    assert value("recovery", AB, SECOND_HOP) == 1.0
    assert value("wasted_calls", AB, SECOND_HOP) == 0.5
    assert value("recall@calls(1)", AB, SECOND_HOP) == 0.0
    assert value("recall@calls(2)", AB, SECOND_HOP) == 1.0


# Values by hand.


@pytest.mark.parametrize(
    ("metric", "searches", "expected"),
    [
        ("session_recall@1", [["x", "a"], ["b"]], 0.5),
        ("session_recall@2", [["x", "a"], ["b"]], 1.0),
        ("session_ndcg@5", [["a", "b"]], 1.0),
        ("session_ndcg@5", [["a"], ["x", "b"]], (1 + 1 / (math.log2(3) * 1.5)) / (1 + 1 / 1.5)),
        ("session_ndcg(bq=2)@5", [["a"], ["x", "b"]], (1 + 1 / (math.log2(3) * 2)) / (1 + 1 / math.log2(3))),
        ("recovery", [["a"], ["b"]], 1.0),
        ("recovery", [["a", "b"], []], math.nan),
        ("recovery", [["x"], ["x"], ["a"]], 0.5),
        ("wasted_calls", [["a"], ["a", "x"], ["b"], []], 0.5),
        ("first_call", [["a"], ["x"], ["b"]], 2.0),
        ("calls", [["a"], [], ["b"]], 3.0),
        ("redundancy", [["a", "x"], ["a", "b"]], 0.25),
        ("redundancy", [["a", "a"]], 0.0),
        ("redundancy", [[], []], math.nan),
    ],
)
def test_worked_values_of_session_measures(metric: str, searches: Calls_, expected: float) -> None:
    assert value(metric, AB, searches) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("metric", "context", "expected"),
    [
        ("kept", ["a"], 0.5),
        ("kept", ["a", "x", "b"], 1.0),
        ("kept", None, math.nan),
        ("final_recall", ["a", "x"], 0.5),
        ("final_recall", None, math.nan),
        ("final_precision", ["a", "x", "y"], 1 / 3),
        ("final_precision", [], 0.0),
    ],
)
def test_worked_values_of_the_final_context(metric: str, context: list[str] | None, expected: float) -> None:
    assert value(metric, AB, [["a", "x"], ["b"]], context) == pytest.approx(expected, nan_ok=True)


def test_a_fact_of_the_context_that_no_call_found_is_not_kept_but_recalled() -> None:
    assert math.isnan(value("kept", AB, [["x"]], ["a"]))
    assert value("final_recall", AB, [["x"]], ["a"]) == 0.5


def test_a_better_alternative_in_a_later_call_adds_at_the_larger_discount() -> None:
    facts = [[("a", 1), ("better", 3)]]
    ideal = 3.0
    assert value("session_ndcg@5", facts, [["a"], ["better"]]) == pytest.approx((1 + 2 / 1.5) / ideal)
    late = 1 / math.log2(5) + 2 / max(math.log2(5), 1.5)
    assert value("session_ndcg@5", facts, [["x", "y", "z", "a"], ["better"]]) == pytest.approx(late / ideal)


def test_coverage_adds_up_over_calls() -> None:
    text = "the lamp was lit in the winter of eighteen hundred and seventy one by the keeper"
    query = Query("q", "?", (Fact((Passage(text, "d", 0, len(text)),)),))
    half = len(text) // 2
    parts = [
        Chunk(text[:half], doc_id="d", start=0, end=half),
        Chunk(text[half:], doc_id="d", start=half, end=len(text)),
    ]
    noise = Chunk("nothing of it, but long enough to be a hit of its own", doc_id="e")
    session = Session("q", [Call.of("?", [parts[0]]), Call.of("?", [noise, parts[1]])])
    table = table_of_trace(query, session_trace(session, ["retrieve"]), MatchRule("coverage", threshold=0.9))
    assert compute(table, parse("session_recall@2")).tolist() == [1.0]
    assert compute(table, parse("session_recall@1")).tolist() == [0.0]


def test_redundancy_counts_characters_of_the_document_once() -> None:
    first = Chunk("x" * 100, doc_id="d", start=0, end=100)
    overlapping = Chunk("x" * 100, doc_id="d", start=50, end=150)
    elsewhere = Chunk("x" * 100, doc_id="e", start=50, end=150)
    longer = Chunk("y" * 160, doc_id="d", start=0, end=160)

    def repeated(*calls: list[Chunk]) -> list[tuple[int, int]]:
        """Of each call, the characters of its hits, and how many of these an earlier call had returned."""
        session = Session("q", [Call.of("?", hits) for hits in calls])
        table = table_of_trace(Query("q", "?"), session_trace(session, ["retrieve"]), MatchRule("containment"))
        return list(repeated_characters(table))

    assert repeated([first], [overlapping]) == [(100, 0), (100, 50)]
    assert repeated([first], [elsewhere]) == [(100, 0), (100, 0)]
    assert repeated([first], [overlapping], [longer]) == [(100, 0), (100, 50), (160, 150)]
    assert repeated([first, overlapping], [longer, longer]) == [(200, 0), (320, 300)]  # none within one call
    assert repeated([Chunk("same"), Chunk("same")], [], [Chunk("same"), Chunk("other")]) == [(8, 0), (0, 0), (9, 4)]


def test_hits_at_one_rank_have_positions_of_their_own_within_each_call() -> None:
    both = [[("a", 1)], [("a", 1)]]
    assert value("session_ndcg@5", both, [["a"]]) == value("ndcg@5", both, [["a"]]) == 1.0


# A slow implementation.


class Slow:
    """One session's measures, call by call."""

    def __init__(self, facts: Labels, searches: Calls_, k: int | None) -> None:
        self.facts, self.searches, self.k = facts, searches, k
        self.places = [
            (number, position, name)
            for number, names in enumerate(searches, start=1)
            for position, name in enumerate(names[:k], start=1)
        ]

    def first(self, fact: list[tuple[str, int]]) -> tuple[int, int] | None:
        return next(((call, rank) for call, rank, name in self.places if name in dict(fact)), None)

    def session_recall(self) -> float:
        return sum(self.first(fact) is not None for fact in self.facts) / len(self.facts)

    def first_call(self) -> float:
        found = [place[0] for fact in self.facts if (place := self.first(fact))]
        return sum(found) / len(found) if found else math.nan

    def wasted_calls(self) -> float:
        finds = {place[0] for fact in self.facts if (place := self.first(fact))}
        made = len(self.searches)
        return (made - len(finds)) / made if made else math.nan

    def recovery(self) -> float:
        later = [self.first(fact) for fact in self.facts if (self.first(fact) or (0,))[0] != 1]
        return sum(place is not None for place in later) / len(later) if later else math.nan

    def discount(self, position: int, call: int) -> float:
        return math.log2(position + 1) * (1 + math.log(call, 4))

    def session_ndcg(self) -> float:
        satisfied = [(place, fact) for fact in self.facts if (place := self.first(fact))]
        satisfied.sort(key=lambda pair: (*pair[0], -self.grade_at(pair[1], pair[0])))
        total, before, position = 0.0, 0, 0
        for (call, rank), fact in satisfied:
            position = max(rank, position + 1) if call == before else rank
            before, best = call, 0
            for later_call, later_rank, name in self.places:
                if (later_call, later_rank) < (call, rank):
                    continue
                grade = max((g for other, g in fact if other == name), default=0)
                if grade > best:
                    within = self.k is None or (position <= self.k)
                    worst = max(self.discount(position, call), self.discount(later_rank, later_call))
                    total += (grade - best) / worst if within else 0.0
                    best = grade
        ideal = sorted((max(grade for _, grade in fact) for fact in self.facts), reverse=True)
        most = len(ideal) if self.k is None else min(self.k, len(ideal))
        slots = [self.discount(p, c) for c in range(1, max(len(self.searches), 1) + 1) for p in range(1, most + 1)]
        return total / sum(gain / slot for gain, slot in zip(ideal, sorted(slots), strict=False))

    def grade_at(self, fact: list[tuple[str, int]], place: tuple[int, int]) -> int:
        name = next(name for call, rank, name in self.places if (call, rank) == place)
        return max(grade for other, grade in fact if other == name)


names = st.sampled_from("abcdefxy")
labels = st.lists(st.lists(st.tuples(names, st.integers(1, 4)), min_size=1, max_size=3), min_size=1, max_size=4)
searches = st.lists(st.lists(names, max_size=6), max_size=4)


@pytest.mark.slow
@given(labels, searches, st.integers(1, 6) | st.none())
@settings(deadline=None)
def test_every_session_measure_against_the_slow_implementation(facts: Labels, made: Calls_, k: int | None) -> None:
    table, slow, whole = table_of(facts, made), Slow(facts, made, k), Slow(facts, made, None)
    for name, expected in (
        ("session_recall", slow.session_recall()),
        ("session_ndcg", slow.session_ndcg()),
        ("recovery", whole.recovery()),
        ("wasted_calls", whole.wasted_calls()),
        ("first_call", whole.first_call()),
    ):
        found = float(compute(table, Metric(name, k if MEASURES[name].takes_k else None))[0])
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True), name
        assert math.isnan(found) or name == "first_call" or 0 <= found <= 1 + 1e-12, name


@pytest.mark.slow
@given(labels, searches, st.integers(1, 4))
@settings(deadline=None)
def test_recall_after_n_calls_is_recall_of_a_session_that_stops_there(facts: Labels, made: Calls_, most: int) -> None:
    table, stopped = table_of(facts, made), table_of(facts, made[:most])
    for metric in ("recall", "ndcg", "session_recall", "session_ndcg"):
        assert compute(table, Metric(metric, Calls(most))).tolist() == compute(stopped, Metric(metric)).tolist()


# A session of one call is a ranking: every metric is the same, bit by bit.


@pytest.mark.slow
@given(st.lists(st.tuples(labels, st.lists(names, max_size=9)), min_size=1, max_size=4), st.integers(1, 8))
@settings(deadline=None)
def test_with_one_call_every_metric_is_that_of_the_ranking(cases: list[tuple[Labels, list[str]]], k: int) -> None:
    queries = [replace(query_of(facts), id=f"q{number}") for number, (facts, _) in enumerate(cases)]
    rankings = [Ranking.of((chunk(name), None) for name in hits) for _, hits in cases]
    (plain,) = match_rankings(queries, [rankings], MatchRule())
    traces = tuple(
        session_trace(Session(query.id, [Call.of("?", ranking)]), ["retrieve"])
        for query, ranking in zip(queries, rankings, strict=True)
    )
    run = Run((StageInfo("retrieve", "agent"),), traces, {})
    (of_sessions,) = match_run(run, [[trace.stages[0].ranking for trace in traces]], queries, MatchRule())
    for name, measure in MEASURES.items():
        if measure.needs_chunks or measure.needs_irrelevant or measure.origin or name == "context_tokens":
            continue
        depths = [Tokens(k)] if measure.needs_budget else [k, None] if measure.takes_k else [None]
        for metric in (Metric(name, depth) for depth in depths if depth is not None or not measure.needs_k):
            expected = compute(plain, metric)
            np.testing.assert_array_equal(compute(of_sessions, metric), expected, err_msg=str(metric))
    for name in ("recall", "ndcg"):
        same = compute(plain, Metric(name, k))
        found = compute(of_sessions, Metric(f"session_{name}", k))
        np.testing.assert_allclose(
            found, same, rtol=1e-15, atol=1e-15, err_msg=name
        )  # gains are summed in other orders


# The depth calls(n).


def test_a_number_of_calls_is_a_depth() -> None:
    assert str(Recall @ calls(2)) == "recall@calls(2)"
    assert parse("Recall @ CALLS( 2 )") == Recall @ calls(2)
    assert choose_metrics(["recall"], [3, "calls(2)"]) == (Recall @ 3, Recall @ calls(2))
    assert sorted([Metric("recall"), Recall @ calls(1), Recall @ 9]) == [
        Recall @ 9,
        Recall @ calls(1),
        Metric("recall"),
    ]


def test_a_measure_that_divides_by_k_is_refused_after_so_many_calls() -> None:
    with pytest.raises(ConfigurationError, match="calls return different numbers of them"):
        parse("precision@calls(2)")


@pytest.mark.parametrize("most", [0, True, 1.5, 10**9])
def test_a_number_of_calls_is_a_positive_integer(most: Any) -> None:
    with pytest.raises(ConfigurationError, match="calls: found"):
        Calls(most)


# Stages of calls.


def of_stages(**stages: list[str]) -> Call:
    return Call.of("?", {name: [chunk(one) for one in found] for name, found in stages.items()})


def ids(ranking: Ranking) -> list[str]:
    return [each.id for each in ranking.chunks]


def test_a_call_without_a_reranker_has_the_same_hits_after_it() -> None:
    session = Session("q", [of_stages(retrieve=["a", "b"], rerank=["b"]), of_stages(retrieve=["c"])])
    names_ = stage_names([session])
    trace = session_trace(session, names_)
    assert names_ == ("retrieve", "rerank")
    assert [ids(stage.ranking) for stage in trace.stages] == [["a", "b", "c"], ["b", "c"]]


def test_a_call_that_says_only_what_was_reranked_has_that_before_it_too() -> None:
    session = Session("q", [of_stages(rerank=["b"]), of_stages(retrieve=["a", "c"], rerank=["c"])])
    trace = session_trace(session, stage_names([session]))
    assert [ids(stage.ranking) for stage in trace.stages] == [["b", "a", "c"], ["b", "c"]]


def test_a_failed_call_has_no_hits_and_counts_as_wasted() -> None:
    session = Session("q", [Call("?", error="timeout"), of_stages(retrieve=["a"])])
    table = table_of_trace(query_of(AB), session_trace(session, stage_names([session])))
    assert compute(table, parse("wasted_calls")).tolist() == [0.5]
    assert compute(table, parse("first_call")).tolist() == [2.0]


def test_stages_in_different_orders_are_refused() -> None:
    one, other = of_stages(retrieve=["a"], rerank=["a"]), of_stages(rerank=["a"], retrieve=["a"])
    with pytest.raises(ConfigurationError, match="one order for all calls"):
        stage_names([Session("q", [one, other])])
