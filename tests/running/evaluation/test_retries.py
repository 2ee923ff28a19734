"""What had to be asked again is counted wherever figures are shown, and is saved with the run."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from tests.adapters.langchain_objects import Model

import raglift as rl
from raglift.analysis.notes import retries_note
from raglift.retrieval import BM25Retriever

pytestmark = pytest.mark.slow

TEXTS = [f"passage {number}, which answers the question of that number" for number in range(6)]
DATA = rl.Dataset.from_dict({f"question {number}": [text] for number, text in enumerate(TEXTS)})
SAID = "4 of 6 questions were retried (6 more calls)"


class Flaky:
    """A system that is down at the first calls of some questions."""

    def __init__(self, failures):
        self.left = dict(failures)

    def __call__(self, question):
        if self.left.get(question, 0) > 0:
            self.left[question] -= 1
            raise ConnectionError("down")
        return [TEXTS[int(question[-1])]]


def flaky():
    return Flaky({"question 0": 1, "question 1": 2, "question 2": 1, "question 5": 2})


@pytest.fixture(scope="module")
def evaluation():
    return rl.evaluate(flaky(), DATA, ks=(1,), progress=False)


def test_retries_are_counted_for_each_query_and_said_once(evaluation):
    assert [trace.stages[0].retries for trace in evaluation.run.traces] == [1, 2, 1, 0, 0, 2]
    assert retries_note(evaluation.run) == SAID
    assert evaluation.notes.count(SAID) == 1
    assert rl.evaluate(lambda question: TEXTS, DATA, ks=(1,), progress=False).run.traces[0].calls_again == 0


def test_they_are_on_every_surface_and_loaded_with_the_run(evaluation, tmp_path):
    folder = evaluation.save(tmp_path / "run")
    loaded = rl.load_evaluation(folder)
    assert [trace.stages[0].retries for trace in loaded.run.traces] == [1, 2, 1, 0, 0, 2]
    assert set(loaded.per_query().query("metric == 'recall@1'")["retries"]) == {0, 1, 2}
    assert SAID in str(loaded)
    assert SAID in loaded.to_markdown()
    assert SAID in loaded.report(tmp_path / "page.html").read_text()


def test_a_comparison_says_whose_they_are(evaluation):
    other = rl.evaluate(lambda question: TEXTS, DATA, ks=(1,), progress=False)
    assert f"flaky: {SAID}" in str(rl.compare({"flaky": evaluation, "steady": other}))


@pytest.mark.parametrize("concurrency", [1])
def test_the_retries_of_a_reranker_are_its_stages(concurrency):
    retriever = BM25Retriever([rl.Chunk(text, f"{at}") for at, text in enumerate(TEXTS)])
    left = {"question 4": 1}

    def rerank(query, texts):
        if left.pop(query, None):
            raise ConnectionError("down")
        return texts[::-1]

    run = rl.evaluate(retriever, DATA, reranker=rerank, ks=(1,), concurrency=concurrency, progress=False).run
    assert [stage.retries for stage in run.traces[4].stages] == [0, 1]
    assert retries_note(run) == "1 of 6 questions were retried (1 more call)"


def test_a_system_that_takes_all_queries_at_once_is_retried_for_each():
    class Batch:
        calls = 0

        def retrieve(self, queries, k):
            self.calls += 1
            if self.calls == 1:
                raise ConnectionError("down")
            return [rl.Ranking.of([(rl.Chunk(TEXTS[0]), 1.0)]) for _ in queries]

    assert retries_note(rl.evaluate(Batch(), DATA, ks=(1,), progress=False).run) == (
        "6 of 6 questions were retried (6 more calls)"
    )


def test_an_agent_that_is_run_again_says_so():
    left = {"down": 1}

    @tool(response_format="content_and_artifact")
    def search(query: str):
        """Search the passages."""
        if left.pop("down", None):
            raise ConnectionError("down")
        return TEXTS[0], [Document(TEXTS[0])]

    def messages():
        for number in range(20):
            yield AIMessage("", tool_calls=[{"name": "search", "args": {"query": "passage"}, "id": f"call-{number}"}])
            if left:
                continue
            yield AIMessage("an answer")

    one = rl.Dataset.from_dict({"question 0": [TEXTS[0]]})
    run = rl.evaluate(create_agent(Model(messages=messages()), [search]), one, progress=False).run
    assert run.traces[0].retries == 1
    assert retries_note(run) == "1 of 1 question was retried (1 more call)"
