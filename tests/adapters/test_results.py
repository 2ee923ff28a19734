"""What functions return: mappings, search engines' answers, data frames; and what is no ranking."""

import itertools

import numpy as np
import pandas as pd
import pytest
from langchain_core.documents import Document
from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import ToolOutput
from llama_index.core.workflow import StopEvent

import raglift as rl
from raglift.adapters.functions import chunk_and_score, retriever_stage
from raglift.adapters.results import results_in
from raglift.errors import ConfigurationError, UnsupportedSystem

pytestmark = pytest.mark.slow

FOUND = ["The keeper trims the lamp.", "The ferry leaves at noon."]
DOCUMENTS = [Document(page_content=text, metadata={"source": "log.md"}) for text in FOUND]
ELASTICSEARCH = {
    "took": 5,
    "timed_out": False,
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "max_score": 1.5,
        "hits": [
            {
                "_index": "logs",
                "_id": "a",
                "_score": 1.5,
                "_source": {"content": FOUND[0], "doc_id": "log.md", "start": 7},
            },
            {"_index": "logs", "_id": "b", "_score": 0.5, "_source": {"content": FOUND[1], "path": "log.md"}},
        ],
    },
}


def ranking_of(answer, doc_key=None, k=10):
    return retriever_stage(lambda query: answer, doc_key=doc_key).retriever.retrieve_one("who?", k)


