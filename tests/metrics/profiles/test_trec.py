"""`profile="trec"` against trec_eval's own code and ranx, on labels by id."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.testing.fakes import FakeRetriever
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

pytrec_eval = pytest.importorskip("pytrec_eval")

Labels = list[list[tuple[str, int]]]
"""The facts of a query, each with its alternatives and their grades."""
Case = tuple[Labels, list[str]]

KS = (1, 2, 3, 5, 10, 25)
NAMES = [f"chunk{number}" for number in range(24)]
names = st.sampled_from(NAMES)
labels = st.lists(st.lists(st.tuples(names, st.integers(1, 4)), min_size=1, max_size=4), min_size=1, max_size=5)
rankings = st.lists(names, max_size=30) | st.lists(names, min_size=15, max_size=24, unique=True)
cases = st.lists(st.tuples(labels, rankings), min_size=1, max_size=8)
few_examples = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

CUT = {"hit_rate": "success", "precision": "P", "recall": "recall", "ap": "map_cut", "ndcg": "ndcg_cut"}
UNCUT = {
    "precision": "set_P",
    "r_precision": "Rprec",
    "recall": "set_recall",
    "f1": "set_F",
    "rr": "recip_rank",
    "ap": "map",
    "ndcg": "ndcg",
}
OF_TREC_EVAL = {f"{name}@{k}": f"{peer}_{k}" for name, peer in CUT.items() for k in KS} | UNCUT
ASKED = {f"{peer}.{','.join(map(str, KS))}" for peer in CUT.values()} | set(UNCUT.values())


def qrels_of(facts: Labels) -> dict[str, int]:
    """Every alternative is a relevant document, with the best of the grades that it was given."""
    grades: dict[str, int] = {}
    for name, grade in (alternative for fact in facts for alternative in fact):
        grades[name] = max(grade, grades.get(name, 0))
    return grades


def run_of(ids: list[str]) -> dict[str, float]:
    """Strictly descending scores; what comes back again is another document, which were not judged."""
    distinct = [name if name not in ids[:place] else f"again{place}" for place, name in enumerate(ids)]
    return {name: float(len(ids) - place) for place, name in enumerate(distinct)}


def trec_eval(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Return each query's values; a query that came back empty has none: `-c` counts it 0."""
    qrels = {f"q{number}": qrels_of(facts) for number, (facts, _) in enumerate(cases)}
    run = {f"q{number}": run_of(ids) for number, (_, ids) in enumerate(cases)}
    found = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    return {query: found.get(query, dict.fromkeys(OF_TREC_EVAL.values(), 0.0)) for query in qrels}


@pytest.mark.slow
@given(cases)
@few_examples
def test_trec_eval(judged, cases: list[Case]) -> None:
    match_table = judged(*cases)
    theirs = trec_eval(cases)
    for metric, peer in OF_TREC_EVAL.items():
        expected = [of_query[peer] for of_query in theirs.values()]
        found = compute(match_table, parse(metric), "trec").tolist()
        if "ndcg" in metric:
            # numpy's log2 and the C library's may differ in the last bit
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=metric)
        elif metric == "f1":
            # trec_eval writes set_F as (1 + x) P R / (R + x P) with x = 1, which rounds otherwise than 2PR / (P + R)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15, err_msg=metric)
        else:
            assert found == expected, metric


DOORS = ["precision@3", "recall@3", "f1@3", "ap@3", "ndcg@3", "ap@10", "ndcg@10"]
WORLD: list[Case] = [
    ([[("a", 2)], [("b", 1)], [("c", 3)]], ["x", "c", "a", "y", "b"]),
    ([[("a", 1), ("b", 3)], [("c", 1)]], ["b", "a", "x"]),
    ([[("a", 1)]], []),
]


def test_evaluate_and_rescore_give_the_same_with_alternatives_in_a_fact() -> None:
    queries = tuple(
        Query(f"q{n}", f"question {n}", tuple(Fact(tuple(Passage(chunk_id=i, grade=g) for i, g in f)) for f in facts))
        for n, (facts, _) in enumerate(WORLD)
    )
    retriever = FakeRetriever({f"question {n}": [Chunk("text", id=i) for i in ids] for n, (_, ids) in enumerate(WORLD)})
    evaluation = rl.evaluate(retriever, rl.Dataset(queries), metrics=DOORS, profile="trec")
    flat = {f"q{n}": qrels_of(facts) for n, (facts, _) in enumerate(WORLD)}
    expected = rl.score_rankings({f"q{n}": ids for n, (_, ids) in enumerate(WORLD)}, flat, DOORS, profile="trec").values
    np.testing.assert_array_equal(evaluation.scores.values[0], expected)
    by_default = rl.evaluate(retriever, rl.Dataset(queries), metrics=DOORS)
    assert not np.array_equal(by_default.scores.values, evaluation.scores.values)
    np.testing.assert_array_equal(
        rl.rescore(by_default, metrics=DOORS, profile="trec").scores.values, evaluation.scores.values
    )


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("precision@5", 0.4), ("precision", 2 / 3), ("recall@5", 2 / 3), ("ap@5", 5 / 9), ("ndcg@5", 0.7039)],
)
def test_a_x_b_of_a_b_c(value, metric: str, expected: float) -> None:
    assert value(metric, ["A", "B", "C"], ["A", "X", "B"], "trec") == pytest.approx(expected, abs=5e-5)


def test_an_id_that_comes_back_again_keeps_its_rank_and_is_no_document(value) -> None:
    assert value("precision@3", ["A", "B"], ["A", "A", "B"], "trec") == 2 / 3
    assert value("r_precision", ["A", "B"], ["A", "A", "B"], "trec") == 0.5
    assert value("ap@3", ["A", "B"], ["A", "A", "B"], "trec") == (1 + 2 / 3) / 2


def test_an_id_in_two_facts_is_one_document_of_the_better_grade(value) -> None:
    assert value("recall@1", [("A", 1), ("A", 3), "B"], ["A"], "trec") == 0.5
    assert value("dcg@1", [("A", 1), ("A", 3), "B"], ["A"], "trec") == 3
    assert value("idcg", [("A", 1), ("A", 3), "B"], [], "trec") == 3 + 1 / math.log2(3)


def test_a_text_is_a_document_that_the_first_hit_with_it_retrieves() -> None:
    lamp, sea = "the keeper trims the lamp at dusk", "the museum is closed on Mondays in winter"
    query = Query("q", "?", (Fact((Passage(lamp),)), Fact((Passage(sea),))))
    texts = [f"{lamp}, he says", f"again: {lamp}", f"{lamp} and {sea}"]
    (match_table,) = match_rankings([query], [[Ranking.of((Chunk(text), None) for text in texts)]], MatchRule())
    found = {name: float(compute(match_table, parse(name), "trec")[0]) for name in ("precision@3", "recall@3", "ap@3")}
    assert found == {"precision@3": 2 / 3, "recall@3": 1, "ap@3": (1 + 2 / 3) / 2}
