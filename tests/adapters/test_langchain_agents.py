"""Real LangGraph graphs and LangChain agents as sessions: calls, reranking, what reached the answer, errors."""

import asyncio
import time

import pytest
from langchain.agents import create_agent
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import create_retriever_tool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from typing_extensions import TypedDict

import raglift as rl
from raglift.adapters.agents import UnderWay
from raglift.adapters.langchain import retriever_stages
from raglift.errors import QueryFailed

from .langchain_objects import DATASET, LINES, Model, SharedWords, saying, searching

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:create_react_agent has been moved:DeprecationWarning"),
]

QUERY = "Where was the tall keeper?"


def session_of(agent, query=QUERY):
    (stage,) = retriever_stages(agent)
    if hasattr(stage.retriever, "session_one"):
        return stage.retriever.session_one(query, UnderWay())
    return asyncio.run(stage.retriever.asession_one(query, UnderWay()))


def texts(ranking):
    return [hit.chunk.text for hit in ranking]


def calls_of(session):
    """Return of each call its text, and the texts after each stage."""
    return [(call.query, {stage.stage: texts(stage.ranking) for stage in call.stages}) for call in session.calls]


@pytest.fixture
def words():
    return SharedWords.over(LINES, k=3)


@pytest.fixture
def found(words):
    return lambda query: [document.page_content for document in words.invoke(query)]


class Shortest(BaseDocumentCompressor):
    """Keeps the two shortest, the shortest first."""

    def compress_documents(self, documents, query, callbacks=None):
        return sorted(documents, key=lambda document: len(document.page_content))[:2]


def shortest(lines):
    return sorted(lines, key=len)[:2]


# Calls.


@pytest.mark.parametrize("make", [create_agent, create_react_agent])
def test_each_call_of_a_search_tool_is_a_call_with_its_own_text(words, found, make):
    agent = make(saying(searching("tall keeper"), searching("deaf letter"), "In the tower."), [retriever_tool(words)])
    session = session_of(agent)
    assert calls_of(session) == [(query, {"retrieve": found(query)}) for query in ("tall keeper", "deaf letter")]
    assert [(call.tool, call.arguments, call.error) for call in session.calls] == [("search", {}, None)] * 2
    assert all(call.seconds > 0 for call in session.calls)


def retriever_tool(retriever, name="search", **options):
    return create_retriever_tool(retriever, name, "Searches the letters.", **options)


@tool
def slowly(query: str, place: str, most: int = 2):
    """Search the letters of a place; the first query takes longest."""
    time.sleep(0.05 if "tall" in query else 0)
    return "\n".join(document.page_content for document in SharedWords.over(LINES, k=most).invoke(query))


def test_calls_that_are_made_at_once_are_in_the_order_in_which_the_model_asked_for_them():
    asked = [
        ("slowly", {"query": f"{word} keeper", "place": "the isle", "most": 1}) for word in ("tall", "deaf", "sad")
    ]
    session = session_of(create_agent(saying(asked, "done"), [slowly]))
    assert [call.query for call in session.calls] == ["tall keeper", "deaf keeper", "sad keeper"]
    assert [texts(call.ranking) for call in session.calls] == [[LINES[2]], [LINES[8]], [LINES[3]]]
    assert session.calls[0].arguments == {"place": "the isle", "most": 1}


def test_a_compression_retriever_in_a_tool_has_hits_before_and_after_reranking(words, found):
    both = ContextualCompressionRetriever(base_retriever=words, base_compressor=Shortest())
    twice = ContextualCompressionRetriever(base_retriever=both, base_compressor=Shortest())
    before = found("tall keeper")
    for retriever, stages in (
        (both, {"retrieve": before, "rerank": shortest(before)}),
        (twice, {"retrieve": before, "rerank": shortest(before), "rerank-2": shortest(before)}),
    ):
        session = session_of(create_agent(saying(searching("tall keeper"), "done"), [retriever_tool(retriever)]))
        assert calls_of(session) == [("tall keeper", stages)]


