"""Every default metric against a slow implementation of the definitions in `docs/reference/metrics/`, and what must
hold of any ranking.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.metrics.computing import compute
from raglift.metrics.rank_measures import Precision
from raglift.metrics.registry import MEASURES
from raglift.types.metric import Metric, Tokens

pytestmark = pytest.mark.slow

Labels = list[list[tuple[str, int]]]
Case = tuple[Labels, list[str]]

names = st.sampled_from("abcdefgh")
"""Few, so that a hit often matches several facts, and comes back twice."""
fact = st.lists(st.tuples(names, st.integers(1, 4)), min_size=1, max_size=3)
labels = st.lists(fact, min_size=1, max_size=5)
ids = st.lists(names | st.sampled_from("xyz"), max_size=14)
case = st.tuples(labels, ids)
unlabelled = st.tuples(st.just([]), ids)
depths = st.integers(1, 12) | st.none()


RANKED = {
    name: measure
    for name, measure in MEASURES.items()
    if not name.startswith("span_")
    and not measure.is_neutral
    and not measure.needs_irrelevant
    and measure.compute.__module__ != "raglift.metrics.session_measures"
    and not measure.is_by_call
}
"""What chunk ids can be scored by, and of which more is better; chunk ids have no characters.

Bpref is compared with trec_eval's own code in test_trec.py, and the measures of sessions, which may have no value, with
a slow implementation in test_sessions.py.
"""


SETTINGS = {"rbp": (("p", "0.7"),)}


def metrics_at(k: int | None) -> list[Metric]:
    plain = [
        Metric(name, k if measure.takes_k else None, SETTINGS.get(name, ()))
        for name, measure in RANKED.items()
        if not measure.needs_budget and (k is not None or not measure.needs_k)
    ]
    if k is not None:
        plain += [Metric(name, Tokens(k)) for name, measure in RANKED.items() if measure.needs_budget]
    return plain + [Metric(name, k, (("gain", "exponential"),)) for name in ("dcg", "idcg", "ndcg")]


A_TOKEN, A_HIT = 4, 4
"""Characters: of a token, where labels have no texts, and of each hit, whose text is `text`."""


class Reference:
    """One query's metrics, rank by rank."""

    def __init__(self, case: Case, metric: Metric) -> None:
        self.facts, self.ids = case
        self.k = metric.k
        self.limit = 0 if metric.budget is None else A_TOKEN * metric.budget.most
        self.exponential = metric.parameter("gain", "linear") == "exponential"

    def within(self, rank: int | None) -> bool:
        return rank is not None and (self.k is None or rank <= self.k)

    def grades(self, fact: list[tuple[str, int]], rank: int) -> list[int]:
        """The grades of the alternatives that the hit at a rank matches."""
        return [grade for name, grade in fact if name == self.ids[rank - 1]]

    def ranks(self) -> range:
        return range(1, len(self.ids) + 1)

    def rank_of(self, fact: list[tuple[str, int]]) -> int | None:
        return next((rank for rank in self.ranks() if self.grades(fact, rank)), None)

    def found(self) -> list[int]:
        """The ranks at which facts are satisfied, one a fact, up to k."""
        return [rank for rank in map(self.rank_of, self.facts) if self.within(rank)]

    def hit_rate(self) -> float:
        return 1.0 if self.found() else 0.0

    def precision(self) -> float:
        relevant = 0
        for rank in self.ranks():
            if self.within(rank) and any(self.grades(fact, rank) for fact in self.facts):
                relevant += 1
        return relevant / self.k

    def recall(self) -> float:
        return len(self.found()) / len(self.facts)

    def f1(self) -> float:
        precision, recall = self.precision(), self.recall()
        return 0.0 if precision == recall == 0 else 2 / (1 / precision + 1 / recall)

    def rr(self) -> float:
        return max((1 / rank for rank in self.found()), default=0.0)

    def ap(self) -> float:
        total = 0.0
        for rank in self.found():
            total += len({other for other in self.found() if other <= rank}) / rank
        return total / len(self.facts)

    def gain(self, grade: int) -> int:
        return 2**grade - 1 if self.exponential else grade

    def discounted(self, gain: float, position: int) -> float:
        return gain / math.log2(position + 1) if self.within(position) else 0.0

    def dcg(self) -> float:
        satisfied = [(self.rank_of(fact), fact) for fact in self.facts if self.rank_of(fact)]
        satisfied.sort(key=lambda pair: (pair[0], -max(self.grades(pair[1], pair[0]))))
        total, position = 0.0, 0
        for rank, fact in satisfied:
            position = max(rank, position + 1)
            best = 0
            for later in range(rank, len(self.ids) + 1):
                grade = max(self.grades(fact, later), default=0)
                if grade > best:
                    added = self.gain(grade) - self.gain(best)
                    total += self.discounted(added, max(later, position))
                    best = grade
        return total

    def idcg(self) -> float:
        ideal = sorted((max(grade for _, grade in fact) for fact in self.facts), reverse=True)
        return sum(self.discounted(self.gain(grade), place) for place, grade in enumerate(ideal, start=1))

    def r_precision(self) -> float:
        relevant = [rank for rank in self.ranks() if self.grade(rank) and rank <= len(self.facts)]
        return len(relevant) / len(self.facts)

    def grade(self, rank: int) -> int:
        return max((grade for fact in self.facts for grade in self.grades(fact, rank)), default=0)

    def rbp(self) -> float:
        return sum(0.3 * 0.7 ** (rank - 1) for rank in filter(self.within, self.ranks()) if self.grade(rank))

    def ndcg(self) -> float:
        return self.dcg() / self.idcg()

    def recall_after(self, characters: int) -> float:
        """Recall where so many characters are read: an id is read when its hit is."""
        whole = self.ids[: characters // A_HIT]
        return sum(any(name in whole for name, _ in fact) for fact in self.facts) / len(self.facts)

    def prompt_recall(self) -> float:
        return self.recall_after(self.limit)

    def recall_area(self) -> float:
        """The integral of recall over all sizes of a prompt: it changes at whole characters alone."""
        return sum(map(self.recall_after, range(self.limit))) / self.limit


def reference(case: Case, metric: Metric) -> float:
    return getattr(Reference(case, metric), metric.name)() if case[0] else 0.0


@pytest.mark.parametrize("name", RANKED)
def test_a_metric_has_a_slow_implementation(name: str) -> None:
    assert hasattr(Reference, name), f"add a method {name} to Reference: slow, obvious, sharing no code with the metric"


@given(st.lists(case | unlabelled, min_size=1, max_size=6), depths)
@settings(max_examples=300, deadline=None)
def test_every_metric_against_the_slow_implementation(judged, cases: list[Case], k: int | None) -> None:
    match_table = judged(*cases)
    for metric in metrics_at(k):
        expected = [reference(case, metric) for case in cases]
        found = compute(match_table, metric)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=str(metric))


