"""LlamaIndex's query engines, chat engines and indexes that can be built here."""

from __future__ import annotations

from typing import Any

from .case import OWN, Case
from .corpus import Corpus
from .llama_index_parts import (
    Vectors,
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
from .llama_index_retrievers import of_images

ENGINES = "llama_index.core.query_engine"
CHATS = "llama_index.core.chat_engine"
ANSWERS = "its hits begin with the answers to sub-questions"
OF_INDEXES = "its hits begin with the answers of the indexes below"


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


def router_by_tools(corpus: Corpus) -> Any:
    from llama_index.core.objects import ObjectIndex
    from llama_index.core.query_engine import ToolRetrieverRouterQueryEngine

    found = ObjectIndex.from_objects(tools(corpus), embed_model=Vectors(corpus))
    return ToolRetrieverRouterQueryEngine(found.as_retriever(similarity_top_k=1), llm=model(corpus))


def router_by_node(corpus: Corpus) -> Any:
    from llama_index.core.query_engine import RetrieverRouterQueryEngine

    engine = plain(corpus)
    return RetrieverRouterQueryEngine(index(corpus).as_retriever(similarity_top_k=1), lambda node: engine)


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


def by_steps(corpus: Corpus) -> Any:
    from llama_index.core import get_response_synthesizer
    from llama_index.core.indices.query.query_transform import StepDecomposeQueryTransform
    from llama_index.core.query_engine import MultiStepQueryEngine

    writing = get_response_synthesizer(llm=model(corpus))
    return MultiStepQueryEngine(plain(corpus), StepDecomposeQueryTransform(model(corpus)), writing)


def graph(corpus: Corpus) -> Any:
    from llama_index.core import ComposableGraph, SummaryIndex

    summaries = ["the first half", "the last half"]
    made = ComposableGraph.from_indices(SummaryIndex, halves(corpus), index_summaries=summaries)
    return made.as_query_engine(llm=model(corpus))


def graph_of_engines(corpus: Corpus) -> Any:
    from llama_index.core import ComposableGraph, SummaryIndex

    both = halves(corpus)
    made = ComposableGraph.from_indices(SummaryIndex, both, index_summaries=["the first half", "the last half"])
    engines = {half.index_id: half.as_query_engine(llm=model(corpus), similarity_top_k=OWN) for half in both}
    return made.as_query_engine(custom_query_engines=engines, llm=model(corpus))


def retrying(corpus: Corpus, name: str) -> Any:
    from llama_index.core import query_engine
    from llama_index.core.evaluation import RelevancyEvaluator

    return getattr(query_engine, name)(plain(corpus), RelevancyEvaluator(model(corpus)))


def by_guidelines(corpus: Corpus) -> Any:
    from llama_index.core.evaluation import GuidelineEvaluator
    from llama_index.core.indices.query.query_transform.feedback_transform import FeedbackQueryTransformation
    from llama_index.core.query_engine import RetryGuidelineQueryEngine

    judging = GuidelineEvaluator(model(corpus), guidelines="Answer from the handbook.")
    feedback = FeedbackQueryTransformation(model(corpus))
    return RetryGuidelineQueryEngine(plain(corpus), judging, query_transformer=feedback)


def flare(corpus: Corpus, engine: Any) -> Any:
    from llama_index.core.query_engine import FLAREInstructQueryEngine

    return FLAREInstructQueryEngine(engine(corpus), model(corpus))


def of_images_engine(corpus: Corpus) -> Any:
    from llama_index.core.query_engine import SimpleMultiModalQueryEngine

    return SimpleMultiModalQueryEngine(of_images(corpus), model(corpus))


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


def chat_of_images(corpus: Corpus, module: str, name: str) -> Any:
    from importlib import import_module

    made = getattr(import_module(f"{CHATS}.{module}"), name)
    return made.from_defaults(of_images(corpus), multi_modal_llm=model(corpus), memory=memory())


CASES = (
    Case(
        f"{ENGINES}.retriever_query_engine.RetrieverQueryEngine",
        plain,
        "query engine",
        retrieve_by_engine,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.retriever_query_engine.RetrieverQueryEngine",
        reranking,
        "query engine",
        retrieve_by_engine,
        "two postprocessors",
        replies=answer,
    ),
    Case(
        f"{ENGINES}.citation_query_engine.CitationQueryEngine",
        citing,
        "query engine",
        retrieve_by_engine,
        replies=answer,
        note="whole chunks, before they are cut into the numbered pieces that it cites",
    ),
    Case(f"{ENGINES}.transform_query_engine.TransformQueryEngine", transformed, "query engine", answer_from),
    Case(
        f"{ENGINES}.router_query_engine.RouterQueryEngine",
        lambda corpus: router(corpus, "LLMSingleSelector"),
        "query engine",
        answer_from,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.router_query_engine.RouterQueryEngine",
        lambda corpus: router(corpus, "LLMMultiSelector"),
        "query engine",
        answer_from,
        "several at once",
        replies=answer,
    ),
    Case(
        f"{ENGINES}.router_query_engine.ToolRetrieverRouterQueryEngine",
        router_by_tools,
        "query engine",
        answer_from,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.router_query_engine.RetrieverRouterQueryEngine",
        router_by_node,
        "query engine",
        answer_from,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.sub_question_query_engine.SubQuestionQueryEngine",
        by_sub_questions,
        "query engine",
        answer_from,
        replies=answer,
        note=ANSWERS,
    ),
    Case(
        f"{ENGINES}.multistep_query_engine.MultiStepQueryEngine",
        by_steps,
        "query engine",
        answer_from,
        replies=answer,
        note=ANSWERS,
    ),
    Case(
        f"{ENGINES}.graph_query_engine.ComposableGraphQueryEngine",
        graph,
        "query engine",
        answer_from,
        replies=answer,
        note=OF_INDEXES,
    ),
    Case(
        f"{ENGINES}.graph_query_engine.ComposableGraphQueryEngine",
        graph_of_engines,
        "query engine",
        answer_from,
        "custom_query_engines",
        replies=answer,
        note=OF_INDEXES,
    ),
    Case(
        f"{ENGINES}.retry_query_engine.RetryQueryEngine",
        lambda corpus: retrying(corpus, "RetryQueryEngine"),
        "query engine",
        answer_from,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.retry_source_query_engine.RetrySourceQueryEngine",
        lambda corpus: retrying(corpus, "RetrySourceQueryEngine"),
        "query engine",
        answer_from,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.retry_query_engine.RetryGuidelineQueryEngine",
        by_guidelines,
        "query engine",
        answer_from,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.flare.base.FLAREInstructQueryEngine",
        lambda corpus: flare(corpus, plain),
        "query engine",
        retrieve_by_engine,
        replies=answer,
    ),
    Case(
        f"{ENGINES}.flare.base.FLAREInstructQueryEngine",
        lambda corpus: flare(corpus, transformed),
        "query engine",
        answer_from,
        "over another engine",
        replies=answer,
    ),
    Case(
        f"{ENGINES}.multi_modal.SimpleMultiModalQueryEngine",
        of_images_engine,
        "query engine",
        retrieve_by_engine,
        replies=answer,
    ),
    Case(
        f"{CHATS}.context.ContextChatEngine",
        lambda corpus: chat_engine(corpus, "ContextChatEngine"),
        "chat engine",
        chat,
        replies=answer,
    ),
    Case(
        f"{CHATS}.condense_plus_context.CondensePlusContextChatEngine",
        lambda corpus: chat_engine(corpus, "CondensePlusContextChatEngine"),
        "chat engine",
        chat,
        replies=answer,
    ),
    Case(f"{CHATS}.condense_question.CondenseQuestionChatEngine", condensing, "chat engine", chat, replies=answer),
    Case(
        f"{CHATS}.multi_modal_context.MultiModalContextChatEngine",
        lambda corpus: chat_of_images(corpus, "multi_modal_context", "MultiModalContextChatEngine"),
        "chat engine",
        chat,
        replies=answer,
    ),
    Case(
        f"{CHATS}.multi_modal_condense_plus_context.MultiModalCondensePlusContextChatEngine",
        lambda corpus: chat_of_images(
            corpus, "multi_modal_condense_plus_context", "MultiModalCondensePlusContextChatEngine"
        ),
        "chat engine",
        chat,
        replies=answer,
    ),
)
