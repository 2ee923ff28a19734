"""Real LangChain chains, LangGraph graphs and agents: how they are asked, what is their ranking, what is refused."""

import asyncio
from operator import itemgetter

import pytest
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.agents.agent import RunnableMultiActionAgent
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import (
    ConversationalRetrievalChain,
    RetrievalQA,
    create_history_aware_retriever,
    create_retrieval_chain,
)
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.runnables.passthrough import RunnableAssign
from langchain_core.tools import ToolException, create_retriever_tool, tool
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import Field
from typing_extensions import TypedDict

import raglift as rl
from raglift.adapters.langchain import retriever_stages
from raglift.adapters.langchain_chains import documents_part
from raglift.errors import QueryFailed, UnsupportedSystem

from .langchain_objects import DATASET, LINES, Model, SharedWords, saying, searching

pytestmark = pytest.mark.slow

QUERY = "Where was the tall keeper?"


class CountingModel(FakeListChatModel):
    """A chat model that counts how often it is asked."""

    responses: list[str] = Field(default=["an answer"])
    asked: list[str] = Field(default_factory=list)

    def _call(self, *args, **kwargs):
        self.asked.append("")
        return super()._call(*args, **kwargs)

    def get_num_tokens(self, text):
        return len(text.split())


@pytest.fixture
def words():
    return SharedWords.over(LINES, k=2)


@pytest.fixture
def model():
    return CountingModel()


@pytest.fixture
def stuff(model):
    return create_stuff_documents_chain(model, ChatPromptTemplate.from_template("{context} {input}"))


def texts(system, k=5):
    """Return the texts that a system of one stage finds."""
    (stage,) = retriever_stages(system)
    if hasattr(stage.retriever, "retrieve_one"):
        return [chunk.text for chunk in stage.retriever.retrieve_one(QUERY, k).chunks]
    return [chunk.text for chunk in asyncio.run(stage.retriever.aretrieve_one(QUERY, k)).chunks]


def history_aware(model, retriever):
    prompt = ChatPromptTemplate.from_messages([("placeholder", "{chat_history}"), ("user", "{input}")])
    return create_history_aware_retriever(model, retriever, prompt)


def answering(model, keys):
    return ChatPromptTemplate.from_template(keys) | model | StrOutputParser()


@pytest.mark.parametrize(
    "build",
    [
        lambda words, model, stuff: create_retrieval_chain(words, stuff),
        lambda words, model, stuff: create_retrieval_chain(history_aware(model, words), stuff),
        lambda words, model, stuff: create_retrieval_chain(words, stuff).pick("context"),
        lambda words, model, stuff: RetrievalQA.from_chain_type(model, retriever=words).with_config(tags=["tagged"]),
        lambda words, model, stuff: ConversationalRetrievalChain.from_llm(model, retriever=words),
        lambda words, model, stuff: RunnableParallel(context=words, question=RunnablePassthrough()),
        lambda words, model, stuff: (
            RunnableParallel(context=words, question=RunnablePassthrough())
            | RunnablePassthrough.assign(answer=answering(model, "{context} {question}"))
        ),
        lambda words, model, stuff: RunnablePassthrough.assign(found=itemgetter("query") | words).assign(
            answer=answering(model, "{found} {query}")
        ),
        lambda words, model, stuff: (
            RunnablePassthrough.assign(documents=itemgetter("question") | words)
            .assign(context=lambda state: "\n".join(document.page_content for document in state["documents"]))
            .assign(answer=answering(model, "{context} {question}"))
        ),
    ],
)
def test_a_chain_is_asked_for_its_documents_and_its_model_for_nothing(words, model, stuff, build):
    found = texts(build(words, model, stuff), k=2)
    assert found == [document.page_content for document in words.invoke(QUERY)]
    assert model.asked == []


def test_a_chain_over_a_compression_retriever_is_opened_into_its_stages(words, model):
    class Shortest(BaseDocumentCompressor):
        def compress_documents(self, documents, query, callbacks=None):
            return sorted(documents, key=lambda document: len(document.page_content))

    base = ContextualCompressionRetriever(base_retriever=words, base_compressor=Shortest())
    stages = retriever_stages(RetrievalQA.from_chain_type(model, retriever=base))
    assert [stage.system for stage in stages] == ["SharedWords", "Shortest"]


def test_a_classic_chain_that_drops_documents_answers_itself_and_remembers_nothing(words, model):
    chain = ConversationalRetrievalChain.from_llm(
        model, retriever=words, max_tokens_limit=1000, memory=InMemoryHistory()
    )
    (stage,) = retriever_stages(chain)
    assert len(stage.retriever.retrieve_one(QUERY, 5)) == 2
    assert model.asked == [""]
    assert chain.memory.kept == []
    assert not chain.return_source_documents