def test_a_reranker_inside_a_tool_is_seen_by_what_the_tool_hands_on_or_says(words, found):
    @tool("search", response_format="content_and_artifact")
    def handing_on(query: str):
        """Search the letters."""
        best = Shortest().compress_documents(words.invoke(query), query)
        return "two letters", best

    @tool("search")
    def saying_them(query: str):
        """Search the letters."""
        best = Shortest().compress_documents(words.invoke(query), query)
        return str([{"content": document.page_content} for document in best])

    before = found("tall keeper")
    for one in (handing_on, saying_them):
        session = session_of(create_agent(saying(searching("tall keeper"), "done"), [one]))
        assert calls_of(session) == [("tall keeper", {"retrieve": before, "rerank": shortest(before)})]


def test_a_text_that_is_also_a_part_of_an_earlier_hit_is_not_reranked():
    lines = [f"Read: {LINES[3]}", LINES[2], LINES[3]]
    session = session_of(
        create_agent(saying(searching("keeper"), "done"), [retriever_tool(SharedWords.over(lines, 3))])
    )
    assert calls_of(session) == [("keeper", {"retrieve": lines})]


def test_an_agent_is_called_by_its_own_name_or_after_its_framework(words):
    def name_of(**options):
        (stage,) = retriever_stages(create_agent(saying("done"), [retriever_tool(words)], **options))
        return stage.system

    assert (name_of(), name_of(name="shop assistant")) == ("LangGraph agent", "shop assistant")


def test_a_tool_that_asks_another_agent_is_no_search_but_the_searches_of_that_agent_are(words, found):
    inner = create_agent(
        saying(searching("tall keeper"), searching("deaf keeper"), "A letter."), [retriever_tool(words)]
    )

    @tool
    def ask_the_librarian(question: str):
        """Ask the librarian."""
        return inner.invoke({"messages": [("user", question)]})["messages"][-1].text

    outer = saying([("ask_the_librarian", {"question": "which letter?"})], "It was a letter.")
    session = session_of(create_agent(outer, [ask_the_librarian]))
    assert [call.query for call in session.calls] == ["tall keeper", "deaf keeper"]
    # the librarian's answer is in the last prompt, and was written from these
    assert set(texts(session.context)) == {*found("tall keeper"), *found("deaf keeper")}


def test_the_tokens_of_a_call_are_by_how_many_its_answer_lengthened_the_prompt(words):
    def counted(message, sent, answered):
        usage = {"input_tokens": sent, "output_tokens": answered, "total_tokens": sent + answered}
        return message.model_copy(update={"usage_metadata": usage})

    call = [{"name": "search", "args": {"query": "tall keeper"}, "id": "1"}]
    model = Model(messages=iter([counted(AIMessage("", tool_calls=call), 50, 7), counted(AIMessage("done"), 157, 2)]))
    (made,) = session_of(create_agent(model, [retriever_tool(words)])).calls
    assert made.tokens == 100


# Graphs of one's own.


class Asked(TypedDict):
    question: str
    documents: list
    answer: str


def graph(state, **nodes):
    builder, before = StateGraph(state), START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile()


def test_a_graph_whose_nodes_retrieve_and_answer(words, found):
    model = saying("In the tower.")

    def retrieve(state):
        return {"documents": words.invoke(state["question"])}

    def keep_two(state):
        return {"documents": state["documents"][:2]}

    def answer(state):
        context = "\n\n".join(document.page_content for document in state["documents"])
        return {"answer": model.invoke([HumanMessage(f"{context}\n\n{state['question']}")]).text}

    session = session_of(graph(Asked, retrieve=retrieve, keep_two=keep_two, answer=answer))
    before = found(QUERY)
    assert calls_of(session) == [(QUERY, {"retrieve": before, "rerank": before[:2]})]
    assert texts(session.context) == before[:2]


def test_nodes_that_retrieve_at_the_same_time_are_in_one_order(words):
    class Both(TypedDict):
        question: str
        answer: str

    def retrieving(word, seconds):
        def node(state):
            time.sleep(seconds)
            words.invoke(f"{word} keeper")

        return node

    builder = StateGraph(Both)
    for name, word, seconds in (("a", "tall", 0.05), ("b", "deaf", 0.0), ("c", "sad", 0.02)):
        builder.add_node(name, retrieving(word, seconds))
        builder.add_edge(START, name)
    graph = builder.compile()
    for _ in range(3):
        assert [call.query for call in session_of(graph).calls] == ["tall keeper", "deaf keeper", "sad keeper"]


