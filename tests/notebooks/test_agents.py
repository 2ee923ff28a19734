"""The three agents of the notebook, over the hard questions of the shop: what each found, and what it threw away."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

import raglift as rl
from raglift.results import Evaluation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
]

FOLDER = Path(__file__).parents[2] / "notebooks"
FILE = "%%writefile three_agents.py\n"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module that the notebook writes."""
    notebook = nbformat.read(FOLDER / "05_agents.ipynb", as_version=4)
    (source,) = (cell.source for cell in notebook.cells if cell.source.startswith(FILE))
    path = tmp_path_factory.mktemp("agents") / "three_agents.py"
    path.write_text(source.removeprefix(FILE), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("three_agents", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["three_agents"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["three_agents"]


@pytest.fixture(scope="module")
def hard() -> rl.Dataset:
    data = rl.load_dataset("shop_support")
    tagged = [query for query in data.queries if query.is_labelled and {"hard", "multi-fact"} <= set(query.tags)]
    return replace(data, queries=tuple(tagged))


@pytest.fixture(scope="module")
def measured(agents: ModuleType, hard: rl.Dataset) -> dict[str, Evaluation]:
    with agents.model() as server:
        made = {name: getattr(agents, name)(server) for name in ("once", "planner", "follower")}
        return {name: rl.evaluate(made[name], hard, concurrency=4, progress=False) for name in made}


def mean(evaluation: Evaluation, metric: str) -> float:
    return evaluation.scores.mean("retrieve", metric)


@pytest.mark.full
def test_every_session_is_what_its_agent_is_scripted_to_do(
    agents: ModuleType, hard: rl.Dataset, measured: dict[str, Evaluation]
) -> None:
    assert not any(one.failures() for one in measured.values())
    for number, query in enumerate(hard.queries):
        searches = [query.text, *agents.parts_of(query.text)]
        expected = {"once": searches[:1], "planner": searches, "follower": searches}
        for name, evaluation in measured.items():
            trace = evaluation.run.traces[number]
            assert [call.query for call in trace.calls or ()] == expected[name]
            assert {call.tool for call in trace.calls or ()} == {"search_help"}
            last = [chunk.text for call in (trace.calls or ())[-1:] for chunk in call.ranking.chunks]
            every = [chunk.text for call in trace.calls or () for chunk in call.ranking.chunks]
            assert trace.context is not None
            assert {chunk.text for chunk in trace.context.chunks} == {*(last if name == "follower" else every)}


def test_the_agent_that_searches_once_has_the_figures_of_its_index_bit_by_bit(
    agents: ModuleType, hard: rl.Dataset, measured: dict[str, Evaluation]
) -> None:
    asked = {"ks": (1, 3, 5), "metrics": ["recall", "ndcg", "mrr", "precision", "session_ndcg", "session_recall"]}
    plain = rl.evaluate(agents.index(), hard, k=agents.HITS, **asked)
    once = rl.rescore(measured["once"], **asked)
    for metric in plain.scores.metrics:
        assert once.scores.of("retrieve", metric).tobytes() == plain.scores.of("retrieve", metric).tobytes(), metric


def test_which_agent_searches_better_and_which_one_throws_away_what_it_found(measured: dict[str, Evaluation]) -> None:
    planner, follower = measured["planner"], measured["follower"]
    for metric in ("session_ndcg@10", "session_recall@10", "calls"):
        assert mean(planner, metric) == mean(follower, metric)
    found = rl.compare(measured, baseline="once", primary="session_ndcg@10")
    assert {found.row(name).verdict for name in ("planner", "follower")} == {"not significant"}
    kept = rl.compare(measured, baseline="once", primary="final_recall")
    assert [kept.row(name).verdict for name in ("planner", "follower")] == ["better", "worse"]
    lost = {name: one.session_analysis().to_frame()["outcome"].value_counts() for name, one in measured.items()}
    assert lost["planner"].get("left_out", 0) == lost["once"].get("left_out", 0) == 0
    assert lost["follower"]["left_out"] > lost["follower"]["found"]


def test_sessions_are_on_the_page_of_the_agent(measured: dict[str, Evaluation], tmp_path: Path) -> None:
    page = tmp_path / "follower.html"
    measured["follower"].report(page)
    text = page.read_text(encoding="utf-8")
    assert "found, left out of the context" in text
