"""Budgets of questions, time and money: what is left of them, and that they hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI

from raglift.search.budget import Budget, Work
from raglift.search.course import BATCH, BudgetSpent, Course
from raglift.search.engine import run_search
from raglift.search.folder import SearchFolder
from raglift.search.records import FINALIST
from raglift.search.specification import Search
from raglift.stats.racing import Race, stratified_batches
from raglift.testing import OpenAIServer

from .conftest import SPACE

QUERIES = 60


@pytest.mark.parametrize(
    ("budget", "left", "questions", "text"),
    [
        (Budget(minutes=2), 90.0, 30.0, "2 minutes"),
        (Budget(model_seconds=50), 40.0, 40.0, "50 s in models"),
        (Budget(dollars=0.5), 0.3, 15.0, "US$ 0.5"),
        (Budget(dollars=0.1), 0.0, 0.0, "US$ 0.1"),
    ],
)
def test_what_is_left_lasts_for_questions_at_the_price_of_the_last_ones(
    budget: Budget, left: float, questions: float, text: str
) -> None:
    spent, last = Work(30.0, 10.0, 0.2, 200), Work(30.0, 10.0, 0.2, 10)
    assert budget.is_measured
    assert budget.left(spent) == pytest.approx(left)
    assert budget.questions_left(spent, last) == pytest.approx(questions)
    assert str(budget) == text


def test_what_costs_nothing_is_bounded_by_no_budget_of_money() -> None:
    assert Budget(dollars=1.0).questions_left(Work(9.0, 9.0, 0.0, 100), Work(9.0, 9.0, 0.0, 100)) > 1e12
    assert Budget(dollars=1.0).questions_left(Work(9.0, 9.0, 1.0, 100), Work(9.0, 9.0, 0.0, 100)) == 0.0
    assert not Budget(share=0.5).is_measured
    assert Budget(cells=4).questions(100, 30) == 120


class Priced:
    """Answers from stored values; some systems cost more a question than others."""

    def __init__(self, values: np.ndarray, prices: np.ndarray, budget: float) -> None:
        self.values, self.prices, self.budget = values, prices, Budget(model_seconds=budget)
        self.batches = stratified_batches(len(values), BATCH, seed=0)
        self.work: dict[str, Work] = {}

    @property
    def spent(self) -> Work:
        return sum(self.work.values(), Work())

    def ask(self, name: str, systems: Any, batches: range) -> np.ndarray:
        places = np.concatenate([self.batches[batch] for batch in batches])
        cost = float(self.prices[list(systems)].sum() * len(places))
        self.work[name] = Work(cost, cost, 0.0, len(places) * len(systems))
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
    assert answering.spent.model_seconds <= budget + 2 * BATCH * price  # the first queries of one system
    asked = course.race.asked_of[8:]
    assert asked.max() <= course.race.asked
    if price == 1.0:
        assert asked.any()
    if price == 1000.0:
        assert np.count_nonzero(asked) == 1  # which showed that the budget does not last for others


def test_a_race_ends_where_the_budget_does() -> None:
    random = np.random.default_rng(0)
    answering = Priced(random.random((QUERIES, 4)), np.ones(4), 1e6)
    course = answering.course({}, 4)
    ask = course.ask

    def until(name: str, systems: Any, batches: range) -> np.ndarray:
        if name == "2":
            raise BudgetSpent
        return ask(name, systems, batches)

    course.ask = until
    race = course.finish()
    assert len(course.rungs) == 2
    assert course.questions == int(race.asked_of.sum())


@pytest.mark.slow
def test_a_budget_of_seconds_in_models_holds_for_users_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_systems.py").write_text(
        "import time\n\n\ndef slow(query):\n    time.sleep(0.01)\n    return ['The keeper trims the wick.']\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    space = {**SPACE, "chunkers": ["recursive:300/0"], "systems": ["slow_systems:slow"], "first_queries": 6}
    search = replace(Search.of(**space), budget=Budget(model_seconds=0.5), hold_out=0.0)
    found = run_search(search, tmp_path / "out", progress=False)
    kept = SearchFolder.read(tmp_path / "out")
    assert kept.work["0"].model_seconds >= 0.01 * found.rungs[0].queries
    assert kept.spent.model_seconds < 0.5 + 0.3
    assert "budget: 0.5 s in models" in str(found)


class Lines(BaseRetriever):
    """Finds a text without a model."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("The keeper trims the wick every evening.")]


@pytest.mark.slow
def test_no_call_is_made_once_a_budget_of_money_is_spent_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    with OpenAIServer(replies=lambda _messages, _schema: "first wording\nsecond wording") as server:
        chat = ChatOpenAI(model="gpt-4o-mini", base_url=server.base_url, api_key="not asked for", max_retries=0)
        systems = {"rewriting": MultiQueryRetriever.from_llm(Lines(), chat), "plain": lambda _: ["The lamp is lit."]}
        space = {**SPACE, "chunkers": ["recursive:300/0", "recursive:600/0"], "systems": systems, "first_queries": 6}
        search = replace(Search.of(**space), hold_out=0.0)
        free = run_search(replace(search, budget=Budget(dollars=100.0)), tmp_path / "free", progress=False)
        kept = SearchFolder.read(tmp_path / "free")
        assert kept.spent.dollars > 0.0
        assert free.rungs[-1].queries == free.queries
        first = kept.work["0"].dollars
        server.requests.clear()

        small = run_search(replace(search, budget=Budget(dollars=1.45 * first)), tmp_path / "small", progress=False)
        assert first <= SearchFolder.read(tmp_path / "small").spent.dollars <= 1.45 * first
        assert small.rungs[-1].queries < small.queries or len(small.of_fate(FINALIST)) == 1
        calls = len(server.requests)
        search = replace(search, budget=Budget(dollars=100.0))
        larger = run_search(search, tmp_path / "small", resume=True, progress=False)
        assert larger.rungs[: len(small.rungs)] == small.rungs
        assert larger.rungs[-1].queries == larger.queries or len(larger.of_fate(FINALIST)) == 1
        assert len(server.requests) >= calls
