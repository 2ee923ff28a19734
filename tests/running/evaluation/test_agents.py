"""An agent given to `evaluate`: sessions, several runs of each query, answers kept, limits, and what is refused."""

import math
import threading
import time

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import create_retriever_tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph
from tests.adapters.langchain_objects import DATASET, LINES, WORDS, SharedWords
from typing_extensions import TypedDict

import raglift as rl
from raglift.errors import ConfigurationError, QueryFailed
from raglift.testing import Answer, OpenAIServer

pytestmark = pytest.mark.slow


class State(TypedDict):
    question: str
    answer: str


class Agent:
    """A graph that searches for the question, and then once more in a way that changes from run to run."""

    def __init__(self, seconds=0.0, fails=(), models=False):
        self.asked = []
        self.seconds = seconds
        self.fails = fails
        self.model = FakeListChatModel(responses=["the answer"]) if models else None
        self.retriever = SharedWords.over(LINES, k=1)
        self._lock = threading.Lock()

    def node(self, state):
        question = state["question"]
        with self._lock:
            self.asked.append(question)
            times = self.asked.count(question)
        self.retriever.invoke("sad keeper" if times > 1 else question)
        if any(word in question for word in self.fails):
            raise ValueError("no second search")
        time.sleep(self.seconds if "tall" in question else 0)
        self.retriever.invoke(f"{WORDS[times]} keeper")
        return {"answer": self.model.invoke(question).text if self.model is not None else ""}

    @property
    def graph(self):
        builder = StateGraph(State)
        builder.add_node("node", self.node)
        builder.add_edge(START, "node")
        return builder.compile()


def searched(evaluation):
    """The texts of the calls of each query, run by run."""
    return [
        [[call.query for call in run.calls] for run in (trace, *trace.repetitions)] for trace in evaluation.run.traces
    ]


def test_an_agent_is_saved_and_loaded_with_its_sessions_and_scored_as_one(tmp_path):
    evaluation = rl.evaluate(Agent().graph, DATASET)
    assert [str(metric) for metric in evaluation.scores.metrics if metric.name == "calls"] == ["calls"]
    assert evaluation.scores.mean("retrieve", "calls") == 2
    assert evaluation.session_analysis().sessions == len(DATASET)
    evaluation.save(tmp_path / "run")
    again = rl.load_evaluation(tmp_path / "run")
    assert again.run.traces == evaluation.run.traces
    assert again.session_analysis().facts == evaluation.session_analysis().facts


def test_each_query_is_asked_several_times_and_its_value_is_the_mean():
    agent = Agent()
    evaluation = rl.evaluate(agent.graph, DATASET, repeats=3)
    assert agent.asked == [query.text for _ in range(3) for query in DATASET.queries]
    first, second, third = searched(evaluation)[0]
    assert (first, second, third) == (
        [DATASET.queries[0].text, "young keeper"],
        ["sad keeper", "tall keeper"],
        ["sad keeper", "sad keeper"],
    )
    recall = evaluation.scores.of("retrieve", "session_recall@10")
    assert recall[0] == pytest.approx(1 / 3)  # found in the first run alone
    assert recall[2] == pytest.approx(2 / 3)  # and in the second
    assert recall[3] == 1
    assert evaluation.session_analysis().components.within_queries > 0
    assert evaluation.run.spec["repeats"] == 3
    assert any("each question was run 3 times" in note for note in evaluation.notes)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_query_that_fails_or_takes_too_long_keeps_the_calls_before(concurrency):
    agent = Agent(seconds=1.5, fails=("deaf",))
    evaluation = rl.evaluate(agent.graph, DATASET, timeout=0.5, concurrency=concurrency, retries=0)
    traces = {trace.query_id: trace for trace in evaluation.run.traces}
    failed = {query_id: trace.error for query_id, trace in traces.items() if trace.error is not None}
    assert list(failed) == ["q3", "q9"]
    assert "no answer within the timeout of 0.5 seconds" in failed["q3"]
    assert "no second search" in failed["q9"]
    assert [[call.query for call in traces[one].calls] for one in failed] == [
        [DATASET.queries[2].text],
        [DATASET.queries[8].text],
    ]
    recall = evaluation.scores.of("retrieve", "session_recall@10")
    assert recall[[2, 8]].tolist() == [1, 1]  # the calls of a session that stopped count


