"""LlamaIndex's query engines, chat engines and indexes that can be built here."""

from __future__ import annotations

from typing import Any

from .case import OWN, Case
from .corpus import Corpus
from .llama_index_parts import (
    answer_from,
    chat,
    dense,
    halves,
    index,
    model,
    retrieve_by_engine,
)
from .llama_index_player import answer
from .llama_index_postprocessors import cross_encoder

ENGINES = "llama_index.core.query_engine"
CHATS = "llama_index.core.chat_engine"
ANSWERS = "its hits begin with the answers to sub-questions"


def plain(corpus: Corpus, **options: Any) -> Any:
    return index(corpus).as_query_engine(llm=model(corpus), similarity_top_k=OWN, **options)


def reranking(corpus: Corpus) -> Any:
    from llama_index.core.postprocessor import LongContextReorder

    return plain(corpus, node_postprocessors=[cross_encoder(corpus), LongContextReorder()])


def citing(corpus: Corpus) -> Any:
    from llama_index.core.query_engine import CitationQueryEngine

    return CitationQueryEngine.from_args(index(corpus), llm=model(corpus), similarity_top_k=OWN)


def tools(corpus: Corpus) -> list[Any]:
    from llama_index.core.tools import QueryEngineTool

    both = [half.as_query_engine(llm=model(corpus), similarity_top_k=OWN) for half in halves(corpus)]
    described = {"first": "fog horn, ferry, questions", "last": "lamp, tickets, generator code"}
    named = zip(both, described.items(), strict=True)
    return [QueryEngineTool.from_defaults(half, name=name, description=about) for half, (name, about) in named]


def router(corpus: Corpus, selector: str) -> Any:
    from llama_index.core import selectors
    from llama_index.core.query_engine import RouterQueryEngine

    chosen = getattr(selectors, selector).from_defaults(model(corpus))
    return RouterQueryEngine(chosen, tools(corpus), llm=model(corpus))


def transformed(corpus: Corpus) -> Any:
    from llama_index.core.indices.query.query_transform import HyDEQueryTransform
    from llama_index.core.query_engine import TransformQueryEngine

    return TransformQueryEngine(plain(corpus), HyDEQueryTransform(model(corpus)))


def by_sub_questions(corpus: Corpus) -> Any:
    from llama_index.core.query_engine import SubQuestionQueryEngine
    from llama_index.core.question_gen import LLMQuestionGenerator

    asking = LLMQuestionGenerator.from_defaults(model(corpus))
    return SubQuestionQueryEngine.from_defaults(
        tools(corpus), llm=model(corpus), question_gen=asking, verbose=False, use_async=False
    )


def memory() -> Any:
    """By default an engine would leave a database open."""
    from llama_index.core.memory import ChatMemoryBuffer

    return ChatMemoryBuffer.from_defaults()


def chat_engine(corpus: Corpus, name: str) -> Any:
    from llama_index.core import chat_engine as engines

    return getattr(engines, name).from_defaults(dense(corpus), llm=model(corpus), memory=memory())


def condensing(corpus: Corpus) -> Any:
    from llama_index.core.chat_engine import CondenseQuestionChatEngine

    return CondenseQuestionChatEngine.from_defaults(plain(corpus), llm=model(corpus), memory=memory())


def _answering(path: str, make: Any, setting: str = "", **about: Any) -> Case:
    return Case(path, make, "query engine", answer_from, setting, **about)


def _retrieving(path: str, make: Any, setting: str = "", **about: Any) -> Case:
    return Case(path, make, "query engine", retrieve_by_engine, setting, **about)


def _chatting(path: str, make: Any, setting: str = "", **about: Any) -> Case:
    return Case(path, make, "chat engine", chat, setting, **about)


CASES = (
    _retrieving(f"{ENGINES}.retriever_query_engine.RetrieverQueryEngine", plain, replies=answer),
    _retrieving(
        f"{ENGINES}.retriever_query_engine.RetrieverQueryEngine", reranking, "two postprocessors", replies=answer
    ),
    _retrieving(
        f"{ENGINES}.citation_query_engine.CitationQueryEngine",
        citing,
        replies=answer,
        note="whole chunks, before they are cut into the numbered pieces that it cites",
    ),
    _answering(f"{ENGINES}.transform_query_engine.TransformQueryEngine", transformed),
    _answering(
        f"{ENGINES}.router_query_engine.RouterQueryEngine",
        lambda corpus: router(corpus, "LLMSingleSelector"),
        replies=answer,
    ),
    _answering(
        f"{ENGINES}.router_query_engine.RouterQueryEngine",
        lambda corpus: router(corpus, "LLMMultiSelector"),
        "several at once",
        replies=answer,
    ),
    _answering(
        f"{ENGINES}.sub_question_query_engine.SubQuestionQueryEngine", by_sub_questions, replies=answer, note=ANSWERS
    ),
    _chatting(
        f"{CHATS}.context.ContextChatEngine", lambda corpus: chat_engine(corpus, "ContextChatEngine"), replies=answer
    ),
    _chatting(
        f"{CHATS}.condense_plus_context.CondensePlusContextChatEngine",
        lambda corpus: chat_engine(corpus, "CondensePlusContextChatEngine"),
        replies=answer,
    ),
    _chatting(f"{CHATS}.condense_question.CondenseQuestionChatEngine", condensing, replies=answer),
)
