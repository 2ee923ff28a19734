"""Three agents over the help centre of `shop_support`, each of another framework, and the model that they share."""

import re

from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.documents import Document
from langchain_core.messages import SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import create_retriever_tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.retrievers import BaseRetriever as LlamaRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI

import raglift as rl
from raglift.running import LocalSystem, build_retriever
from raglift.testing import Answer, OpenAIServer

HITS = 5  # of each search
INDEX = build_retriever(rl.load_dataset("shop_support"), LocalSystem(retriever="bm25"))  # chunks of 1,000 characters


def search(query):
    """Return the best chunks of the index that all three agents search."""
    return INDEX.retrieve([query], HITS)[0].chunks


class HelpCentre(BaseRetriever):
    """The index as a LangChain retriever."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [
            Document(chunk.text, id=chunk.id, metadata={"source": chunk.doc_id, "start_index": chunk.start})
            for chunk in search(query)
        ]


class LlamaHelpCentre(LlamaRetriever):
    """The index as a LlamaIndex retriever."""

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node_of(chunk)) for chunk in search(query_bundle.query_str)]


def node_of(chunk):
    """Return a chunk as a node of LlamaIndex."""
    place = {"start_char_idx": chunk.start, "end_char_idx": chunk.end}
    return TextNode(id_=chunk.id, text=chunk.text, metadata={"doc_id": chunk.doc_id}, **place)


# The agents


def once(server):
    """LlamaIndex: searches once, with the question as it is."""
    help_centre = LlamaHelpCentre()

    def search_help(query: str) -> str:
        """Search the help centre."""
        return "\n\n".join(node.text for node in help_centre.retrieve(query))

    model = OpenAI(model="gpt-4o-mini", api_base=server.base_url, api_key="none")
    return FunctionAgent(tools=[FunctionTool.from_defaults(search_help)], llm=model, system_prompt="once")


def planner(server):
    """LangGraph: splits the question, and searches for it and for each of its parts at the same time."""
    tools = [create_retriever_tool(HelpCentre(), "search_help", "Searches the help centre.")]
    model = ChatOpenAI(model="gpt-4o-mini", base_url=server.base_url, api_key="none").bind_tools(tools)

    def think(state):
        return {"messages": [model.invoke([SystemMessage("plan"), *state["messages"]])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile()


def follower(server, keep=1):
    """LangChain: searches for the question, then for one part after the other, and keeps only its last results."""
    return create_agent(
        ChatOpenAI(model="gpt-4o-mini", base_url=server.base_url, api_key="none"),
        [create_retriever_tool(HelpCentre(), "search_help", "Searches the help centre.")],
        system_prompt="follow",
        middleware=[ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=500, keep=keep)])],
    )


# Instead of a language model: a server on this machine with OpenAI's API, which plays each role by a rule


def parts_of(question):
    """Return the parts of a question that are longer than two words."""
    parts = [part.strip() for part in re.split(r"[?.,;:]| and | or ", question)]
    return [part for part in parts if len(part.split()) > 2]


def reply(messages, schema):
    """Ask for the next searches, or answer when all were made."""
    role = messages[0]["content"]
    question = next(message["content"] for message in messages if message["role"] == "user")
    turns = {
        "once": [[question]],
        "plan": [[question, *parts_of(question)]],
        "follow": [[question], *([part] for part in parts_of(question))],
    }[role]
    turn = sum(message["role"] == "assistant" for message in messages)
    if turn >= len(turns):
        return "Here is what our help centre says."
    return Answer(calls=[("search_help", {"query": query}) for query in turns[turn]])


def model():
    """Start the server, which ends with this process."""
    return OpenAIServer(replies=reply).__enter__()
