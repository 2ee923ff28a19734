"""What the frameworks tell of calls of models: each counted once, and only while something listens."""

import asyncio
import threading

import pytest
from haystack import Pipeline, tracing
from haystack.components.builders import ChatPromptBuilder
from haystack.components.embedders import OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage as HaystackMessage
from haystack.utils import Secret
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_openai import ChatOpenAI
from llama_index.core import instrumentation
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.prompts import PromptTemplate
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI

from raglift.adapters.model_calls import ModelCall, listening
from raglift.llm.replies import Usage
from raglift.testing import OpenAIServer


class Plain(CustomLLM):
    """Answers every prompt alike; LlamaIndex has no events of its methods."""

    @property
    def metadata(self):
        return LLMMetadata(model_name="parrot")

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text="abc")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield CompletionResponse(text="a", delta="a")
        yield CompletionResponse(text="abc", delta="bc")


class Decorated(Plain):
    """Answers alike, with LlamaIndex's events."""

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text="abc")


def predict(llm):
    return llm.predict(PromptTemplate("hello"))


def chat(llm):
    return llm.chat([ChatMessage("hello")])


def chat_async(llm):
    return asyncio.run(llm.achat([ChatMessage("hello")]))


@pytest.mark.parametrize("llm", [Plain, Decorated])
@pytest.mark.parametrize("ask", [predict, chat, chat_async, lambda llm: llm.complete("hello")])
def test_a_method_of_an_llm_that_calls_another_one_is_one_call(llm, ask):
    with listening() as tally:
        ask(llm())
    (call,) = tally.calls
    assert (call.kind, call.model, call.answered) == ("language model", f"{llm.__name__}:parrot", 3)
    assert call.sent >= len("hello")


def test_a_stream_of_llama_index_is_one_call_with_its_whole_answer():
    with listening() as tally:
        list(Decorated().stream_chat([ChatMessage("hello")]))
    (call,) = tally.calls
    assert call.answered == 3


def test_an_llm_that_fails_was_called_all_the_same():
    class Broken(Plain):
        def complete(self, prompt, formatted=False, **kwargs):
            raise RuntimeError("no")

    with listening() as tally:
        for _ in range(2):
            with pytest.raises(RuntimeError):
                Broken().chat([ChatMessage("hello")])
    assert len(tally.calls) == 2


def test_providers_tokens_are_noted_and_embedding_models_without_a_key_are_not_counted():
    with OpenAIServer() as server, listening() as tally:
        OpenAI(model="gpt-4o-mini", api_base=server.base_url, api_key="k").chat([ChatMessage("hello")])
        ChatOpenAI(model="gpt-4o-mini", base_url=server.base_url, api_key="k").invoke("hello")
        OpenAIEmbedding(api_base=server.base_url, api_key="k").get_query_embedding("three words here")
        MockEmbedding(embed_dim=3).get_query_embedding("nobody pays for this")
    answered = len("This is what the server says.")
    asked = ModelCall("language model", "openai:gpt-4o-mini", 5, answered, Usage(1, 6))
    assert tally.calls == [asked, asked, ModelCall("embedding model", "openai:text-embedding-ada-002", 16)]


def test_batches_threads_and_failures_of_langchain_are_counted():
    broken = FakeListChatModel(responses=["x"], error_on_chunk_number=0)
    with listening() as tally:
        FakeListLLM(responses=["a"]).batch(["one", "two"])
        thread = threading.Thread(target=FakeListChatModel(responses=["b"]).invoke, args=["three"])
        thread.start()
        thread.join()
        with pytest.raises(Exception):  # noqa: B017, PT011 — LangChain's own
            list(broken.stream("four"))
    assert sorted(call.sent for call in tally.calls) == [3, 3, 4, 5]


def test_generators_and_embedders_of_a_haystack_pipeline_are_counted_and_the_tracer_stays():
    before = tracing.tracer.actual_tracer
    with OpenAIServer() as server, listening() as tally:
        key = Secret.from_token("k")
        pipeline = Pipeline()
        prompt = ChatPromptBuilder([HaystackMessage.from_user("hi {{who}}")], required_variables=["who"])
        pipeline.add_component("prompt", prompt)
        pipeline.add_component("write", OpenAIChatGenerator(key, model="gpt-4o-mini", api_base_url=server.base_url))
        pipeline.add_component("embed", OpenAITextEmbedder(key, api_base_url=server.base_url))
        pipeline.connect("prompt.prompt", "write.messages")
        pipeline.run({"prompt": {"who": "you"}, "embed": {"text": "three words here"}})
    found = {call.kind: (call.model, call.sent, call.usage) for call in tally.calls}
    assert found == {
        "language model": ("openai:gpt-4o-mini", 6, Usage(2, 6)),
        "embedding model": ("openai:text-embedding-3-small", 16, Usage(3, 0)),
    }
    assert tracing.tracer.actual_tracer is before


def test_nothing_is_heard_afterwards():
    with listening() as tally:
        pass
    FakeListChatModel(responses=["a"]).invoke("hello")
    chat(Plain())
    assert tally.calls == []
    assert not any("raglift" in type(one).__module__ for one in instrumentation.get_dispatcher().span_handlers)


def test_an_evaluation_inside_another_is_counted_in_both():
    model = FakeListChatModel(responses=["a"])
    with listening() as outer:
        model.invoke("one")
        with listening() as inner:
            model.invoke("two")
    assert [len(tally.calls) for tally in (outer, inner)] == [2, 1]