@pytest.mark.parametrize(
    "answer",
    [
        [{"text": text} for text in FOUND],
        [{"content": text, "meta": {"page": 1}} for text in FOUND],
        [{"page_content": text, "metadata": {"page": 1}} for text in FOUND],
        [{"id": "7", "score": 0.5, "metadata": {"text": text, "page": 1}} for text in FOUND],
        [{"id": 7, "score": 0.5, "payload": {"page_content": text, "metadata": {"page": 1}}} for text in FOUND],
        {"results": FOUND},
        {"hits": [{"text": text} for text in FOUND]},
        ELASTICSEARCH,
        {"ids": [["a", "b"]], "documents": [FOUND], "metadatas": [[{"page": 1}, None]], "distances": [[0.1, 0.2]]},
        {"answer": "at noon", "context": DOCUMENTS},
        {"result": "at noon", "source_documents": [(document, 0.5) for document in DOCUMENTS]},
        {"documents": DOCUMENTS, "context": ["The keeper trims the lamp.\nThe ferry leaves at noon."]},
        {"documents": DOCUMENTS, "context": list(DOCUMENTS)},
        {"retrieved": DOCUMENTS, "passages": ["none of this"]},
        {"retriever": {"documents": DOCUMENTS}, "llm": {"replies": ["at noon"]}},
        Response("at noon", source_nodes=[NodeWithScore(node=TextNode(text=text), score=0.5) for text in FOUND]),
        pd.DataFrame({"text": FOUND}),
        pd.DataFrame({"content": FOUND, "rank": [1, 2]}).set_index("rank"),
        pd.Series(FOUND),
        np.array(FOUND),
        dict.fromkeys(FOUND, 1.0).items(),
        {"results": pd.DataFrame({"page_content": FOUND})},
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_what_is_a_ranking(answer):
    assert [chunk.text for chunk in ranking_of(answer).chunks] == FOUND
    assert [chunk.text for chunk in ranking_of(answer, k=1).chunks] == FOUND[:1]


def test_the_body_of_a_response_and_the_fields_of_an_event_are_looked_through():
    response = type("ObjectApiResponse", (), {"__module__": "elastic_transport"})()
    response.body = ELASTICSEARCH
    assert [chunk.text for chunk in ranking_of(response).chunks] == FOUND

    class Sources(StopEvent):
        answer: str
        nodes: list[NodeWithScore]

    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in FOUND]
    assert [chunk.text for chunk in ranking_of(Sources(answer="at noon", nodes=nodes)).chunks] == FOUND


def test_an_agent_whose_tools_handed_on_no_documents_is_to_be_given_itself():
    output = ToolOutput(content="42", tool_name="add", raw_input={}, raw_output=42)
    called = ToolCallResult(tool_name="add", tool_kwargs={}, tool_id="1", tool_output=output, return_direct=False)
    answer = AgentOutput(
        response=ChatMessage("42", role="assistant"), tool_calls=[], raw={}, current_agent_name="Agent"
    )
    answer.tool_calls.append(called)  # as an agent does
    with pytest.raises(UnsupportedSystem, match="an AgentOutput whose tools handed on no documents; expected the ag"):
        ranking_of(answer)


@pytest.mark.parametrize("answer", [[], {"results": []}, {"documents": [], "context": []}, {"hits": {"hits": []}}])
def test_an_empty_list_is_an_empty_ranking(answer):
    assert not ranking_of(answer)


def test_the_hits_of_elasticsearch_keep_id_score_document_and_place():
    first, second = ranking_of(ELASTICSEARCH).hits
    assert (first.chunk.id, first.score, first.chunk.doc_id, first.chunk.start) == ("a", 1.5, "log.md", 7)
    assert (second.chunk.id, second.score, second.chunk.metadata) == ("b", 0.5, {"path": "log.md"})
    assert ranking_of(ELASTICSEARCH, doc_key="path").hits[1].chunk.doc_id == "log.md"


def test_the_columns_of_a_data_frame_are_the_fields_of_its_results():
    frame = pd.DataFrame(
        {
            "text": FOUND,
            "id": ["a", "b"],
            "doc_id": ["log.md", None],
            "start": [7, None],
            "score": [1.5, None],
            "book": "x",
        }
    )
    first, second = ranking_of(frame).hits
    assert (first.chunk.id, first.score, first.chunk.doc_id, first.chunk.start) == ("a", 1.5, "log.md", 7)
    assert (second.chunk.id, second.score, second.chunk.doc_id, second.chunk.start) == ("b", None, None, None)
    assert first.chunk.metadata == {"book": "x"}
    assert ranking_of(frame, doc_key="book").hits[1].chunk.doc_id == "x"
    assert frame["start"].tolist()[0] == 7


def test_a_data_frame_of_polars():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"text": FOUND, "id": ["a", "b"], "score": [1.5, None], "book": ["x", "y"]})
    first, second = ranking_of(frame).hits
    assert (first.chunk.text, first.chunk.id, first.score, second.score) == (FOUND[0], "a", 1.5, None)
    assert second.chunk.metadata == {"book": "y"}
    with pytest.raises(UnsupportedSystem, match=r"returned a LazyFrame; expected .*\n.*\n        return .*collect\(\)"):
        ranking_of(frame.lazy())


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (set(FOUND), "a set, which has no order; expected a list of results, best first"),
        (frozenset(FOUND), "a frozenset, which has no order"),
        ("\n".join(FOUND), "a str; expected a list of results"),
        (None, "a NoneType; expected a list of results"),
        (7, "a int; expected a list of results"),
        (DOCUMENTS[0], "a Document; expected a list of results"),
        ({"text": FOUND[0]}, "a dict that is one result; expected a list of results"),
        (
            {"answer": "at noon", "passages": FOUND},
            "a dict with the keys 'answer', 'passages'; expected a list of results, best first, or one at results,",
        ),
        ({"results": FOUND, "hits": FOUND[:1]}, "a dict with lists at 'results' and 'hits'; expected one list of"),
        (
            {"dense": {"documents": DOCUMENTS}, "sparse": {"documents": DOCUMENTS[:1]}},
            "a dict with lists at 'dense.documents' and 'sparse.documents'; expected one list",
        ),
        (
            pd.DataFrame({"passage": FOUND, "score": [1, 2]}),
            "a DataFrame with the columns passage, score; expected a column of texts named text, content, page_content",
        ),
        (dict.fromkeys(FOUND, 1.0), "a dict of scores, which has no order; expected a list of results"),
        ({"messages": [("user", "who?")]}, "messages without documents; expected the documents of the tool"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_ranking_is_refused_by_what_was_found_and_expected(answer, found):
    def search(query):
        return answer

    with pytest.raises(UnsupportedSystem) as caught:
        rl.evaluate(search, rl.Dataset.from_dict({"who?": [FOUND[0]], "when?": [FOUND[1]]}))
    assert str(caught.value).startswith(f"search returned {found}")


def test_a_response_is_no_passage():
    with pytest.raises(ConfigurationError, match="found a Response"):
        chunk_and_score(Response("an answer"))


def test_a_row_without_a_text_is_named():
    with pytest.raises(ConfigurationError, match="found a row of a data frame with a NoneType in the column 'text'"):
        ranking_of(pd.DataFrame({"text": [FOUND[0], None]}))


def test_an_answer_without_an_end_is_refused_and_one_with_an_end_is_read() -> None:
    assert results_in((f"text {number}" for number in range(3)), "search") == ["text 0", "text 1", "text 2"]
    assert len(results_in(["text"] * 100_001, "search")) == 100_001
    with pytest.raises(UnsupportedSystem, match="a repeat that goes on after 100,000 results; expected"):
        results_in(itertools.repeat("text"), "search")


@pytest.mark.parametrize(
    ("answer", "keys"),
    [
        ([{"id": 1, "body": FOUND[0]}], "'id', 'body'"),
        (
            {"took": 3, "hits": {"hits": [{"_id": "1", "_source": {"title": "A", "body": FOUND[0]}}]}},
            "'_id', '_source'",
        ),
        ([{"id": 1}], "'id'"),
    ],
    ids=["list", "Elasticsearch", "no text at all"],
)
def test_results_without_a_text_are_refused_with_their_keys(answer, keys):
    with pytest.raises(UnsupportedSystem, match=f"result that is a dict with the keys {keys}; expected a text"):
        ranking_of(answer)
