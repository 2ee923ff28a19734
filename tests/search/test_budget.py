"""Budgets of questions and time: what is left of them, and that they hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from raglift.search.budget import Budget, Work
from raglift.search.course import BATCH, Course
from raglift.search.engine import run_search
from raglift.search.folder import SearchFolder
from raglift.search.specification import Search
from raglift.stats.racing import Race, stratified_batches

from .conftest import SPACE

QUERIES = 60


def test_what_is_left_lasts_for_questions_at_the_pace_of_the_last_ones() -> None:
    budget = Budget(minutes=2)
    assert budget.is_measured
    assert budget.left(Work(30.0, 200)) == pytest.approx(90.0)
    assert budget.left(Work(130.0, 200)) == 0.0
    assert budget.questions_left(Work(30.0, 200), Work(30.0, 10)) == pytest.approx(30.0)
    assert budget.questions_left(Work(30.0, 200), Work(0.0, 10)) > 1e12
    assert str(budget) == "2 minutes"
    assert not Budget(share=0.5).is_measured
    assert Budget(cells=4).questions(100, 30) == 120


class Priced:
    """Answers from stored values; some systems cost more a question than others."""

    def __init__(self, values: np.ndarray, prices: np.ndarray, budget: float) -> None:
        self.values, self.prices, self.budget = values, prices, Budget(minutes=budget / 60)
        self.batches = stratified_batches(len(values), BATCH, seed=0)
        self.work: dict[str, Work] = {}

    @property
    def spent(self) -> Work:
        return sum(self.work.values(), Work())

    def ask(self, name: str, systems: Any, batches: range) -> np.ndarray:
        places = np.concatenate([self.batches[batch] for batch in batches])
        cost = float(self.prices[list(systems)].sum() * len(places))
        self.work[name] = Work(cost, len(places) * len(systems))
        return self.values[np.ix_(places, list(systems))]

    def affordable(self, name: str, systems: int, queries: int) -> int:
        return min(systems, int(self.budget.questions_left(self.spent, self.work[name]) // queries))

    def course(self, joining: dict[int, list[int]], systems: int) -> Course:
        def price(joined: bool) -> float:
            return self.budget.price(work for name, work in self.work.items() if SearchFolder.is_of(name, joined))

        course = Course(
            Race.of(self.values.shape[1], len(self.values)),
            self.batches,
            self.ask,
            lambda _: self.budget.left(self.spent),
            joining=joining,
            price=price,
            affordable=self.affordable,
        )
        course.begin(range(systems), self.ask("0", range(systems), range(2)), 2, explore=False)
        return course


@pytest.mark.parametrize("price", [1.0, 5.0, 40.0, 1000.0])
@pytest.mark.parametrize("budget", [300.0, 1000.0, 5000.0])
def test_rerankers_that_cost_more_do_not_overrun_a_budget_of_time_by_more_than_one_of_them(
    price: float, budget: float
) -> None:
    random = np.random.default_rng(0)
    plain = (random.random((QUERIES, 8)) < np.linspace(0.3, 0.6, 8)).astype(float)
    values = np.hstack([plain, np.maximum(plain, random.random((QUERIES, 8)) < 0.3)])
    prices = np.array([1.0] * 8 + [price] * 8)
    answering = Priced(values, prices, budget)
    course = answering.course({number: [number + 8] for number in range(8)}, 8)
    course.finish()
    assert answering.spent.seconds <= budget + 2 * BATCH * price  # the first queries of one system
    asked = course.race.asked_of[8:]
    assert asked.max() <= course.race.asked
    if price == 1.0:
        assert asked.any()
    if price == 1000.0:
        assert np.count_nonzero(asked) == 1  # which showed that the budget does not last for others


@pytest.mark.slow
def test_a_budget_of_time_holds_for_users_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_systems.py").write_text(
        "import time\n\n\ndef slow(query):\n    time.sleep(0.01)\n    return ['The keeper trims the wick.']\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    space = {**SPACE, "chunkers": ["recursive:300/0"], "systems": ["slow_systems:slow"], "first_queries": 6}
    search = replace(Search.of(**space), budget=Budget(minutes=0.01), hold_out=0.0)
    found = run_search(search, tmp_path / "out", progress=False)
    kept = SearchFolder.read(tmp_path / "out")
    assert kept.work["0"].seconds >= 0.01 * found.rungs[0].queries
    assert "budget: 0.01 minutes" in str(found)
