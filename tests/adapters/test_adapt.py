"""From whatever the user has to stages."""

import re
import sys

import pytest
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.retrievers import BaseRetriever
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.retrievers import BaseRetriever as LlamaIndexBaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from raglift.adapters.adapt import adapt_reranker, adapt_system, check_reranker, named_stages
from raglift.adapters.stages import RerankStage, RetrieveStage
from raglift.errors import ConfigurationError, MissingDependency, ModelError, ServiceUnusable, UnsupportedSystem
from raglift.retrieval.cross_encoder import CrossEncoderReranker
from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.rankings import Ranking

pytestmark = pytest.mark.slow


class LangChainRetriever(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return []


class LangChainCompressor(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        return documents


class LlamaIndexRetriever(LlamaIndexBaseRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(text="a"))]


class QueryReranker:
    def rerank_one(self, query, ranking):
        return ranking


def search(query, k):
    return []


def grade(query, texts):
    return [0.0] * len(texts)


@pytest.mark.parametrize(
    ("system", "told"),
    [
        (FakeRetriever({}), "fake (0 queries)"),
        (search, "function search"),
        (LangChainRetriever(), "LangChainRetriever"),
        (LlamaIndexRetriever(), "LlamaIndexRetriever"),
    ],
    ids=["raglift", "function", "langchain", "llama-index"],
)
def test_every_kind_of_system_is_a_retrieve_stage(system, told):
    (stage,) = adapt_system(system)
    assert isinstance(stage, RetrieveStage)
    assert stage.name == "retrieve"
    assert told in stage.system


@pytest.mark.parametrize(
    ("reranker", "told"),
    [
        (FakeReranker({}), "fake (0 texts)"),
        (QueryReranker(), "QueryReranker"),
        (grade, "function grade"),
        (LangChainCompressor(), "LangChainCompressor"),
        (SimilarityPostprocessor(similarity_cutoff=0.5), "SimilarityPostprocessor"),
    ],
    ids=["raglift", "query", "function", "langchain", "llama-index"],
)
def test_every_kind_of_reranker_is_a_rerank_stage(reranker, told):
    (stage,) = adapt_reranker(reranker)
    assert isinstance(stage, RerankStage)
    assert stage.name == "rerank"
    assert told in stage.system


@pytest.mark.parametrize("reranker", [None, "none", "None", [], (), [None, "none"]])
def test_no_reranker_is_no_stage(reranker):
    assert adapt_reranker(reranker) == []


@pytest.mark.parametrize(
    "system", [None, "bm25", 5, [search], {"a": 1}, object(), QueryReranker()], ids=lambda system: type(system).__name__
)
def test_an_unknown_system_is_refused_with_what_is_known(system):
    with pytest.raises(UnsupportedSystem, match=f"^system: found a {type(system).__name__}; expected a LangChain"):
        adapt_system(system)


@pytest.mark.parametrize("reranker", [5, {"a": 1}, object(), [5]])
def test_an_unknown_reranker_is_refused_with_what_is_known(reranker):
    with pytest.raises(UnsupportedSystem, match=r"^reranker: found a .*; expected a name, a CrossEncoder"):
        adapt_reranker(reranker)


@pytest.mark.parametrize("cls", [FakeRetriever, LangChainRetriever, LlamaIndexRetriever])
@pytest.mark.parametrize("adapt", [adapt_system, adapt_reranker, lambda cls: adapt_reranker([cls])])
def test_a_class_instead_of_an_object_is_named(cls, adapt):
    with pytest.raises(UnsupportedSystem, match=f"found the class {cls.__name__}; expected an object made from it"):
        adapt(cls)


def test_the_embedded_reranker_by_name():
    (stage,) = adapt_reranker("late-interaction", dtype="float32")
    assert isinstance(stage.reranker, LateInteractionReranker)
    assert stage.reranker.dtype == "float32"
    assert "late-interaction" in stage.system


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        *(
            (name, " (did you mean 'late-interaction'?)")
            for name in ("late_interaction", "Late-Interaction", "late interaction", "lateinteraction")
        ),
        *((name, " (did you mean 'none'?)") for name in ("nones", "non", "Nnone")),
        ("", ""),
        (" ", ""),
    ],
)
def test_a_name_that_is_nearly_one_that_needs_no_network_is_refused(name, hint):
    expected = re.escape(f"reranker: found {name!r}{hint}; expected 'cross-encoder', 'late-interaction', 'none'")
    with pytest.raises(ConfigurationError, match=f"^{expected}"):
        adapt_reranker(name)


