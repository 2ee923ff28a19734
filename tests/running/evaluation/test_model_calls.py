"""How often a system calls models: no more than by itself, told after the first query, and limited."""

import re
import threading

import pytest
from haystack import Document as HaystackDocument
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.rankers.llm_ranker import LLMRanker
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import Secret
from langchain_classic.chains import ConversationalRetrievalChain, create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.retrievers import ContextualCompressionRetriever, MultiQueryRetriever, RePhraseQueryRetriever
from langchain_classic.retrievers.document_compressors import LLMChainFilter
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.schema import TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.llms.openai import OpenAI

import raglift as rl
from raglift.errors import ConfigurationError, CostLimitReached
from raglift.running.model_calls import Spent
from raglift.testing import OpenAIServer

TEXTS = ["The lamp is lit at dusk.", "The keeper climbs 96 steps.", "Tickets cost four euros.", "Fog hides the coast."]
DATA = rl.Dataset.from_dict({f"question {number}": text for number, text in enumerate(TEXTS)})
QUESTIONS = [query.text for query in DATA.queries]


def reply(messages, schema):
    """Answer as each prompt expects: sub-questions, a verdict, or other wordings of the question."""
    said = str(messages[-1]["content"])
    if "sub_question" in said:
        return '```json\n{"items": [{"sub_question": "When?", "tool_name": "lamp"}]}\n```'
    return "YES" if "YES / NO" in said or "YES or NO" in said else "first wording\nsecond wording"


@pytest.fixture
def server():
    with OpenAIServer(replies=reply) as running:
        yield running


@pytest.fixture
def chat(server):
    return ChatOpenAI(model="gpt-4o-mini", base_url=server.base_url, api_key="not asked for", max_retries=0)


@pytest.fixture
def llm(server):
    return OpenAI(model="gpt-4o-mini", api_base=server.base_url, api_key="not asked for", max_retries=0)