@pytest.fixture(scope="session")
def values(judged) -> Callable[[Case, int | None], dict[Metric, float]]:
    """All metrics of one query at one depth."""

    def values(case: Case, k: int | None) -> dict[Metric, float]:
        match_table = judged(case)
        return {metric: float(compute(match_table, metric)[0]) for metric in metrics_at(k)}

    return values


@given(case, depths)
def test_all_but_the_gains_lie_between_0_and_1(values, case: Case, k: int | None) -> None:
    found = values(case, k)
    for metric, value in found.items():
        if metric.name in ("dcg", "idcg"):
            assert 0 <= found[Metric("dcg", k, metric.parameters)] <= found[Metric("idcg", k, metric.parameters)]
        else:
            assert 0 <= value <= 1, metric


@given(case, st.integers(0, 9))
def test_ndcg_is_1_only_if_every_fact_is_found_at_its_best(value, case: Case, more: int) -> None:
    facts, ids = case
    k = len(facts) + more
    if value(f"ndcg@{k}", facts, ids) > 1 - 1e-12:
        assert value(f"recall@{k}", facts, ids) == 1
        for fact in facts:
            best = max(grade for _, grade in fact)
            assert any((name, best) in fact for name in ids[:k])


@given(st.dictionaries(names, st.integers(1, 4), min_size=1))
def test_one_hit_a_fact_in_the_best_order_gives_1(value, grades: dict[str, int]) -> None:
    best = sorted(grades, key=lambda name: -grades[name])
    for k in range(1, len(best) + 1):
        assert value(f"ndcg@{k}", list(grades.items()), best) == pytest.approx(1, abs=1e-12)
    for metric in ("recall", "rr", "ap"):
        assert value(metric, list(grades.items()), best) == 1


@given(case, depths)
def test_hits_that_match_nothing_change_nothing_at_the_end(values, case: Case, k: int | None) -> None:
    facts, ids = case
    assert values((facts, [*ids, "x", "y"]), k) == values(case, k)


@given(case, depths, st.data())
def test_a_duplicate_at_the_end_is_worth_nothing_but_precision(
    values, case: Case, k: int | None, data: st.DataObject
) -> None:
    facts, ids = case
    if not ids:
        ids = ["x"]
    before = values((facts, ids), k)
    after = values((facts, [*ids, data.draw(st.sampled_from(ids))]), k)
    for metric in before:
        if metric.name in ("precision", "f1", "r_precision", "rbp"):  # these look at hits, not at facts
            assert before[metric] <= after[metric] <= 1
        else:
            assert before[metric] == after[metric]


@given(case, names, depths)
def test_a_further_hit_never_lowers_a_metric(values, case: Case, name: str, k: int | None) -> None:
    facts, ids = case
    before, after = values(case, k), values((facts, [*ids, name]), k)
    for metric, value in before.items():
        assert value <= after[metric] + 1e-12, metric


@given(case)
def test_what_is_found_never_shrinks_with_depth(values, case: Case) -> None:
    by_depth = [values(case, k) for k in range(1, 13)]
    for name in ("hit_rate", "recall", "rr", "ap", "dcg", "prompt_recall", "recall_area"):
        depth = Tokens if MEASURES[name].needs_budget else int
        found = [of_depth[Metric(name, depth(k))] for k, of_depth in enumerate(by_depth, start=1)]
        assert found == sorted(found)
    hits = [of_depth[Precision @ k] * k for k, of_depth in enumerate(by_depth, start=1)]
    assert (np.diff(hits) > -1e-12).all()


@given(st.lists(case | unlabelled, min_size=2, max_size=6), depths)
def test_queries_do_not_touch_each_other(judged, cases: list[Case], k: int | None) -> None:
    together = judged(*cases)
    for metric in metrics_at(k):
        alone = [float(compute(judged(case), metric)[0]) for case in cases]
        assert compute(together, metric).tolist() == pytest.approx(alone, abs=1e-12)