@pytest.mark.parametrize(
    "name", ["cross-encoder/ms-marco-TinyBERT-L-2-v2", "acme/late-interaction", "./late-interaction"]
)
def test_any_other_name_is_a_cross_encoder_that_is_not_loaded_yet(name):
    (stage,) = adapt_reranker(name)
    assert isinstance(stage.reranker, CrossEncoderReranker)
    assert stage.system == f"cross-encoder {name}"


def test_a_list_of_rerankers_runs_in_its_order_with_the_same_settings():
    stages = adapt_reranker([grade, "late-interaction", None, [FakeReranker({})]], dtype="float32")
    assert [stages[0].system, stages[2].system] == ["function grade", "fake (0 texts)"]
    assert stages[1].reranker.dtype == "float32"
    assert len(stages) == 3


def test_what_foreign_parts_say_of_themselves_is_not_told():
    class Talkative:
        def __str__(self):
            return "Talkative(api_key=sk-1234567890)"

        __repr__ = __str__

        def retrieve_one(self, query, k):
            return Ranking()

        rerank_one = retrieve_one

    assert adapt_system(Talkative())[0].system == "Talkative"
    assert adapt_reranker(Talkative())[0].system == "Talkative"


def test_stage_names_are_made_unique():
    rerank = RerankStage(QueryReranker(), "r")
    stages = [RetrieveStage(FakeRetriever({}), "f"), rerank, rerank, rerank]
    assert [stage.name for stage in named_stages(stages)] == ["retrieve", "rerank", "rerank-2", "rerank-3"]
    taken = RerankStage(QueryReranker(), "r", name="rerank-2")
    assert [stage.name for stage in named_stages([rerank, taken, rerank, taken])] == [
        "rerank",
        "rerank-2",
        "rerank-3",
        "rerank-2-2",
    ]
    assert [stage.name for stage in stages] == ["retrieve", "rerank", "rerank", "rerank"]


def test_a_method_with_the_protocols_name_and_other_arguments_is_refused_before_it_is_asked():
    class Search:
        def retrieve(self, query):
            return ["a text"]

    class Rerank:
        def rerank(self, query):
            return []

    with pytest.raises(
        UnsupportedSystem, match=r"Search\.retrieve: found retrieve\(query\); expected retrieve\(queries, k\)"
    ):
        adapt_system(Search())

    class SearchFor:
        def retrieve(self, words: str, k: int):
            return ["a text"]

    with pytest.raises(UnsupportedSystem, match=r"expected retrieve\(queries, k\)"):
        adapt_system(SearchFor())
    with pytest.raises(UnsupportedSystem, match=r"expected rerank\(queries, rankings\)"):
        adapt_reranker(Rerank())
    assert len(adapt_system(Search().retrieve)) == 1


def test_a_cross_encoder_given_as_an_object_is_a_reranker(tiny_cross_encoder):
    from sentence_transformers import CrossEncoder

    (stage,) = adapt_reranker(CrossEncoder(str(tiny_cross_encoder)))
    assert isinstance(stage.reranker, CrossEncoderReranker)
    assert stage.system.startswith("cross-encoder")


def test_a_reranker_by_name_is_checked_before_any_work_is_done_for_it(monkeypatch):
    check_reranker("late-interaction")
    with pytest.raises(ModelError, match="'no-such/model'"):
        check_reranker("no-such/model")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependency, match="sentence_transformers"):
        check_reranker("late-interaction")


def test_the_tools_of_an_mcp_server_are_asked_for_when_its_reference_is_adapted():
    with pytest.raises(ServiceUnusable, match="no-such-command cannot be started"):
        adapt_system("mcp:no-such-command#search")