class InMemoryHistory(BaseMemory):
    """The memory of a chat, which must not be written to."""

    kept: list = Field(default_factory=list)

    @property
    def memory_variables(self):
        return ["chat_history"]

    def load_memory_variables(self, inputs):
        return {"chat_history": self.kept}

    def save_context(self, inputs, outputs):
        self.kept.append(inputs)

    def clear(self):
        self.kept.clear()


def graph_of(retrieve, state):
    builder = StateGraph(state)
    builder.add_node("retrieve", retrieve)
    builder.add_edge(START, "retrieve")
    return builder.compile()


class Answer(TypedDict):
    question: str
    documents: list
    generation: str


class Conversation(MessagesState):
    context: list


def test_a_graph_is_asked_by_the_key_of_its_state_and_answers_by_one(words):
    def retrieve(state):
        return {"documents": words.invoke(state["question"])}

    def search(state):
        return {"context": [(document, 0.5) for document in words.invoke(state["messages"][-1].content)]}

    async def wait(state):
        return {"documents": await words.ainvoke(state["question"])}

    wanted = [document.page_content for document in words.invoke(QUERY)]
    for graph in (graph_of(retrieve, Answer), graph_of(search, Conversation), graph_of(wait, Answer)):
        assert texts(graph) == texts(graph.with_retry()) == wanted


@tool(response_format="content_and_artifact")
def search(query: str):
    """Search the letters."""
    found = SharedWords.over(LINES, k=1).invoke(query)
    return found[0].page_content, found


@tool
def add(one: int, two: int):
    """Add two numbers."""
    return one + two


@tool("search", response_format="content_and_artifact")
def search_in_vain(query: str):
    """Search the letters."""
    raise ToolException("no connection")


def test_a_call_of_another_tool_is_no_retrieval_and_one_that_fails_is_a_failure(words):
    given = create_retriever_tool(words, "search", "Searches.")
    sums = AIMessage("", tool_calls=[{"name": "add", "args": {"one": 1, "two": 2}, "id": "1"}])
    adding = Model(messages=iter([sums, AIMessage("3")]))
    assert texts(create_agent(adding, [given, add])) == []
    search_in_vain.handle_tool_error = True
    with pytest.raises(QueryFailed, match=r"the first: retrieve: .*its tool search failed: no connection"):
        rl.evaluate(create_agent(saying(searching("tall keeper"), "done"), [search_in_vain]), DATASET)


def test_an_agent_executor_is_measured_by_the_retriever_that_its_tool_calls(words):
    given = create_retriever_tool(words, "search", "Searches.")
    prompt = ChatPromptTemplate.from_messages([("user", "{input}"), ("placeholder", "{agent_scratchpad}")])
    for queries in (("tall keeper", "deaf keeper"), ()):
        planner = create_tool_calling_agent(
            saying(*([searching(*queries)] if queries else []), "done"), [given], prompt
        )
        agent = RunnableMultiActionAgent(runnable=planner, stream_runnable=False)
        assert texts(AgentExecutor(agent=agent, tools=[given])) == [
            document.page_content for query in queries for document in words.invoke(query)
        ]


def test_a_function_may_return_what_a_chain_or_an_agent_does(words, stuff):
    chain = create_retrieval_chain(words, stuff)
    agent = create_agent(saying(searching("tall keeper"), "done"), [search])
    answers = rl.evaluate(lambda query: chain.invoke({"input": query}), DATASET, ks=(2,), metrics=["recall"])
    assert answers.scores.mean("retrieve", "recall@2") == 1
    calls = rl.evaluate(lambda query: agent.invoke({"messages": [("user", query)]}), DATASET, ks=(1,), metrics=["mrr"])
    assert calls.scores.mean("retrieve", "mrr@1") == pytest.approx(1 / 9)


# Async only.


class Remote(BaseRetriever):
    """What an async client makes of its sync method."""

    def _get_relevant_documents(self, query, *, run_manager):
        raise NotImplementedError

    async def _aget_relevant_documents(self, query, *, run_manager):
        await asyncio.sleep(0)
        return SharedWords.over(LINES, k=2).invoke(query)


@pytest.mark.parametrize(
    "build",
    [
        Remote,
        lambda: RunnableLambda(str.lower) | Remote(),
        lambda: EnsembleRetriever(retrievers=[Remote(), RunnableLambda(Remote().ainvoke)]),
        lambda: RunnableParallel(context=Remote(), question=RunnablePassthrough()),
    ],
)
def test_a_retriever_that_is_async_only_is_asked_by_its_async_method(build):
    evaluation = rl.evaluate(build(), DATASET, ks=(2,), metrics=["recall"], concurrency=4)
    assert evaluation.scores.mean("retrieve", "recall@2") == 1


