"""Agents compared: how each searched, which one is better, and what repeated runs do to that."""

from __future__ import annotations

from typing import Any

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.types import Fact, Passage, Query

pytestmark = pytest.mark.slow

FACTS = 3


def dataset(queries: int) -> rl.Dataset:
    return rl.Dataset(
        tuple(
            Query(
                f"q{number}",
                f"what is said of {number}?",
                tuple(Fact((Passage(chunk_id=f"{number}-{fact}"),)) for fact in range(FACTS)),
            )
            for number in range(queries)
        ),
        name="numbers",
    )


def hit(name: str) -> rl.Chunk:
    return rl.Chunk(f"this is what is said of {name} here", id=name)


def found(number: int, facts: list[int], *, calls: int = 1) -> list[rl.Call]:
    """Calls of which the first finds some facts of a query, and the others nothing."""
    first = [hit(f"{number}-{fact}") for fact in facts] + [hit("nothing")]
    return [rl.Call.of("said", first), *(rl.Call.of("again", [hit("nothing")]) for _ in range(calls - 1))]


def agent(data: rl.Dataset, facts: Any, *, runs: int = 1, calls: int = 1, **options: Any) -> rl.Evaluation:
    """An agent that finds, of each query and in each run, the facts that a function names."""
    given = [
        rl.Session(query.id, found(number, facts(number, run), calls=calls), repetition=run)
        for number, query in enumerate(data.queries)
        for run in range(1, runs + 1)
    ]
    return rl.evaluate_sessions(given, data, **options)


DATA = dataset(30)


@pytest.fixture(scope="module")
def agents() -> dict[str, rl.Evaluation]:
    return {
        "hasty": agent(DATA, lambda number, run: [0] if (number + run) % 3 else [0, 1], runs=3),
        "thorough": agent(DATA, lambda number, run: [0, 1, 2] if (number + run) % 4 else [1], runs=2, calls=2),
    }


@pytest.fixture(scope="module")
def comparison(agents: dict[str, rl.Evaluation]) -> rl.Comparison:
    return rl.compare(agents)


def test_session_ndcg_decides_even_where_ndcg_was_scored(agents: dict[str, rl.Evaluation]) -> None:
    assert str(rl.compare(agents).primary) == "session_ndcg@10"
    metrics = ["ndcg", "session_ndcg", "recall"]
    both = {name: rl.rescore(one, metrics=metrics, ks=(1, 10)) for name, one in agents.items()}
    assert str(rl.compare(both).primary) == "session_ndcg@10"
    assert str(rl.compare(both, primary="ndcg@10").primary) == "ndcg@10"


def test_each_agent_has_its_figures(comparison: rl.Comparison) -> None:
    told = comparison.agents()
    frame = told.to_frame().set_index("agent")
    assert frame.loc["hasty", "calls"] == 1.0
    assert frame.loc["thorough", "calls"] == 2.0
    assert frame.loc["thorough", "recall"] == comparison.evaluation("thorough").session_analysis().recall_after[-1]
    assert frame.loc["thorough", "wasted_calls"] == 0.5
    assert frame.loc["hasty", "tokens"] < frame.loc["thorough", "tokens"]


def test_systems_that_are_asked_once_have_no_agents(agents: dict[str, rl.Evaluation]) -> None:
    metrics = ["session_ndcg@10"]
    plain = rl.evaluate(lambda _: [hit("0-0")], DATA, metrics=metrics)
    with pytest.raises(ConfigurationError, match="agents: found systems that are asked once"):
        rl.compare({"one": plain, "two": plain}).agents()
    mixed = rl.compare({"once": plain, "agent": rl.rescore(agents["hasty"], metrics=metrics)}).agents()
    assert list(mixed.analyses) == ["agent"]


def test_agents_whose_hits_differ_in_length_are_compared_as_they_searched() -> None:
    def longer(evaluation_data: rl.Dataset) -> rl.Evaluation:
        sessions = [
            rl.Session(query.id, [rl.Call.of("said", [rl.Chunk(f"{number} " * 400, id=f"{number}-0")])])
            for number, query in enumerate(evaluation_data.queries)
        ]
        return rl.evaluate_sessions(sessions, evaluation_data)

    words = rl.Dataset(tuple(Query(f"q{n}", "?", (Fact((Passage(f"what is said of {n}-0"),)),)) for n in range(30)))
    compared = rl.compare({"short": agent(words, lambda _, __: [0]), "long": longer(words)})
    assert str(compared.primary) == "session_ndcg@10"


# How they searched, on every surface.


def test_print_markdown_and_notebooks_show_how_agents_searched(comparison: rl.Comparison) -> None:
    for text in (str(comparison), comparison.to_markdown(), comparison._repr_html_()):
        for words in ("How the agents searched", "in vain", "Where each fact was lost"):
            assert words in text
    for text in (comparison.to_text(), comparison.to_markdown(), comparison._repr_html_()):
        for words in ("after search", "tokens read"):
            assert words in text