# What reached the answer.


class Conversation(MessagesState):
    notes: list


def test_an_agent_that_keeps_a_short_memory_loses_what_it_found(words, found):
    """Of the answers of its tool, only the first of the last one reaches the prompt, and that cut off."""
    agent_model = saying(searching("tall keeper"), searching("deaf keeper"), "I do not know.")
    tools = {"search": retriever_tool(words)}

    def think(state):
        said = [message for message in state["messages"] if isinstance(message, ToolMessage)]
        kept = said[-1].text[:60] if said else ""
        return {"messages": [agent_model.invoke([HumanMessage(f"{QUERY}\n{kept}")])]}

    def act(state):
        return {"messages": [tools[call["name"]].invoke(call) for call in state["messages"][-1].tool_calls]}

    builder = StateGraph(Conversation)
    builder.add_node("think", think)
    builder.add_node("act", act)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", lambda state: "act" if state["messages"][-1].tool_calls else "__end__")
    builder.add_edge("act", "think")
    session = session_of(builder.compile())
    assert [call.query for call in session.calls] == ["tall keeper", "deaf keeper"]
    assert texts(session.context) == [found("deaf keeper")[0][:60]]


def test_an_agent_that_did_not_search_answered_from_nothing(words):
    session = session_of(create_agent(saying("I know it."), [retriever_tool(words)]))
    assert session.calls == ()
    assert session.context is not None
    assert not session.context


# Errors and limits.


@tool("search")
def breaking(query: str):
    """Search the letters."""
    if "deaf" in query:
        raise OSError("no connection")
    return SharedWords.over(LINES, k=1).invoke(query)[0].page_content


def test_a_call_that_failed_is_a_call_and_the_session_goes_on_if_the_agent_does(words):
    agent = create_react_agent(saying(searching("tall keeper"), searching("deaf keeper"), "done"), [breaking])
    agent = agent_that_handles_errors(agent)
    session = session_of(agent)
    assert [(call.query, texts(call.ranking), call.error is not None) for call in session.calls] == [
        ("tall keeper", [LINES[2]], False),
        ("deaf keeper", [], True),
    ]
    assert "no connection" in session.calls[1].error


def agent_that_handles_errors(agent):
    agent.nodes["tools"].bound._handle_tool_errors = True
    return agent


def endless(times=1000):
    return saying(searching("tall keeper"), times=times)


def test_a_limit_of_steps_is_the_error_of_the_session_and_its_calls_count(words):
    limited = create_agent(endless(), [retriever_tool(words)]).with_config(recursion_limit=6)
    asked = create_react_agent(endless(), [retriever_tool(words)]).with_config(recursion_limit=6)
    for agent, said in ((limited, "Recursion limit of 6 reached"), (asked, "Sorry, need more steps")):
        with pytest.raises(QueryFailed, match=said) as caught:
            rl.evaluate(agent, DATASET.sample(1))
        (trace,) = caught.value.evaluation.run.traces
        assert len(trace.calls) >= 2
        assert {texts(call.ranking)[0] for call in trace.calls} == {LINES[2]}


# The user's objects.


def test_agents_that_are_asked_at_once_do_not_hear_each_other(words):
    @tool
    async def search(query: str):
        """Search the letters."""
        await asyncio.sleep(0.001 * (len(query) % 3))
        return "\n".join(document.page_content for document in await words.ainvoke(query))

    async def think(state):
        last = state["messages"][-1]
        if isinstance(last, ToolMessage):
            return {"messages": [AIMessage("done")]}
        call = {"name": "search", "args": {"query": last.text}, "id": "1"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    async def act(state):
        return {
            "messages": [
                await search.ainvoke({**call, "type": "tool_call"}) for call in state["messages"][-1].tool_calls
            ]
        }

    builder = StateGraph(Conversation)
    builder.add_node("think", think)
    builder.add_node("act", act)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", lambda state: "act" if state["messages"][-1].tool_calls else "__end__")
    builder.add_edge("act", "think")
    evaluation = rl.evaluate(builder.compile(), DATASET, concurrency=6)
    assert [[call.query for call in trace.calls] for trace in evaluation.run.traces] == [
        [query.text] for query in DATASET.queries
    ]