# What is refused, in a line, with the function that would do.


class TwoQuestions(TypedDict):
    question: str
    query: str


def first_of(state):
    return next(iter(state.values()))


class Both(Answer):
    context: list


@tool("search")
def search_texts(query: str):
    """Search the letters."""
    return LINES[0]


def lists_two(state):
    return {"documents": LINES, "context": LINES[:1]}


@pytest.mark.parametrize(
    ("build", "found", "does"),
    [
        (
            lambda words, model: (
                {"context": words, "input": RunnablePassthrough()} | answering(model, "{context} {input}")
            ),
            "RunnableSequence: answers with a text; expected documents.*: pass its SharedWords",
            None,
        ),
        (lambda words, model: model, "CountingModel: answers with a text", None),
        (
            lambda words, model: RunnablePassthrough.assign(answer=answering(model, "{input} {tone}")),
            "found the inputs input, tone; expected one of input, question, query, messages to be all",
            "system.invoke({'input': query, 'tone': '…'})",
        ),
        (
            lambda words, model: RunnablePassthrough.assign(context=RunnableLambda(first_of) | words),
            "RunnableAssign: found a mapping whose keys are not declared as the input; expected one of input, question",
            "system.invoke({'question': query})",
        ),
        (
            lambda words, model: graph_of(lambda state: state, TwoQuestions),
            "CompiledStateGraph: found the inputs question, query; expected one of",
            "system.invoke({'question': query, 'query': '…'})",
        ),
        (
            lambda words, model: RunnableLambda(lambda state: words.invoke(state.get("question"))),
            "given the text of the query, it failed .AttributeError.*expected a text as its input, or a mapping",
            'system.invoke({"question": query})',
        ),
        (
            lambda words, model: {"passages": words | (lambda found: [each.page_content for each in found])},
            "returned a dict with the keys 'passages'; expected a list of results",
            "system.invoke(query)['passages']",
        ),
        (
            lambda words, model: graph_of(lists_two, Both),
            "returned a dict with lists at 'documents' and 'context'; expected one list",
            "system.invoke({'question': query})['documents']",
        ),
        (
            lambda words, model: create_agent(saying(searching("tall keeper"), "done"), [search_texts]),
            "called tools that handed on no documents; expected the documents of the tool that retrieves as its",
            None,
        ),
    ],
    ids=["text", "model", "two inputs", "no key", "ambiguous", "undeclared", "other key", "two lists", "no artifact"],
)
def test_what_cannot_be_asked_or_has_no_documents_is_refused(words, model, build, found, does):
    system = build(words, model)
    with pytest.raises(UnsupportedSystem, match=found) as caught:
        rl.evaluate(RunnableParallel(system) if isinstance(system, dict) else system, DATASET)
    assert does is None or f"def retrieve(query):\n        return {does}" in str(caught.value)
    assert len(model.asked) == 0


def test_a_chain_is_opened_only_where_its_documents_are_what_it_answers_with(words, stuff):
    class Changing(RunnableAssign):
        def invoke(self, input, config=None, **kwargs):  # noqa: A002
            return {**super().invoke(input, config, **kwargs), "context": []}

    chain = create_retrieval_chain(words, stuff)
    assert documents_part(chain.pick(["context", "answer"])) is not None
    assert documents_part(chain.pick("answer")) is None
    assert documents_part(chain | Changing(RunnableParallel(more=RunnablePassthrough()))) is None


def test_an_error_of_a_function_that_takes_a_text_is_its_own():
    with pytest.raises(TypeError, match="concatenate"):
        texts(RunnableLambda(lambda query: query + 1))


def test_async_parts_inside_a_graph_are_asked_by_async_methods(words):
    async def wait(state):
        return {"documents": await words.ainvoke(state["question"])}

    @tool("search", response_format="content_and_artifact")
    async def search_async(query: str):
        """Search the letters."""
        found = await words.ainvoke(query)
        return found[0].page_content, found

    wanted = [document.page_content for document in words.invoke(QUERY)]
    assert texts(graph_of(graph_of(wait, Answer), Answer)) == wanted
    agent = create_agent(saying(searching(QUERY), "done"), [search_async])
    (stage,) = retriever_stages(agent)
    assert hasattr(stage.retriever, "aretrieve_one")
    assert texts(agent) == wanted


@pytest.mark.parametrize("form", ["content", "content_and_artifact"])
def test_a_tool_that_answers_with_a_text_is_refused_with_what_to_pass(words, form):
    given = create_retriever_tool(words, "search", "Searches.", response_format=form)
    with pytest.raises(UnsupportedSystem, match="pass the retriever or function that it asks"):
        rl.evaluate(given, DATASET, progress=False)
