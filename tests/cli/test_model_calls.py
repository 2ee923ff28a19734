"""`raglift evaluate` and `raglift sweep` over a system that calls a language model."""

import json

import pytest

import raglift as rl
from raglift.sweep import load_sweep_result

SYSTEM = """
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever


class Lines(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("The lamp is lit at dusk.")]


def make():
    return MultiQueryRetriever.from_llm(Lines(), FakeListChatModel(responses=["other words"]))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "asks_a_model.py").write_text(SYSTEM)
    queries = [{"id": f"q{number}", "query": f"When {number}?", "relevant": ["lit at dusk"]} for number in range(4)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, queries)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def evaluate(run, *options):
    return run("evaluate", "q.jsonl", "--system", "asks_a_model:make", *options)


def test_the_calls_are_told_and_shown(run, folder):
    code, out, err = evaluate(run, "--max-model-calls", "4")
    assert (code, err.count("4 queries will come to about 4 calls of a language model")) == (0, 1)
    assert "Calls of the language model fakelistchatmodel: 4 (" in out


def test_a_limit_ends_with_1_and_saves_what_was_answered(run, folder):
    code, out, err = evaluate(run, "--max-model-calls", "3", "--output", "kept")
    assert (code, out) == (1, "")
    assert (
        "raglift: stopped: max_model_calls: the calls would come to 4, more than 3. 1 of 4 queries was answered" in err
    )
    assert "run again with --max-model-calls 5 or more\nsaved to kept\n" in err
    assert [trace.query_id for trace in rl.load_evaluation("kept").run.traces] == ["q0"]


def test_a_limit_of_cost_takes_a_price(run, folder):
    code, _, err = evaluate(run, "--max-cost", "0.001", "--price", "1000,1000")
    assert code == 1
    assert "max_cost: the calls would come to US$ " in err


def test_the_calls_of_a_sweeps_systems_are_told_and_kept(run, folder):
    (folder / "sweep.yaml").write_text("dataset: q.jsonl\nsystems: [asks_a_model:make]\nrerankers: [none]\nks: [1]\n")
    code, _, err = run("sweep", "sweep.yaml", "-o", "out")
    assert code == 0, err
    assert "The first query made 1 call of a language model" in err
    (cell,) = load_sweep_result("out").finished
    assert cell.evaluation.run.cost.models[0].calls == 7  # at a greater depth, after 3 were asked as deployed
