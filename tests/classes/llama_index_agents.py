"""LlamaIndex's agents: what plays their language model calls the tool `search` once, and answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CustomLLM,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import ToolSelection

from raglift.records.documents import Chunk

from .case import OWN, Case
from .corpus import Corpus
from .llama_index_engines import plain
from .llama_index_parts import dense, index, texts
from .llama_index_player import answer

AGENTS = "llama_index.core.agent.workflow"
ANSWER = "The handbook says so."


class CallsSearch(FunctionCallingLLM):
    """Plays a model that calls tools."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        asked = next(message.content for message in reversed(messages) if message.role == MessageRole.USER)
        answered = any(message.role == MessageRole.TOOL for message in messages)
        return ChatResponse(
            message=ChatMessage(
                ANSWER, role=MessageRole.ASSISTANT, additional_kwargs={} if answered else {"asks": asked}
            )
        )

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:
        async def stream() -> AsyncIterator[ChatResponse]:
            yield self.chat(messages)

        return stream()

    def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **kwargs: Any) -> dict[str, Any]:
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, response: ChatResponse, **kwargs: Any) -> list[ToolSelection]:
        asked = response.message.additional_kwargs.get("asks")
        calls = [ToolSelection(tool_id="1", tool_name="search", tool_kwargs={"input": asked})]
        return [] if asked is None else calls

    def _unused(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    stream_chat = complete = acomplete = stream_complete = astream_complete = _unused


class WritesSearch(CustomLLM):
    """Plays a model that writes what it wants to call, as ReAct asks for it."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, **kwargs: Any) -> CompletionResponse:
        conversation = prompt.rpartition("## Current Conversation")[2]
        if "Observation: " in conversation:
            return CompletionResponse(text=f"Thought: I know it.\nAnswer: {ANSWER}")
        asked = conversation.partition("user: ")[2].partition("\nassistant:")[0].strip()
        given = json.dumps({"input": asked})
        return CompletionResponse(text=f"Thought: I look.\nAction: search\nAction Input: {given}")

    def stream_complete(self, prompt: str, **kwargs: Any) -> Iterator[CompletionResponse]:
        yield self.complete(prompt)


def engine_tool(corpus: Corpus) -> Any:
    from llama_index.core.tools import QueryEngineTool

    return QueryEngineTool.from_defaults(plain(corpus), name="search", description="Searches the handbook.")


def retriever_tool(corpus: Corpus) -> Any:
    from llama_index.core.tools import RetrieverTool

    return RetrieverTool.from_defaults(dense(corpus), name="search", description="Searches the handbook.")


def function_tool(corpus: Corpus) -> Any:
    from llama_index.core.tools import FunctionTool

    retriever = index(corpus).as_retriever(similarity_top_k=OWN)

    def search(input: str) -> Any:  # noqa: A002 — as the other tools name it
        """Search the handbook."""
        return retriever.retrieve(input)

    return FunctionTool.from_defaults(search)


def calling(tool: Any, **options: Any) -> Any:
    from llama_index.core.agent.workflow import FunctionAgent

    return FunctionAgent(tools=[tool], llm=CallsSearch(), **options)


def reasoning(corpus: Corpus) -> Any:
    from llama_index.core.agent.workflow import ReActAgent

    return ReActAgent(tools=[engine_tool(corpus)], llm=WritesSearch())


def several(corpus: Corpus) -> Any:
    from llama_index.core.agent.workflow import AgentWorkflow

    agent = calling(engine_tool(corpus), name="reader", description="Reads the handbook.")
    return AgentWorkflow(agents=[agent], root_agent="reader")


def run_agent(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    """What the calls of its tools handed on, as its answer has them."""

    async def ask() -> Any:
        return await made.run(user_msg=query)

    found = []
    for call in asyncio.run(ask()).tool_calls:
        output = call.tool_output.raw_output
        found += texts(getattr(output, "source_nodes", output))
    return found


CASES = (
    Case(
        f"{AGENTS}.function_agent.FunctionAgent",
        lambda corpus: calling(engine_tool(corpus)),
        "agent",
        run_agent,
        setting="QueryEngineTool",
        replies=answer,
    ),
    Case(
        f"{AGENTS}.function_agent.FunctionAgent",
        lambda corpus: calling(retriever_tool(corpus)),
        "agent",
        run_agent,
        setting="RetrieverTool",
        note="the tool asks for the name and the value of its argument",
    ),
    Case(
        f"{AGENTS}.function_agent.FunctionAgent",
        lambda corpus: calling(function_tool(corpus)),
        "agent",
        run_agent,
        setting="FunctionTool",
    ),
    Case(f"{AGENTS}.react_agent.ReActAgent", reasoning, "agent", run_agent, replies=answer),
    Case(f"{AGENTS}.multi_agent_workflow.AgentWorkflow", several, "agent", run_agent, replies=answer),
)
