"""Real agents of LangChain, LangGraph and LlamaIndex whose language model is a script on raglift's loopback server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import raglift as rl
from raglift.retrieval.bm25 import BM25Retriever
from raglift.testing import Answer, OpenAIServer
from raglift.types import Document

KEY = "sk-proj-Zx81kQ0aPq5vT2mRw7Yc"
"""The API key of the agents, which is in no file that is written."""
ANSWER = "That is what the handbook says."


def searches_for(question: str, calls: int) -> list[str]:
    """What the scripted model searches for: the question, then its last words."""
    words = question.split()
    return [question, " ".join(words[-4:]), " ".join(words[:4])][:calls]


def model(calls: int, argument: str = "query") -> OpenAIServer:
    """A server whose model searches some times with the tool `search`, and answers."""

    def reply(messages: Sequence[Mapping[str, Any]], schema: Any) -> Answer:
        # The last message of the user: an agent that is asked again sends what it said before
        asked = [place for place, message in enumerate(messages) if message["role"] == "user"]
        question = str(messages[asked[-1]]["content"])
        made = sum(message["role"] == "tool" for message in messages[asked[-1] :])
        texts = searches_for(question, calls)
        message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
        if made < len(texts) and "Context information is below" not in question:
            function = {"name": "search", "arguments": json.dumps({argument: texts[made]})}
            called = {"id": f"call_{made}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [called]}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        return Answer(body=body)

    return OpenAIServer(replies=reply)


# The documents: sections of the shop's handbook.


def sections(documents: Sequence[Document]) -> Iterator[tuple[str, Document, int, str]]:
    """Yield the id, the document, the start and the text of each paragraph of some length."""
    for document in documents:
        for number, match in enumerate(re.finditer(r"(?:[^\n]+\n?)+", document.text)):
            if len(match[0].strip()) > 40:
                yield f"{document.id}#{number}", document, match.start(), match[0]


def langchain_retriever(documents: Sequence[Document], k: int = 5) -> Any:
    """A retriever of LangChain that ranks by BM25."""
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.retrievers import BaseRetriever

    made = {
        name: LangChainDocument(page_content=text, id=name, metadata={"doc_id": document.id, "start_index": start})
        for name, document, start, text in sections(documents)
    }
    bm25 = BM25Retriever([rl.Chunk(document.page_content, id=name) for name, document in made.items()])

    class Keywords(BaseRetriever):
        k: int

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
            (ranking,) = bm25.retrieve([query], self.k)
            return [made[hit.chunk.id] for hit in ranking]

    return Keywords(k=k)


def langchain_reranked(documents: Sequence[Document], k: int = 8, top_n: int = 3) -> Any:
    """A retriever whose hits are ordered by their length, and cut off."""
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_core.documents import BaseDocumentCompressor

    class Shortest(BaseDocumentCompressor):
        top_n: int

        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return sorted(documents, key=lambda document: len(document.page_content))[: self.top_n]

    retriever = langchain_retriever(documents, k)
    return ContextualCompressionRetriever(base_retriever=retriever, base_compressor=Shortest(top_n=top_n))


def chat_model(server: OpenAIServer) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="m", base_url=server.base_url, api_key=KEY, max_retries=0)


def search_tool(retriever: Any) -> Any:
    from langchain_core.tools import tool

    @tool
    def search(query: str) -> str:
        """Search the handbook."""
        return "\n\n".join(document.page_content for document in retriever.invoke(query))

    return search


def langchain_agent(server: OpenAIServer, retriever: Any) -> Any:
    from langchain.agents import create_agent

    return create_agent(chat_model(server), [search_tool(retriever)])


def langgraph_agent(server: OpenAIServer, retriever: Any) -> Any:
    """A graph of its own: a model and a node of tools, in a circle."""
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    search = search_tool(retriever)
    chat = chat_model(server).bind_tools([search])
    graph = StateGraph(MessagesState)
    graph.add_node("think", lambda state: {"messages": [chat.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([search]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile()


def ask_langchain(agent: Any, question: str, query_id: str) -> None:
    given = {"messages": [{"role": "user", "content": question}]}
    agent.invoke(given, config={"metadata": {"query_id": query_id}})


def llama_index_retriever(documents: Sequence[Document], k: int = 5) -> Any:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.retrievers.bm25 import BM25Retriever as LlamaIndexBM25

    nodes = [
        TextNode(
            text=text,
            id_=name,
            metadata={"doc_id": document.id},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document.id)},
        )
        for name, document, start, text in sections(documents)
    ]
    return LlamaIndexBM25.from_defaults(nodes=nodes, similarity_top_k=k, verbose=False)


def llama_index_model(server: OpenAIServer) -> Any:
    from llama_index.llms.openai import OpenAI

    return OpenAI(model="gpt-4o-mini", api_base=server.base_url, api_key=KEY, max_retries=0)


def llama_index_agent(server: OpenAIServer, retriever: Any) -> Any:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import RetrieverTool

    search = RetrieverTool.from_defaults(retriever, name="search", description="Searches the handbook.")
    return FunctionAgent(tools=[search], llm=llama_index_model(server), streaming=False)


def llama_index_engine(server: OpenAIServer, retriever: Any, top_n: int = 3) -> Any:
    """A query engine with a reranker that tells of itself, as those of LlamaIndex do."""
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.query_engine import RetrieverQueryEngine

    class Shortest(BaseNodePostprocessor):
        top_n: int

        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            get_dispatcher(__name__).event(
                ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=self.top_n, model_name="shortest")
            )
            kept = sorted(nodes, key=lambda node: len(node.node.get_content("none")))[: self.top_n]
            get_dispatcher(__name__).event(ReRankEndEvent(nodes=kept))
            return kept

    return RetrieverQueryEngine.from_args(
        retriever, llm=llama_index_model(server), node_postprocessors=[Shortest(top_n=top_n)]
    )


def ask_llama_index(agent: Any, question: str, query_id: str) -> None:
    async def ask() -> Any:
        return await agent.run(user_msg=question)

    asyncio.run(ask())


# Recording by the real instrumentation.


@contextmanager
def instrumented(exporter: Any) -> Iterator[None]:
    """Record LangChain and LlamaIndex with OpenInference's packages, and hand each span to an exporter."""
    from openinference.instrumentation.langchain import LangChainInstrumentor
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentors = (LangChainInstrumentor(), LlamaIndexInstrumentor())
    for each in instrumentors:
        each.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        for each in instrumentors:
            each.uninstrument()
        provider.shutdown()


@contextmanager
def recorded(file: Path) -> Iterator[None]:
    """Write the spans as the SDK prints them, one a line."""
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    with file.open("w", encoding="utf-8") as out:
        exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
        with instrumented(exporter):
            yield


def scores(evaluation: rl.Evaluation) -> Any:
    return evaluation.scores.values