class Lines(BaseRetriever):
    """Finds two texts without a model."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in TEXTS[:2]]


class AsyncLines(Lines):
    """Is asynchronous by itself."""

    async def _aget_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in TEXTS[:2]]


def multi_query(chat, base=None):
    return MultiQueryRetriever.from_llm(base or Lines(), chat)


def filtered(chat):
    return ContextualCompressionRetriever(
        base_retriever=multi_query(chat), base_compressor=LLMChainFilter.from_llm(chat)
    )


def answering(chat):
    prompt = ChatPromptTemplate.from_template("{context} {input}")
    return create_retrieval_chain(multi_query(chat), create_stuff_documents_chain(chat, prompt))


def conversational(chat):
    return ConversationalRetrievalChain.from_llm(chat, retriever=multi_query(chat))


def sub_questions(llm):
    index = VectorStoreIndex([TextNode(text=text) for text in TEXTS], embed_model=MockEmbedding(embed_dim=3))
    tool = QueryEngineTool.from_defaults(index.as_query_engine(llm=llm), name="lamp", description="About the lamp.")
    asks = LLMQuestionGenerator.from_defaults(llm)
    return SubQuestionQueryEngine.from_defaults([tool], llm=llm, question_gen=asks, verbose=False, use_async=False)


def calls_of(evaluation):
    return sum(use.calls for use in evaluation.run.cost.models)


# A deployed pass calls models as often as the system does when it is asked directly.


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("make", [multi_query, filtered])
def test_a_retriever_calls_its_model_as_often_as_when_it_is_asked_directly(make, concurrency, server, chat):
    for question in QUESTIONS:
        make(chat).invoke(question)
    directly = len(server.requests)
    evaluation = rl.evaluate(make(chat), DATA, concurrency=concurrency, progress=False)
    assert len(server.requests) - directly == calls_of(evaluation) == directly


@pytest.mark.parametrize(
    ("make", "key"), [(answering, "input"), (conversational, "question")], ids=["retrieval chain", "conversational"]
)
def test_a_chain_is_not_asked_for_its_answer(make, key, server, chat):
    for question in QUESTIONS:
        make(chat).invoke({key: question, "chat_history": []})
    directly = len(server.requests)
    evaluation = rl.evaluate(make(chat), DATA, progress=False)
    assert len(server.requests) - directly == calls_of(evaluation) == directly - len(DATA)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning")
def test_an_engine_that_asks_itself_sub_questions_calls_its_model_as_often(server, llm):
    for question in QUESTIONS:
        sub_questions(llm).query(question)
    directly = len(server.requests)
    evaluation = rl.evaluate(sub_questions(llm), DATA, progress=False)
    assert directly == 3 * len(DATA)
    assert len(server.requests) - directly == calls_of(evaluation) == directly


def test_a_model_is_not_called_again_where_a_retriever_behind_it_has_no_async_method(server, chat):
    behind = RePhraseQueryRetriever.from_llm(AsyncLines(), chat)  # its async method only raises
    for question in QUESTIONS:
        multi_query(chat, behind).invoke(question)
    directly = len(server.requests)
    rl.evaluate(multi_query(chat, behind), DATA, concurrency=2, progress=False)
    assert len(server.requests) - directly == directly


# What is told, and kept.


def test_after_the_first_query_it_is_told_what_all_will_come_to(chat, capsys):
    rl.evaluate(filtered(chat), DATA)
    told = capsys.readouterr().err
    assert re.search(r"The first query made 3 calls of a language model \([\d,]+ characters, about US\$ \S+\)", told)
    assert "4 queries will come to about 12 calls of a language model (about " in told
    assert told.count("first query") == 1


def test_queries_that_are_asked_both_ways_are_told_before_they_are_asked(server, chat, capsys):
    evaluation = rl.evaluate(multi_query(chat), DATA, depth="deep")
    told = capsys.readouterr().err
    assert "4 queries, 3 of them asked both ways first, will come to about 10 calls" in told
    assert calls_of(evaluation) == len(server.requests) == 10


def test_a_greater_depth_that_calls_more_is_told_too(chat, capsys):
    class Deeper(Lines):
        k: int = 2

        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(text) for text in TEXTS[: self.k]]

    system = ContextualCompressionRetriever(base_retriever=Deeper(), base_compressor=LLMChainFilter.from_llm(chat))
    rl.evaluate(system, DATA, depth="deep", candidates=4, ks=(1, 2))
    assert "Asked for 4 hits, the first query made 4 calls of a language model" in capsys.readouterr().err


def test_calls_to_measure_latency_are_told_and_counted(server, chat, capsys):
    evaluation = rl.evaluate(multi_query(chat), DATA, latency=2)
    assert "4 queries, and 8 more to measure latency, will come to about 12 calls" in capsys.readouterr().err
    assert calls_of(evaluation) == len(server.requests) == 12


def test_nothing_is_told_of_a_system_that_calls_no_model(capsys):
    evaluation = rl.evaluate(Lines(), DATA)
    assert capsys.readouterr().err == ""
    assert evaluation.run.cost is None


def test_calls_in_threads_of_the_system_are_counted(server, chat):
    def search(query):
        thread = threading.Thread(target=chat.invoke, args=[query])
        thread.start()
        thread.join()
        return TEXTS

    assert calls_of(rl.evaluate(search, DATA, progress=False)) == len(server.requests) == 4


@pytest.mark.parametrize("concurrency", [1, 2])
def test_calls_in_threads_of_the_system_are_limited(concurrency, chat):
    def search(query):
        thread = threading.Thread(target=chat.invoke, args=(query,))
        thread.start()
        thread.join()
        return TEXTS

    with pytest.raises(CostLimitReached, match="max_model_calls: the calls") as stopped:
        rl.evaluate(search, DATA, ks=(1,), max_model_calls=1, concurrency=concurrency)
    assert 2 <= len(stopped.value.evaluation.dataset.queries) <= 1 + concurrency


def test_what_was_answered_before_counts_for_nothing(chat, capsys, tmp_path):
    may_call = 3

    def search(query):
        nonlocal may_call
        if not may_call:
            raise KeyboardInterrupt
        may_call -= 1
        chat.invoke(query)
        return TEXTS

    with pytest.raises(KeyboardInterrupt):
        rl.evaluate(search, DATA, ks=(1,), answers=tmp_path / "answers")
    may_call = 1
    capsys.readouterr()
    rl.evaluate(search, DATA, ks=(1,), answers=tmp_path / "answers", max_model_calls=1)
    assert "4 queries, 3 of them answered before, will come to about 1 call of" in capsys.readouterr().err


@pytest.mark.slow
def test_what_was_called_is_saved_and_shown(server, chat, tmp_path):
    evaluation = rl.evaluate(multi_query(chat), DATA, progress=False)
    loaded = rl.load_evaluation(evaluation.save(tmp_path / "run"))
    (use,) = loaded.run.cost.models
    assert loaded.run.cost == evaluation.run.cost
    assert (use.kind, use.model, use.calls) == ("language model", "openai:gpt-4o-mini", 4)
    assert use.characters_sent == sum(len(request.body["messages"][-1]["content"]) for request in server.requests)
    assert use.dollars == pytest.approx((use.tokens_sent * 0.15 + use.tokens_answered * 0.60) / 1e6)
    line = f"Calls of the language model openai:gpt-4o-mini: 4 ({use.characters_sent:,} characters sent"
    assert line in str(loaded)
    assert line in loaded.report(tmp_path / "report.html").read_text()


# Limits.


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(
    ("limits", "advice"),
    [
        ({"max_model_calls": 11}, "--max-model-calls 15"),
        ({"max_cost": 0.0000001}, "--max-cost 0."),
        ({"max_cost": 0.01, "price": (1000, 1000)}, "--max-cost "),
    ],
    ids=["calls", "list price", "given price"],
)
def test_where_the_first_query_shows_that_a_limit_is_too_low_no_second_one_is_asked(
    limits, advice, concurrency, server, chat
):
    with pytest.raises(CostLimitReached, match=r"1 of 4 queries was answered") as caught:
        rl.evaluate(filtered(chat), DATA, concurrency=concurrency, progress=False, **limits)
    assert advice in str(caught.value)
    assert len(server.requests) == 3
    kept = caught.value.evaluation
    assert [trace.query_id for trace in kept.run.traces] == ["q1"]
    assert len(kept.run.traces[0].stages) == 2
    assert kept.notes[0] == "stopped at a limit: 1 of 4 queries was asked, and the figures are over these alone"


def test_a_limit_that_is_enough_stops_nothing(chat):
    assert calls_of(rl.evaluate(filtered(chat), DATA, max_model_calls=12, max_cost=1.0, progress=False)) == 12


@pytest.mark.parametrize("on_error", ["keep", "raise"])
def test_later_queries_that_call_more_are_stopped_and_what_was_answered_is_kept(on_error, server, chat, tmp_path):
    def search(query):
        for _ in range(1 if query == QUESTIONS[0] else 3):
            chat.invoke(query)
        return TEXTS

    with pytest.raises(
        CostLimitReached, match=r"might come to 10, more than 8. 3 of 4 queries were answered"
    ) as caught:
        rl.evaluate(search, DATA, max_model_calls=8, on_error=on_error, progress=False)
    assert len(server.requests) == 7
    kept = caught.value.evaluation.save(tmp_path / "run")
    assert [trace.query_id for trace in rl.load_evaluation(kept).run.traces] == ["q1", "q2", "q3"]


def test_a_limit_holds_at_a_greater_depth_and_keeps_the_deployed_ranking(server, chat):
    with pytest.raises(CostLimitReached) as caught:
        rl.evaluate(multi_query(chat), DATA, depth="deep", max_model_calls=9, progress=False)
    assert len(server.requests) == 1
    assert caught.value.evaluation.run.stages[0].has_own_depth


def test_a_cost_limit_needs_a_price(server):
    chat = ChatOpenAI(model="some-model", base_url=server.base_url, api_key="any")
    with pytest.raises(CostLimitReached, match=r"the price of openai:some-model is not known.*--price IN,OUT"):
        rl.evaluate(multi_query(chat), DATA, max_cost=1.0, progress=False)
    assert len(server.requests) == 1


def test_a_single_query_that_exceeds_a_limit_is_kept_with_a_note(chat):
    one = rl.Dataset.from_dict({"question": TEXTS[0]})
    evaluation = rl.evaluate(filtered(chat), one, max_model_calls=2, progress=False)
    assert evaluation.notes[0].startswith("max_model_calls: the calls come to 3, more than 2: neither a query that is")


def test_a_reranker_that_is_tried_is_told_with_the_queries_that_it_is_asked(chat, capsys):
    evaluation = rl.evaluate(Lines(), DATA, reranker=LLMChainFilter.from_llm(chat), max_model_calls=8)
    told = capsys.readouterr().err
    assert "Asked for 50 hits, the first query made 2 calls of a language model" in told
    assert "4 queries will come to about 8 calls" in told
    assert calls_of(evaluation) == 8


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (999, "999"),
        (21_578, "22,000"),
        (930_000, "0.93 million"),
        (9_960_000, "10 million"),
        (99_900_000, "100 million"),
    ],
)
def test_large_numbers_are_rounded(number, text):
    assert Spent(language=1, characters=number).text(is_rounded=True).endswith(f"(about {text} characters)")


def test_a_limit_that_counts_nothing_says_so():
    evaluation = rl.evaluate(lambda query: TEXTS, DATA, max_model_calls=5, progress=False)
    assert any(note.startswith("max_model_calls: no call of a model was counted") for note in evaluation.notes)


def test_it_is_said_where_a_component_of_haystack_calls_a_model_that_is_not_counted(server):
    store = InMemoryDocumentStore()
    store.write_documents([HaystackDocument(content=f"question: {text}") for text in TEXTS])
    chat = OpenAIChatGenerator(Secret.from_token("k"), api_base_url=server.base_url)
    ranker = LLMRanker(chat_generator=chat, top_k=2, raise_on_failure=False)
    evaluation = rl.evaluate(InMemoryBM25Retriever(store), DATA, reranker=ranker, progress=False)
    assert server.requests
    assert any("the language model inside LLMRanker" in note for note in evaluation.notes)


@pytest.mark.parametrize(
    "limits", [{"max_model_calls": 0}, {"max_model_calls": 1.5}, {"max_cost": -1}, {"price": (1,)}, {"price": "1,2"}]
)
def test_a_limit_that_is_none_is_refused(limits):
    (name,) = limits
    with pytest.raises(ConfigurationError, match=rf"^{name}: found "):
        rl.evaluate(Lines(), DATA, **limits)