def test_a_run_that_was_stopped_asks_only_for_the_sessions_that_are_missing(tmp_path):
    broken = Agent(fails=("lame", "blind", "deaf"))
    with pytest.raises(QueryFailed):
        rl.evaluate(broken.graph, DATASET, repeats=2, answers=tmp_path, on_error="raise")
    assert len(broken.asked) == 7
    mended = Agent()
    evaluation = rl.evaluate(mended.graph, DATASET, repeats=2, answers=tmp_path)
    assert len(mended.asked) == 2 * len(DATASET) - 6
    whole = rl.evaluate(Agent().graph, DATASET)
    assert searched(evaluation)[0][0] == searched(whole)[0][0]
    kept = evaluation.run.traces[0]
    assert kept.calls[0].stages[0].ranking == whole.run.traces[0].calls[0].stages[0].ranking
    assert (
        "6 of 18 answers came from an earlier attempt, with their times; the others were asked now" in evaluation.notes
    )


def test_an_agent_has_no_reranker_behind_it_and_no_pass_for_latency():
    for options, said in (
        (
            {"reranker": lambda query, texts: [0.0] * len(texts)},
            "reranker: found one with LangGraph agent, an agent",
        ),
        ({"latency": 5}, "latency: found 5 with LangGraph agent, an agent"),
    ):
        agent = Agent()
        with pytest.raises(ConfigurationError, match=said):
            rl.evaluate(agent.graph, DATASET, **options)
        assert agent.asked == []


def test_settings_of_depth_have_no_effect_on_an_agent_and_it_is_said():
    notes = rl.evaluate(Agent().graph, DATASET, depth="deep", k=7).notes
    for setting in ("k=7", "depth='deep'"):
        assert f"LangGraph agent: an agent asks for as many hits as it chooses, so {setting} has no effect" in notes


def test_a_system_that_is_asked_once_is_not_asked_several_times():
    found = r"repeats: found 3 with SharedWords, which is asked once for each question; expected 1, or an agent"
    with pytest.raises(ConfigurationError, match=found):
        rl.evaluate(SharedWords.over(LINES, k=1), DATASET, repeats=3)
    for repeats in (0, True, 1.5, "2"):
        with pytest.raises(ConfigurationError, match=r"repeats: found .*; expected an integer, 1 or more"):
            rl.evaluate(Agent().graph, DATASET, repeats=repeats)


def test_secrets_of_the_environment_are_in_no_part_of_a_session(monkeypatch, tmp_path):
    monkeypatch.setenv("LETTERS_API_KEY", "sk-verysecretkey-0123456789")
    texts = [f"{line} sk-verysecretkey-0123456789" for line in LINES]
    agent = Agent()
    agent.retriever = SharedWords.over(texts, k=1)
    rl.evaluate(agent.graph, DATASET).save(tmp_path / "run")
    for path in (tmp_path / "run").iterdir():
        assert b"verysecretkey" not in path.read_bytes()


# elastic/kibana#290921: a first hop of ten useless hits makes a perfect second one count nothing.


def test_a_useless_first_search_hides_a_perfect_second_one_in_a_list_of_all_hits_and_not_in_a_session():
    """A real agent, whose model words its second search anew, over a real index."""
    clutter = [f"The lamp of room {number} is a lamp with a lamp shade." for number in range(10)]
    facts = ["Old Marten lit the beacon in 1871.", "The beacon was lit for the herring fleet."]
    retriever = SharedWords.over([*clutter, *facts], k=10)
    data = rl.Dataset.from_dict({"who lit the lamp, and for whom?": facts})

    def replies(messages, schema):
        searches = sum(message["role"] == "tool" for message in messages)
        wordings = ("lamp", "who lit the beacon, and for whom was the beacon lit?")
        return Answer(calls=[("search", {"query": wordings[searches]})]) if searches < 2 else "Marten, for the fleet."

    metrics = ["recall@10", "ndcg@10", "mrr@10", "map@10", "session_recall@10", "session_ndcg@10", "final_recall"]
    with OpenAIServer(replies=replies) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key="none")
        agent = create_agent(model, [create_retriever_tool(retriever, "search", "Searches the chronicle.")])
        evaluation = rl.evaluate(agent, data, metrics=metrics)
    (trace,) = evaluation.run.traces
    assert [len(call.ranking) for call in trace.calls] == [10, 10]
    assert {hit.chunk.text for hit in trace.calls[0].ranking} == {*clutter}
    assert {hit.chunk.text for hit in trace.calls[1].ranking[:2]} == {*facts}
    means = {str(metric): evaluation.scores.mean("retrieve", metric) for metric in evaluation.scores.metrics}
    assert [means[name] for name in ("recall@10", "ndcg@10", "rr@10", "ap@10")] == [0, 0, 0, 0]
    assert means["session_recall@10"] == means["final_recall"] == 1
    # both facts at the first two ranks of call 2, whose discount is 1.5; the ideal has one at the top of each call
    found = (1 + 1 / math.log2(3)) / 1.5
    assert means["session_ndcg@10"] == pytest.approx(found / (1 + max(1 / 1.5, 1 / math.log2(3))))
    assert found / (1 + 1 / 1.5) == pytest.approx(0.652, abs=5e-4)
